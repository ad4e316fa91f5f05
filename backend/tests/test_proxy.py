"""The proxy as it is written: a real nginx before gunicorn with the service's settings, and before a real broker."""

import http.client
import json
import os
import pwd
import re
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import h2.connection
import h2.events
import pytest
import redis
import trustme

from backend import testing
from backend.api.agent import MAX_MESSAGE_BYTES, MAX_PICTURE_BYTES
from backend.api.bodies import MAX_COMPRESSED_BYTES
from backend.api.v1.waiting import MAX_WAIT_S
from backend.runs.uploads import MAX_FILE_BYTES
from workers.measurement import routes
from workers.tests.ports import LOOPBACK, free_port

ROOT = Path(__file__).resolve().parents[2]
CONFIGURATION = ROOT / "deploy" / "proxy" / "nginx.conf"
NAME = "monitor.example.org"
STREAM = Path("/usr/lib/nginx/modules/ngx_stream_module.so")
TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
PICTURE = routes.PICTURE_PATH.format(kind=routes.PictureKind.SCREENSHOT, run_id=UUID(int=1))
Body = bytes | Iterator[bytes] | None
NONE: Mapping[str, str] = {}
FORGED = {
    "X-Forwarded-For": "203.0.113.9",
    "X-Forwarded-Proto": "http",
    "X-Forwarded-Protocol": "ssl",
    "X-Forwarded-Ssl": "off",
    "X-Forwarded-Host": "evil.example",
    "X-Forwarded-Port": "99",
    "X-Real-Ip": "203.0.113.9",
    "Forwarded": "for=203.0.113.9;proto=http;host=evil.example",
    "SCRIPT_NAME": "/evil",
    "REMOTE_ADDR": "203.0.113.9",
}


@dataclass(frozen=True, kw_only=True)
class Proxy:
    http: int
    https: int
    broker: int
    web: int
    trust: ssl.SSLContext
    authority: Path

    @property
    def host(self) -> str:
        return f"{NAME}:{self.https}"

    def tls(self, *protocols: str, name: str = NAME) -> ssl.SSLSocket:
        self.trust.set_alpn_protocols(list(protocols) or ["http/1.1"])
        with ExitStack() as stack:
            plain = stack.enter_context(socket.create_connection((LOOPBACK, self.https), 60))
            wrapped = self.trust.wrap_socket(plain, server_hostname=name)
            stack.pop_all()
            return wrapped

    def ask(
        self, path: str = "/", method: str = "GET", body: Body = None, headers: Mapping[str, str] = NONE
    ) -> "Answer":
        connection = http.client.HTTPConnection(LOOPBACK, timeout=60)
        connection.sock = self.tls()
        return asked(connection, path, method, body, {"Host": self.host, **headers})

    def seen(
        self, path: str = "/", method: str = "GET", body: Body = None, headers: Mapping[str, str] = NONE
    ) -> dict[str, Any]:
        """What the service made of a request."""
        answer = self.ask(path, method, body, headers)
        assert answer.status == 200
        made: dict[str, Any] = json.loads(answer.body)
        return made


@dataclass(frozen=True, kw_only=True)
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes


def asked(
    connection: http.client.HTTPConnection, path: str, method: str, body: Body, headers: Mapping[str, str]
) -> Answer:
    with closing(connection):
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return Answer(status=response.status, headers=response.headers, body=response.read())


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    with testing.redis() as url:
        yield urlsplit(url).path


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory, broker: str) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("proxy")
    authority = trustme.CA()
    leaf = authority.issue_cert(NAME)
    leaf.private_key_pem.write_to_path(folder / "privkey.pem")
    for position, part in enumerate(leaf.cert_chain_pems):
        part.write_to_path(folder / "fullchain.pem", append=position > 0)
    authority.cert_pem.write_to_path(folder / "ca.pem")
    trust = ssl.create_default_context()
    authority.configure_trust(trust)
    made = Proxy(
        http=free_port(),
        https=free_port(),
        broker=free_port(),
        web=free_port(),
        trust=trust,
        authority=folder / "ca.pem",
    )
    (folder / "nginx.conf").write_text(configuration(made, folder, broker))
    with ExitStack() as stack:
        for command in (gunicorn(made), nginx(folder)):
            process = stack.enter_context(subprocess.Popen(command, cwd=ROOT, env=environment(made)))
            stack.callback(process.terminate)
        for port in (made.http, made.https, made.broker, made.web):
            testing.wait_until(lambda port=port: listens(port), f"port {port}")  # type: ignore[misc]
        yield made


def configuration(proxy: Proxy, folder: Path, broker: str) -> str:
    """The file as it is but for what belongs to this machine: user, places, ports and addresses."""
    text = CONFIGURATION.read_text()
    (folder / "temporary").mkdir()
    own = "".join(f"{name}_temp_path {folder}/temporary/{name};\n" for name in TEMPORARY)
    changes = {
        r"^user .*;": f"user {pwd.getpwuid(os.geteuid()).pw_name};",
        r"include /etc/nginx/modules-enabled/\*\.conf;": f"load_module {STREAM};",
        r"listen \[::\].*;": "",
        r"listen 80\b": f"listen {LOOPBACK}:{proxy.http}",
        r"listen 443\b": f"listen {LOOPBACK}:{proxy.https}",
        r"listen 6380\b": f"listen {LOOPBACK}:{proxy.broker}",
        r"127\.0\.0\.1:8800": f"{LOOPBACK}:{proxy.web}",
        r"127\.0\.0\.1:6379": f"unix:{broker}",
        rf"/etc/letsencrypt/live/{re.escape(NAME)}": str(folder),
        "/var/log/nginx": str(folder),
        r"^http {": f"http {{\n{own}",
    }
    for pattern, instead in changes.items():
        text, times = re.subn(pattern, instead, text, flags=re.MULTILINE)
        assert times, f"{pattern} is not in the configuration"
    return text


def gunicorn(proxy: Proxy) -> list[str]:
    options = [
        "--bind",
        f"{LOOPBACK}:{proxy.web}",
        "--worker-class",
        "gthread",
        "--threads",
        "8",
        "--no-control-socket",
    ]
    return [sys.executable, "-m", "gunicorn", "backend.tests.seen", *options]


def nginx(folder: Path) -> list[str]:
    own = f"daemon off; pid {folder}/nginx.pid;"
    return ["/usr/sbin/nginx", "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf"), "-g", own]


def environment(proxy: Proxy) -> dict[str, str]:
    return os.environ | {
        "FIRSTBYTE_BASE_URL": f"https://{proxy.host}",
        "FIRSTBYTE_TRUST_PROXY": "1",
        "FIRSTBYTE_SECRET_KEY": "only-for-tests-" * 5,
    }


def listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex((LOOPBACK, port)) == 0


def test_scheme_host_and_address_arrive(proxy: Proxy) -> None:
    seen = proxy.seen("/sites/?page=2")
    assert (seen["secure"], seen["host"], seen["address"]) == (True, proxy.host, LOOPBACK)
    assert seen["path"] == "/sites/?page=2"


def test_nobody_says_himself_who_he_is_and_how_he_came(proxy: Proxy) -> None:
    plain, forged = proxy.seen(), proxy.seen(headers=FORGED)
    assert plain == forged


def test_an_address_that_was_forged_several_times_is_not_believed_either(proxy: Proxy) -> None:
    lines = f"GET / HTTP/1.1\r\nHost: {proxy.host}\r\nConnection: close\r\n" + "X-Forwarded-For: 203.0.113.9\r\n" * 2
    with proxy.tls() as sock:
        sock.sendall(f"{lines}\r\n".encode())
        assert json.loads(sock.makefile("rb").read().partition(b"\r\n\r\n")[2])["address"] == LOOPBACK


def test_each_answer_has_an_id_that_the_proxy_gave(proxy: Proxy) -> None:
    ids = [proxy.ask(headers={"X-Request-Id": "one-of-mine"}).headers["X-Request-Id"] for _ in range(2)]
    assert len({*ids, "one-of-mine"}) == 3
    assert all(re.fullmatch("[0-9a-f]{32}", one) for one in ids)


def test_plain_http_is_sent_to_https(proxy: Proxy) -> None:
    connection = http.client.HTTPConnection(LOOPBACK, proxy.http, timeout=60)
    answer = asked(connection, "/sites/?page=2", "GET", None, {"Host": "evil.example"} | FORGED)
    assert (answer.status, answer.headers["Location"]) == (301, f"https://{NAME}/sites/?page=2")


def test_another_name_is_refused_before_a_certificate_is_shown(proxy: Proxy) -> None:
    with pytest.raises(ssl.SSLError, match=r"(?i)unrecognized.name"):
        proxy.tls(name="other.example.org")


def test_browsers_are_served_by_http_2(proxy: Proxy) -> None:
    with proxy.tls("h2", "http/1.1") as sock:
        assert sock.selected_alpn_protocol() == "h2"
        seen = json.loads(over_http_2(sock, proxy.host))
    assert (seen["secure"], seen["host"], seen["address"]) == (True, proxy.host, LOOPBACK)


def over_http_2(sock: ssl.SSLSocket, host: str) -> bytes:
    """The body of the answer to one request."""
    client, body = h2.connection.H2Connection(), b""
    client.initiate_connection()
    client.send_headers(
        1, [(":method", "GET"), (":scheme", "https"), (":authority", host), (":path", "/")], end_stream=True
    )
    sock.sendall(client.data_to_send())
    while received := sock.recv(65_536):
        for event in client.receive_data(received):
            if isinstance(event, h2.events.DataReceived):
                body += event.data
            if isinstance(event, h2.events.StreamEnded):
                return body
        sock.sendall(client.data_to_send())
    raise AssertionError("the proxy closed the connection before its answer was whole")


@pytest.mark.parametrize(
    ("method", "path", "largest_bytes"),
    [
        ("POST", routes.RESULTS_PATH, MAX_COMPRESSED_BYTES),
        ("POST", routes.HEARTBEAT_PATH, MAX_MESSAGE_BYTES),
        ("POST", routes.PROGRESS_PATH, MAX_MESSAGE_BYTES),
        ("PUT", PICTURE, MAX_PICTURE_BYTES),
        ("POST", "/api/v1/imports?site=shop", MAX_FILE_BYTES),
        ("POST", "/imports/", MAX_FILE_BYTES),
    ],
)
def test_what_the_service_takes_passes_whole(proxy: Proxy, method: str, path: str, largest_bytes: int) -> None:
    """An agent throws away what it is told is too large."""
    assert proxy.seen(path, method, b"x" * largest_bytes)["body_bytes"] == largest_bytes


@pytest.mark.parametrize("path", [routes.RESULTS_PATH, "/sites/", "/importsx/", "/imports/x"])
def test_a_larger_body_is_refused_before_the_service_sees_it(proxy: Proxy, path: str) -> None:
    answer = proxy.ask(path, "POST", b"", {"Content-Length": str(MAX_COMPRESSED_BYTES + 1)})
    assert (answer.status, "X-Request-Id" in answer.headers) == (413, False)


def test_not_even_a_file_is_taken_without_a_bound(proxy: Proxy) -> None:
    answer = proxy.ask("/imports/", "POST", b"", {"Content-Length": str(64 * 1024 * 1024 + 1)})
    assert answer.status == 413


def test_a_body_of_unknown_length_reaches_the_service_with_its_length(proxy: Proxy) -> None:
    assert proxy.seen("/", "POST", iter([b"one", b"two"]))["body_bytes"] == 6


def test_the_proxy_waits_longer_than_any_poll_lasts() -> None:
    (waits_s,) = re.findall(r"proxy_read_timeout (\d+)s;", CONFIGURATION.read_text())
    assert int(waits_s) > MAX_WAIT_S


def test_answers_are_packed_for_who_takes_them_so(proxy: Proxy) -> None:
    packed, plain = proxy.ask(headers={"Accept-Encoding": "gzip"}), proxy.ask()
    assert (packed.headers["Content-Encoding"], plain.headers["Content-Encoding"]) == ("gzip", None)
    assert "Accept-Encoding" in plain.headers["Vary"]


def test_agents_reach_the_broker_by_tls(proxy: Proxy) -> None:
    key = f"paris:{uuid4()}"
    with redis.Redis(
        host=LOOPBACK, port=proxy.broker, ssl=True, ssl_check_hostname=False, ssl_ca_certs=str(proxy.authority)
    ) as client:
        client.lpush(key, "work")
        assert client.brpop([key], timeout=5) == (key.encode(), b"work")


def test_the_brokers_certificate_is_the_services_own(proxy: Proxy) -> None:
    with proxy.trust.wrap_socket(socket.create_connection((LOOPBACK, proxy.broker), 60), server_hostname=NAME) as sock:
        assert sock.version() in ("TLSv1.2", "TLSv1.3")


def test_an_agent_beside_the_service_needs_no_proxy(proxy: Proxy) -> None:
    """It comes by plain HTTP, where a person is sent to HTTPS."""
    paths = (routes.RESULTS_PATH, routes.HEARTBEAT_PATH, routes.PROGRESS_PATH, PICTURE, "/sites/", "/api/v1/agents")
    ways = {path: http.client.HTTPConnection(LOOPBACK, proxy.web, timeout=60) for path in paths}
    statuses = [asked(connection, path, "POST", b"{}", {}).status for path, connection in ways.items()]
    assert statuses == [200, 200, 200, 200, 301, 301]
