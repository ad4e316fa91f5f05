"""Records without any data, which a server may send at any time (RFC 8446, 5.1), are no beginning of an answer."""

import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

with warnings.catch_warnings():
    # It still knows how to work with asyncore.
    warnings.simplefilter("ignore", DeprecationWarning)
    from tlslite.api import HandshakeSettings, TLSConnection, X509CertChain, parsePEMKey
    from tlslite.errors import BaseTLSException
    from tlslite.messages import ApplicationData

from workers.measurement.tls_records import sealed_bytes
from workers.tests.netlab.chains import Chain, Recipe, Vault
from workers.tests.netlab.listening import Listening
from workers.tests.probes.conftest import NAME, Lab

_PAUSE_S = 0.3
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n" + b"x" * 2000
_VERSIONS = {"TLSv1.2": (3, 3), "TLSv1.3": (3, 4)}


class _Hesitating(Listening):
    """Says nothing in a record of its own, pauses, and then answers."""

    def __init__(self, listener: socket.socket, chain: Chain, version: str) -> None:
        super().__init__(listener)
        self._certificates = X509CertChain()
        self._certificates.parsePemList(chain.chain_file.read_text())
        self._key = parsePEMKey(chain.key_file.read_text(), private=True)
        self._settings = HandshakeSettings()
        self._settings.maxVersion = _VERSIONS[version]

    def serve(self, sock: socket.socket, number: int) -> None:
        with sock, suppress(OSError, BaseTLSException):
            sock.settimeout(30)
            talk = TLSConnection(sock)
            talk.handshakeServer(
                certChain=self._certificates,
                privateKey=self._key,
                settings=self._settings,
                alpn=[bytearray(b"http/1.1")],
            )
            talk.read(min=1, max=65536)
            for part in (b"", _ANSWER):
                for _ in talk._sendMsg(ApplicationData().create(bytearray(part)), randomizeFirstBlock=False):
                    pass
                self.closing.wait(_PAUSE_S)


@contextmanager
def hesitating(lab: Lab, folder: Path, version: str) -> Iterator[str]:
    vault = Vault(folder)
    lab.configure(ca_file=vault.ca_file)
    chain = vault.chain(Recipe(names=(NAME,)))
    with _Hesitating(socket.create_server(("127.0.0.1", 0)), chain, version) as server:
        yield f"https://{NAME}:{server.port}/"


@pytest.mark.parametrize("version", _VERSIONS)
def test_a_record_without_data_is_none_of_the_answer(named: Lab, tmp_path: Path, version: str) -> None:
    with hesitating(named, tmp_path, version) as url:
        measured = named.measure(url)
    assert measured.evidence is not None
    (trial,) = measured.evidence.trials
    (exchange,) = trial.exchanges
    assert trial.handshake is not None
    assert trial.handshake.version == version
    sealed = sealed_bytes(version, trial.handshake.cipher)
    empty = [one for one in trial.records if one.length_bytes == sealed and one.content_type == 23]
    assert [one.application for one in empty] == [False]
    assert exchange.sent_us is not None
    answer = [one for one in trial.records if one.application]
    assert [one.length_bytes for one in answer] == [len(_ANSWER) + sealed]
    assert answer[0].at_us - exchange.sent_us >= _PAUSE_S * 1e6
    assert exchange.first_application_us == answer[0].at_us


@pytest.mark.parametrize(
    ("version", "cipher", "size"),
    [
        ("TLSv1.3", "TLS_AES_128_GCM_SHA256", 17),
        ("TLSv1.2", "ECDHE-RSA-AES256-GCM-SHA384", 24),
        ("TLSv1.2", "ECDHE-ECDSA-CHACHA20-POLY1305", 16),
        ("TLSv1.2", "ECDHE-RSA-AES128-SHA", 37),
    ],
)
def test_a_record_has_so_much_besides_its_data(version: str, cipher: str, size: int) -> None:
    assert sealed_bytes(version, cipher) == size
