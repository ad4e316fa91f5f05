"""Servers with a fault that is one of their own configuration, and with the setting that its finding tells: it is gone.

What servers behind them do, and faults of timing, have twins in the matrix.
"""

import socket
import ssl
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple

import pytest

from workers.diagnosis.catalogue import Setting, entry
from workers.diagnosis.page.needless_bytes import TEXTS
from workers.diagnosis.probe.diagnose import diagnose
from workers.measurement.finding import Finding, Severity
from workers.measurement.finding import FindingId as Id
from workers.tests.netlab.advice import Spot
from workers.tests.netlab.advised import ORIGIN_PORT, SERVERS, Lines, Site, command, known, written
from workers.tests.netlab.chains import Recipe, Vault
from workers.tests.netlab.column import probe
from workers.tests.netlab.estate import located
from workers.tests.netlab.lab import Lab
from workers.tests.netlab.network import NAME

_RTT_MS = 20
_POLL_S = 0.05
_TLS13 = "ssl_protocols TLSv1.2 TLSv1.3;"


class Fault(NamedTuple):
    """What a server is told that makes the finding, beside what it is by itself."""

    id: Id
    server: str
    lines: Lines = {}

    @property
    def name(self) -> str:
        return f"{self.id}-{self.server}"


FAULTS = (
    Fault(Id.TLS_VERSION_OLD, "nginx", {Spot.SECURE: ["ssl_protocols TLSv1.2;"]}),
    Fault(Id.TLS_VERSION_OLD, "HAProxy", {Spot.MAIN: ["ssl-default-bind-options ssl-max-ver TLSv1.2"]}),
    Fault(Id.TLS_VERSION_OLD, "Caddy", {Spot.SECURE: ["tls {\n    protocols tls1.2 tls1.2\n}"]}),
    Fault(Id.TLS_HELLO_RETRY, "nginx", {Spot.SECURE: [_TLS13, "ssl_ecdh_curve secp384r1;"]}),
    Fault(Id.TLS_HELLO_RETRY, "Apache", {Spot.MAIN: ["SSLOpenSSLConfCmd Groups P-384"]}),
    Fault(Id.TLS_RESUMPTION_MISSING, "nginx", {Spot.SECURE: [_TLS13, "ssl_session_tickets off;"]}),
    Fault(Id.TLS_RESUMPTION_MISSING, "Apache", {Spot.MAIN: ["SSLSessionTickets off", "SSLSessionCache none"]}),
    Fault(Id.TLS_ZERO_RTT, "nginx", {Spot.SECURE: [_TLS13]}),
    Fault(Id.HTTP_KEEPALIVE_OFF, "nginx", {Spot.SECURE: ["keepalive_timeout 0;"]}),
    Fault(Id.HTTP_KEEPALIVE_OFF, "HAProxy", {Spot.FRONTEND: ["option httpclose"]}),
    Fault(Id.HTTP_H2_MISSING, "Apache"),
    Fault(Id.HTTP_H2_MISSING, "HAProxy", {Spot.BIND: ["alpn http/1.1"]}),
    Fault(Id.HTTP_H2_MISSING, "Caddy", {Spot.HEAD: ["{\n    servers {\n        protocols h1\n    }\n}"]}),
)


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return Vault(tmp_path_factory.mktemp("vault"))


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory, vault: Vault) -> Mapping[tuple[str, bool], frozenset[Id]]:
    """Of each with its fault and mended. All are asked at a time, since a deep probe waits more than it computes."""
    cases = [(fault, mended) for fault in FAULTS for mended in (False, True)]
    folders = [tmp_path_factory.mktemp("site") for _ in cases]
    with ThreadPoolExecutor(len(cases)) as pool:
        asked = pool.map(lambda case, folder: found(case[0], folder, vault, mended=case[1]), cases, folders)
        named = [frozenset(one.id for one in findings) for findings in asked]
        return {(fault.name, mended): ids for (fault, mended), ids in zip(cases, named, strict=True)}


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
def test_the_setting_that_a_finding_tells_cures_it(
    fault: Fault, findings: Mapping[tuple[str, bool], frozenset[Id]]
) -> None:
    assert fault.id in findings[fault.name, False]
    assert fault.id not in findings[fault.name, True]


def test_browsers_are_spared_where_only_http2_keeps_its_connections(tmp_path: Path, vault: Vault) -> None:
    """Apache's word on keeping connections is one on HTTP/1.1 alone."""
    lines = {Spot.SECURE: ["KeepAlive Off", "Protocols h2 http/1.1"]}
    findings = found(Fault(Id.HTTP_KEEPALIVE_OFF, "Apache", lines), tmp_path, vault, mended=False)
    assert [one.severity for one in findings if one.id is Id.HTTP_KEEPALIVE_OFF] == [Severity.LOW]


@pytest.mark.parametrize("server", sorted(SERVERS))
def test_texts_that_a_finding_names_come_compressed_and_are_kept(server: str, tmp_path: Path, vault: Vault) -> None:
    """All types that it may name, from a server behind, whose own word on caching is another."""
    types = sorted({"text/html", "text/css", "text/plain", "image/svg+xml", "application/ld+json", *TEXTS})
    site = Site(folder=tmp_path, chain=vault.chain(Recipe(names=(NAME,))), proxied=True)
    for id in (Id.PAGE_UNCOMPRESSED, Id.PAGE_UNCACHED):
        site = written(site, known(told(id, server)))
    with Lab(rtt_ms=1) as lab:
        lab.run_server(_serve_types)
        start(lab, server, site)
        heads = lab.server.call(lambda: {one: head_of(f"/assets/{one}", lab.server_address) for one in types})
    assert [one for one, head in heads.items() if "content-encoding: " not in head] == []
    assert [one for one, head in heads.items() if "max-age=31536000" not in head or "no-store" in head] == []


def found(fault: Fault, folder: Path, vault: Vault, *, mended: bool) -> Sequence[Finding]:
    chain = vault.chain(Recipe(names=(NAME,)))
    site = Site(folder=folder, chain=chain, lines=fault.lines, proxied=fault.server == "HAProxy")
    if mended:
        site = written(site, known(told(fault.id, fault.server)))
    site.pages.mkdir()
    (site.pages / "index.html").write_text("<p>A page</p>\n" * 20)
    with Lab(rtt_ms=_RTT_MS) as lab:
        lab.configure(ca_file=vault.ca_file)
        lab.run_server(_serve_types)
        start(lab, fault.server, site)
        measurement = probe(lab, f"https://{NAME}/")
    assert measurement.evidence is not None
    return diagnose(measurement.evidence, measurement.hops).findings


def told(id: Id, server: str) -> Setting:
    return next(one for one in entry(id).settings if one.server == server)


def start(lab: Lab, server: str, site: Site) -> None:
    lab.run_server(located(command(server, site)))
    lab.wait_for_port(443)


def head_of(path: str, address: str) -> str:
    """In small letters."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    asked = f"GET {path} HTTP/1.1\r\nHost: {NAME}\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n"
    with (
        socket.create_connection((address, 443), timeout=60) as sock,
        context.wrap_socket(sock, server_hostname=NAME) as tls,
    ):
        tls.sendall(asked.encode())
        answer = b""
        while part := tls.recv(65536):
            answer += part
    return answer.partition(b"\r\n\r\n")[0].decode().lower()


class _Typed(BaseHTTPRequestHandler):
    """A page of the type that its path names."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = b"a page that is worth compressing\n" * 600
        self.send_response(200)
        self.send_header("Content-Type", self.path.removeprefix("/assets/").strip("/") or "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""


def _serve_types(gone: Event) -> None:
    with ThreadingHTTPServer(("127.0.0.1", ORIGIN_PORT), _Typed) as server:
        Thread(target=server.serve_forever, args=(_POLL_S,), daemon=True).start()
        gone.wait()
        server.shutdown()
