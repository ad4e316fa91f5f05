"""nginx serves each site of the lab with the settings that its twin asks for."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from OpenSSL import SSL

from workers.tests.netlab.certificates import KeyKind
from workers.tests.netlab.chains import Recipe, Vault
from workers.tests.netlab.nginx import Nginx, NginxConduct, NginxSite, Place, Plain
from workers.tests.ports import free_port
from workers.tests.waiting import wait_for

NAME = "www.lab.test"
REQUEST = b"GET / HTTP/1.1\r\nHost: www.lab.test\r\nConnection: close\r\n\r\n"


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return Vault(tmp_path_factory.mktemp("vault"))


@contextmanager
def serving(folder: Path, vault: Vault, conduct: NginxConduct, recipe: Recipe | None = None) -> Iterator[Place]:
    place = Place(address="127.0.0.1", secure_port=free_port(), plain_port=free_port())
    site = NginxSite(conduct=conduct, place=place, chain=vault.chain(recipe or Recipe(names=(NAME,))))
    with Nginx(folder, [site]) as nginx:
        port = place.secure_port if conduct.secure else place.plain_port
        wait_for(lambda: not nginx.running or accepts(port), "nginx to listen")
        assert nginx.running, nginx.complaints
        yield place


def accepts(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0


def context_of(vault: Vault, newest: str = "TLSv1_3") -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(vault.ca_file))
    context.maximum_version = ssl.TLSVersion[newest]
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context


@contextmanager
def secured(place: Place, context: ssl.SSLContext, session: ssl.SSLSession | None = None) -> Iterator[ssl.SSLSocket]:
    with (
        socket.create_connection((place.address, place.secure_port), timeout=60) as sock,
        context.wrap_socket(sock, server_hostname=NAME, session=session) as tls,
    ):
        yield tls


def ask(sock: socket.socket) -> bytes:
    sock.sendall(REQUEST)
    data = b""
    while part := sock.recv(65536):
        data += part
    return data


def test_the_defaults_are_those_of_a_site_that_is_well_kept(tmp_path: Path, vault: Vault) -> None:
    context = context_of(vault)
    with serving(tmp_path, vault, NginxConduct()) as place:
        with secured(place, context) as sock:
            assert (sock.version(), sock.selected_alpn_protocol()) == ("TLSv1.3", "h2")
        context.set_alpn_protocols(["http/1.1"])
        with secured(place, context) as sock:
            answer = ask(sock)
        with socket.create_connection((place.address, place.plain_port), timeout=60) as plain:
            moved = ask(plain)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK")
    assert b"Strict-Transport-Security: max-age=63072000" in head
    assert b"Content-Type: text/html" in head
    assert len(body) == 4000
    assert moved.startswith(b"HTTP/1.1 301 ")
    assert b"Location: https://www.lab.test/" in moved


@pytest.mark.parametrize(
    ("conduct", "newest", "reused"),
    [
        (NginxConduct(), "TLSv1_2", True),
        (NginxConduct(session_cache=False), "TLSv1_2", True),
        (NginxConduct(tickets=False), "TLSv1_2", True),
        (NginxConduct(tickets=False, session_cache=False), "TLSv1_2", False),
        (NginxConduct(), "TLSv1_3", True),
        (NginxConduct(tickets=False, session_cache=False), "TLSv1_3", False),
    ],
)
def test_sessions_are_kept_as_told(
    tmp_path: Path, vault: Vault, conduct: NginxConduct, newest: str, reused: bool
) -> None:
    context = context_of(vault, newest)
    context.set_alpn_protocols(["http/1.1"])
    with serving(tmp_path, vault, conduct) as place:
        with secured(place, context) as sock:
            ask(sock)
            session = sock.session
        with secured(place, context, session) as sock:
            assert sock.session_reused is reused


def test_old_versions_and_ciphers_can_be_all_there_is(tmp_path: Path, vault: Vault) -> None:
    conduct = NginxConduct(protocols="TLSv1.2", ciphers="AES128-SHA256", http2=False)
    with serving(tmp_path, vault, conduct, Recipe(names=(NAME,), key=KeyKind.RSA_2048)) as place:
        context = context_of(vault)
        context.set_ciphers("ALL:@SECLEVEL=1")
        with secured(place, context) as sock:
            assert sock.version() == "TLSv1.2"
            assert (sock.cipher() or ("",))[0] == "AES128-SHA256"
            assert sock.selected_alpn_protocol() == "http/1.1"


@pytest.mark.parametrize("kind", [KeyKind.RSA_1024, KeyKind.RSA_4096])
def test_keys_of_any_size_are_served(tmp_path: Path, vault: Vault, kind: KeyKind) -> None:
    conduct = NginxConduct(ciphers="DEFAULT:@SECLEVEL=0", http2=False)
    with serving(tmp_path, vault, conduct, Recipe(names=(NAME,), key=kind)) as place:
        context = context_of(vault)
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
        with secured(place, context) as sock:
            assert ask(sock).startswith(b"HTTP/1.1 200 OK")


def test_a_site_can_be_without_tls(tmp_path: Path, vault: Vault) -> None:
    with serving(tmp_path, vault, NginxConduct(secure=False, plain=Plain.PAGE)) as place:
        with socket.create_connection((place.address, place.plain_port), timeout=60) as plain:
            assert ask(plain).startswith(b"HTTP/1.1 200 OK")
        assert not accepts(place.secure_port)


def test_a_connection_can_end_after_each_answer(tmp_path: Path, vault: Vault) -> None:
    conduct = NginxConduct(keepalive_s=0, http2=False)
    with serving(tmp_path, vault, conduct) as place, secured(place, context_of(vault)) as sock:
        sock.sendall(REQUEST.replace(b"Connection: close", b"Connection: keep-alive"))
        assert b"\r\nConnection: close\r\n" in sock.recv(65536)


def test_a_staple_is_handed_out(tmp_path: Path, vault: Vault) -> None:
    recipe = Recipe(names=(NAME,), ocsp_url="http://ca.lab.test/ocsp", stapled=True)
    with serving(tmp_path, vault, NginxConduct(), recipe) as place:
        assert stapled(place, vault)
    (tmp_path / "bare").mkdir()
    with serving(tmp_path / "bare", vault, NginxConduct()) as place:
        assert not stapled(place, vault)


def stapled(place: Place, vault: Vault) -> bool:
    staples: list[bytes] = []

    def note(_: SSL.Connection, staple: bytes, __: object) -> bool:
        staples.append(staple)
        return True

    context = SSL.Context(SSL.TLS_CLIENT_METHOD)
    context.load_verify_locations(str(vault.ca_file))
    context.set_ocsp_client_callback(note)
    with socket.create_connection((place.address, place.secure_port)) as sock:
        connection = SSL.Connection(context, sock)
        connection.set_tlsext_host_name(NAME.encode())
        connection.request_ocsp()
        connection.set_connect_state()
        connection.do_handshake()
    return bool(staples[0])
