"""Handshake messages read, honest ones and any bytes."""

from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.compute.probe.handshake_messages import (
    certificate_bytes,
    chain_of,
    cipher_of,
    early_data_answer,
    hello_retried,
    is_resumed,
    messages_in,
    tickets_of,
)
from workers.measurement.evidence import EarlyData

RETRY = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")


def message(kind: int, body: bytes) -> bytes:
    return bytes((kind,)) + len(body).to_bytes(3) + body


def ticket(extensions: bytes, *, lifetime_s: int = 7200) -> bytes:
    body = lifetime_s.to_bytes(4) + b"AGE!" + b"\x02nn" + b"\x00\x05TTTTT"
    return message(4, body + len(extensions).to_bytes(2) + extensions)


def test_a_hello_with_the_random_of_a_retry_is_one() -> None:
    plain = message(2, b"\x03\x03" + b"r" * 32 + b"\0")
    retry = message(2, b"\x03\x03" + RETRY + b"\0")
    assert hello_retried((retry, plain)) is True
    assert hello_retried((plain,)) is False
    assert hello_retried(()) is None


def test_tickets_are_counted_with_the_life_and_early_data_of_the_last() -> None:
    early = b"\x00\x2a\x00\x04" + (16384).to_bytes(4)
    found = tickets_of((ticket(b""), ticket(early, lifetime_s=300)), "TLSv1.3")
    assert (found.number, found.lifetime_s, found.max_early_data_bytes) == (2, 300, 16384)
    assert tickets_of((ticket(b""),), "TLSv1.3").max_early_data_bytes == 0
    assert tickets_of((), "TLSv1.3").number == 0


def test_an_empty_ticket_of_tls_12_is_none() -> None:
    empty = message(4, (0).to_bytes(4) + b"\0\0")
    given_one = message(4, (300).to_bytes(4) + b"\0\x05TTTTT")
    assert tickets_of((empty,), "TLSv1.2").number == 0
    assert tickets_of((given_one,), "TLSv1.2")[:2] == (1, 300)


def test_early_data_is_accepted_only_in_so_many_words() -> None:
    accepted = message(8, b"\x00\x04\x00\x2a\x00\x00")
    assert early_data_answer((accepted,)) is EarlyData.ACCEPTED
    assert early_data_answer((message(8, b"\0\0"),)) is EarlyData.REJECTED
    assert early_data_answer(()) is None


def test_a_certificate_message_is_measured_by_its_head() -> None:
    assert certificate_bytes((b"\x0b\x00\x12\x34",)) == 0x1234 + 4
    assert certificate_bytes(()) is None


def certificates(*ders: bytes) -> bytes:
    entries = b"".join(len(der).to_bytes(3) + der + b"\0\0" for der in ders)
    return message(11, b"\0" + len(entries).to_bytes(3) + entries)


def test_a_stream_gives_the_messages_that_it_brings_whole() -> None:
    first, second = message(8, b"\0\0"), certificates(b"leaf")
    assert messages_in(first + second) == (first, second)
    assert messages_in(first + second[:-1]) == (first,)
    assert messages_in(b"\x08\0") == ()


def test_the_suite_stands_behind_the_session_id() -> None:
    hello = message(2, b"\x03\x03" + b"r" * 32 + b"\x02id" + b"\x13\x02" + b"\0\0\0")
    assert cipher_of((hello,)) == 0x1302
    assert cipher_of((hello[:-4],)) is None
    assert cipher_of(()) is None


def test_a_handshake_that_ends_without_a_certificate_resumes_a_session() -> None:
    extensions, finished = message(8, b"\0\0"), message(20, b"f" * 48)
    assert is_resumed((extensions, finished)) is True
    assert is_resumed((extensions, certificates(b"leaf"), finished)) is False
    assert is_resumed((extensions, message(25, b"compressed"))) is False
    assert is_resumed((extensions,)) is None


def test_a_chain_begins_with_the_servers_own_certificate() -> None:
    assert chain_of((certificates(b"leaf", b"issuer"),)) == (b"leaf", b"issuer")
    assert chain_of((message(25, b"compressed"),)) == ()


@given(
    st.lists(st.builds(lambda kind, body: bytes((kind,)) + body, st.sampled_from([2, 4, 8, 11, 20, 25]), st.binary()))
)
def test_no_bytes_break_the_reading(messages: list[bytes]) -> None:
    said = tuple(messages)
    hello_retried(said)
    early_data_answer(said)
    assert (certificate_bytes(said) or 0) >= 0
    assert len(chain_of(said)) <= sum(map(len, said))
    assert 0 <= (cipher_of(said) or 0) <= 0xFFFF
    is_resumed(said)
    for version in ("TLSv1.2", "TLSv1.3", None):
        assert tickets_of(said, version).number <= len(said)
