"""Whom a probe is held against: the handshake alone, the barest probe, curl and the exporter.

Each is asked the same of the same nginx, and gives the CPU seconds of one probe.
"""

import http.client
import json
import os
import resource
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from OpenSSL import SSL

from workers.bench.cpu import tree_cpu_s
from workers.probes.openssl import SUITES
from workers.tests.netlab.chains import Chain
from workers.tests.waiting import wait_for

CURL, EXPORTER = "curl", "prometheus-blackbox-exporter"
# Short turns, and many of them: a neighbour on a shared machine is felt by all alike, and none is unlucky for long.
PROBES_A_ROUND, _CURLS_A_ROUND = 96, 5
IN_FLIGHT = 8
HOST = "one.localhost"
BODY_BYTES = 4000
_READ_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """Where nginx answers, and how it is trusted: by one authority, or by that besides all of this machine."""

    port: int
    ca_file: Path
    all_ca_file: Path
    chain: Chain

    @property
    def url(self) -> str:
        return f"https://{HOST}:{self.port}/"


def handshakes(place: Served) -> Callable[[], float]:
    """A client's side of the handshake by the same OpenSSL, in memory, without a packet."""
    client, server = SSL.Context(SSL.TLS_CLIENT_METHOD), SSL.Context(SSL.TLS_SERVER_METHOD)
    client.set_default_verify_paths()
    client.load_verify_locations(str(place.ca_file))
    client.set_verify(SSL.VERIFY_PEER)
    client.set_tls13_ciphersuites(SUITES)
    server.use_certificate_chain_file(str(place.chain.chain_file))
    server.use_privatekey_file(str(place.chain.key_file))

    def work() -> float:
        return sum(_handshake_s(client, server) for _ in range(PROBES_A_ROUND)) / PROBES_A_ROUND

    return work


def barest(place: Served) -> Callable[[], float]:
    """A probe without evidence: connect, shake hands with anybody, ask, and read to the end."""
    context = SSL.Context(SSL.TLS_CLIENT_METHOD)
    context.set_verify(SSL.VERIFY_NONE)
    context.set_tls13_ciphersuites(SUITES)
    request = f"GET / HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode()

    def work() -> float:
        before_s = time.thread_time()
        for _ in range(PROBES_A_ROUND):
            if _ask_barely(context, place.port, request) < BODY_BYTES:
                raise RuntimeError("the bare probe got less than the page")
        return (time.thread_time() - before_s) / PROBES_A_ROUND

    return work


def _ask_barely(context: SSL.Context, port: int, request: bytes) -> int:
    received_bytes = 0
    with socket.create_connection(("127.0.0.1", port)) as sock:
        connection = SSL.Connection(context, sock)
        connection.set_connect_state()
        connection.set_tlsext_host_name(HOST.encode())
        connection.do_handshake()
        connection.sendall(request)
        with suppress(SSL.ZeroReturnError):
            while True:
                received_bytes += len(connection.recv(_READ_BYTES))
    return received_bytes


def _handshake_s(client: SSL.Context, server: SSL.Context) -> float:
    theirs = SSL.Connection(server, None)
    theirs.set_accept_state()
    began_s = time.thread_time()
    ours = SSL.Connection(client, None)
    ours.set_connect_state()
    ours.set_tlsext_host_name(HOST.encode())
    hello = _advance(ours)
    spent_s = time.thread_time() - began_s
    theirs.bio_write(hello)
    answer = _advance(theirs)
    began_s = time.thread_time()
    ours.bio_write(answer)
    _advance(ours)
    # Who makes many gives their memory back, and so do all the others here.
    del ours
    return spent_s + time.thread_time() - began_s


def _advance(connection: SSL.Connection) -> bytes:
    with suppress(SSL.WantReadError):
        connection.do_handshake()
    return connection.bio_read(65536)


def curl(place: Served, ca_file: Path) -> Callable[[], float]:
    """A process for each, as scripts do it."""
    command = [CURL, "-sS", "-o", os.devnull, "--http1.1", "--cacert", str(ca_file)]
    command += ["--resolve", f"{HOST}:{place.port}:127.0.0.1", place.url]

    def work() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        for _ in range(_CURLS_A_ROUND):
            subprocess.run(command, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / _CURLS_A_ROUND

    return work


@contextmanager
def exporter(place: Served) -> Iterator[Callable[[], float]]:
    """The exporter's own process; what asks it is not counted."""
    with tempfile.TemporaryDirectory(prefix="firstbyte-bench-") as folder:
        settings = Path(folder) / "exporter.yml"
        settings.write_text(json.dumps(_exporter_settings(place)))
        port = free_port()
        command = [EXPORTER, f"--config.file={settings}", f"--web.listen-address=127.0.0.1:{port}"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(lambda: process.poll() is not None or accepts(port), f"{EXPORTER} to listen")
            work = _asking(port, process.pid, place)
            work()
            yield work
        finally:
            process.terminate()
            process.wait()


def _exporter_settings(place: Served) -> dict[str, object]:
    """JSON is YAML too."""
    tls = {"ca_file": str(place.ca_file), "server_name": HOST}
    http_settings = {"preferred_ip_protocol": "ip4", "tls_config": tls}
    return {"modules": {"bench": {"prober": "http", "timeout": "10s", "http": http_settings}}}


def _asking(port: int, pid: int, place: Served) -> Callable[[], float]:
    query = urlencode({"module": "bench", "target": f"https://127.0.0.1:{place.port}/"})

    def ask(_: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("GET", f"/probe?{query}")
        answer = connection.getresponse().read()
        connection.close()
        if b"probe_success 1" not in answer:
            raise RuntimeError(f"{EXPORTER} could not probe: {answer.decode('utf-8', 'replace')[-300:]}")

    def work() -> float:
        before_s = tree_cpu_s(pid)
        with ThreadPoolExecutor(IN_FLIGHT) as callers:
            list(callers.map(ask, range(PROBES_A_ROUND)))
        return (tree_cpu_s(pid) - before_s) / PROBES_A_ROUND

    return work


def accepts(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2):
            return True
    except OSError:
        return False


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
