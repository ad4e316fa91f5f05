"""What a server says in the pieces of a QUIC handshake."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.compute.netlog.quic_handshake import QuicHandshake
from workers.measurement.compute.page.page import compute_page
from workers.tests.measurement.test_handshake_messages import certificates, message
from workers.tests.shapes import golden

INITIAL, HANDSHAKE, DATA = "ENCRYPTION_INITIAL", "ENCRYPTION_HANDSHAKE", "ENCRYPTION_FORWARD_SECURE"
FLIGHT = message(8, b"\0\0") + certificates(b"leaf", b"issuer") + message(20, b"f" * 32)
Piece = tuple[str, int, bytes]


def heard(*pieces: Piece) -> QuicHandshake:
    handshake = QuicHandshake()
    for level, offset, data in pieces:
        handshake.take(level, offset, base64.b64encode(data).decode())
    return handshake


@given(st.permutations([(HANDSHAKE, at, FLIGHT[at : at + 9]) for at in range(0, len(FLIGHT), 7)]))
def test_pieces_may_come_in_any_order_and_overlap(pieces: list[Piece]) -> None:
    assert heard(*pieces).chain == (b"leaf", b"issuer")
    assert heard(*pieces).resumed is False


def test_what_lies_behind_a_gap_was_not_heard() -> None:
    assert heard((HANDSHAKE, 0, FLIGHT[:20]), (HANDSHAKE, 21, FLIGHT[21:])).chain == ()


def test_tickets_are_no_part_of_it() -> None:
    assert heard((DATA, 0, FLIGHT)).messages == ()


@pytest.mark.parametrize("text", ["a", "\u00e9"])
def test_what_is_no_base64_is_passed_over(text: str) -> None:
    handshake = QuicHandshake()
    handshake.take(INITIAL, 0, text)
    assert handshake.cipher is None


@pytest.mark.parametrize("name", ["forced-h3", "alt-svc-h3"])
def test_a_connection_of_http3_has_its_suite_its_certificate_and_says_that_it_resumed_nothing(name: str) -> None:
    seen = compute_page(golden.load(name)).measurement.waterfall.connections
    (quic,) = [one for one in seen if one.protocol == "h3"]
    assert (quic.cipher, quic.resumed, quic.tls_version) == ("TLS_AES_256_GCM_SHA384", False, "TLSv1.3")
    assert quic.certificate is not None
    assert quic.certificate.names == ("three.test",)
    assert quic.certificate.chain_length == 1
