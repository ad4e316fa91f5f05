"""Issuers that a server does not send, fetched from where its certificate says."""

import socket
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.captures_probe import HandshakeCapture
from workers.measurement.evidence import CertificateFault, Depth
from workers.measurement.failure import FailureKind
from workers.measurement.messages import Failed
from workers.probes import issuers
from workers.probes.issuers import read_certificates
from workers.probes.link import Kit
from workers.tests.netlab.certificates import make_authority
from workers.tests.netlab.chains import Recipe, Vault
from workers.tests.netlab.conduct import Conduct
from workers.tests.netlab.misbehaving import MisbehavingServer
from workers.tests.probes.conftest import NAME, Lab
from workers.tests.probes.deep_probes import evidence_of
from workers.tests.servers import Server, answering, response


@pytest.mark.parametrize("points_to_issuer", [True, False])
def test_a_missing_issuer_is_fetched_from_where_the_certificate_says(
    named: Lab, tmp_path: Path, points_to_issuer: bool
) -> None:
    vault = Vault(tmp_path)
    named.configure(ca_file=vault.ca_file)
    with Server(lambda peer: answering(response(known[0]))(peer)) as authority:
        url = authority.url("/issuer.der") if points_to_issuer else None
        chain = vault.chain(Recipe(names=(NAME,), intermediates_sent=False, issuer_url=url))
        known = [chain.issuer]
        with MisbehavingServer(socket.create_server(("127.0.0.1", 0)), Conduct(), chain) as server:
            outcome = named.probe(f"https://{NAME}:{server.port}/", depth=Depth.DEEP)
    assert isinstance(outcome, Failed)
    assert outcome.failure.kind is FailureKind.CERTIFICATE_UNTRUSTED
    handshake = evidence_of(outcome).trials[0].handshake
    assert handshake is not None
    assert handshake.verified_with_fetched_issuer is (True if points_to_issuer else None)


def test_an_issuers_address_on_the_inside_is_not_asked(named: Lab, tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    named.configure(ca_file=vault.ca_file)
    recipe = Recipe(names=(NAME,), intermediates_sent=False, issuer_url="http://10.0.0.1/issuer.der")
    with MisbehavingServer(socket.create_server(("127.0.0.1", 0)), Conduct(), vault.chain(recipe)) as server:
        outcome = named.probe(f"https://{NAME}:{server.port}/", depth=Depth.DEEP)
    handshake = evidence_of(outcome).trials[0].handshake
    assert handshake is not None
    assert handshake.verified_with_fetched_issuer is None


def test_however_many_issuers_strangers_offer_few_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    class Suspicious:
        def trusts_another_way(self, chain: tuple[bytes, ...]) -> bool:
            tried.append(len(chain))
            return False

    async def fetched(*_: object) -> bytes:
        return b"".join(
            make_authority(f"Stranger {number}").certificate.public_bytes(Encoding.PEM) for number in range(6)
        )

    monkeypatch.setattr(issuers, "_fetch", fetched)
    monkeypatch.setattr(issuers, "missing_issuer_urls", lambda _: ("http://a/", "http://b/", "http://c/"))
    shaken = HandshakeCapture(
        flights_sent_ns=(),
        own_ns=0,
        reads=0,
        version="TLSv1.3",
        chain=(b"leaf",),
        faults=(CertificateFault(code=20, depth=0, text=""),),
    )
    kit = cast("Kit", SimpleNamespace(contexts=Suspicious()))
    with pytest.raises(StopIteration) as ended:
        issuers.verify_with_issuers(kit, shaken, 0).send(None)
    assert ended.value.value is False
    assert tried == [7, 9, 9]


@pytest.mark.parametrize("kind", ["data", "enveloped"])
def test_a_message_of_pkcs7_that_is_not_signed_holds_no_issuers(kind: str) -> None:
    """RFC 5652, 4 and 6: its content is of another type than the one that brings certificates."""
    identifier = bytes.fromhex("06092a864886f70d0107") + {"data": b"\x01", "enveloped": b"\x03"}[kind]
    assert read_certificates(b"\x30" + bytes((len(identifier),)) + identifier) == ()


@given(st.binary(max_size=300))
def test_no_bytes_break_the_reading_of_issuers(data: bytes) -> None:
    assert read_certificates(data) == ()
