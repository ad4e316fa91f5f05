"""What an OCSP answer says of a certificate, whatever a server sends as one."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import ocsp
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.compute.staple import Staple, read_staple
from workers.measurement.evidence import StapleWord
from workers.tests.netlab.certificates import (
    Holder,
    KeyKind,
    LeafWish,
    Life,
    make_authority,
    make_leaf,
    make_responder,
    make_staple,
)
from workers.tests.netlab.chains import Chain, Recipe, Vault

_ISSUER = make_authority("Lab Issuer")
_LEAF = make_leaf(LeafWish(names=("www.lab.test",)), _ISSUER).certificate
_CHAIN = (_LEAF.public_bytes(Encoding.DER), _ISSUER.certificate.public_bytes(Encoding.DER))


def stapled(folder: Path) -> Chain:
    return Vault(folder).chain(Recipe(names=("www.lab.test",), stapled=True, ocsp_url="http://ca.lab.test/ocsp"))


def test_an_answer_says_from_when_to_when_it_holds(tmp_path: Path) -> None:
    chain = stapled(tmp_path)
    assert chain.staple_file is not None
    word, begins, ends = read_staple(chain.staple_file.read_bytes(), chain.sent)
    assert word is StapleWord.GOOD
    assert begins is not None
    assert ends is not None
    assert abs(begins - datetime.now(UTC) + timedelta(days=1)) < timedelta(hours=1)
    assert abs(ends - datetime.now(UTC) - timedelta(days=6)) < timedelta(hours=1)


@pytest.mark.parametrize("status", list(ocsp.OCSPCertStatus))
def test_an_answer_says_what_the_authority_thinks_of_the_leaf(status: ocsp.OCSPCertStatus) -> None:
    said = read_staple(make_staple(_LEAF, _ISSUER, status=status), _CHAIN)
    assert said.word is StapleWord(status.name.lower())


def test_an_answer_on_another_certificate_says_nothing_of_this_one() -> None:
    other = make_leaf(LeafWish(names=("www.lab.test",)), _ISSUER).certificate
    assert read_staple(make_staple(other, _ISSUER), _CHAIN) == Staple(StapleWord.NOTHING)


@pytest.mark.parametrize(
    ("status", "word"),
    [
        (ocsp.OCSPResponseStatus.TRY_LATER, StapleWord.NOTHING),
        (ocsp.OCSPResponseStatus.UNAUTHORIZED, StapleWord.INVALID),
        (ocsp.OCSPResponseStatus.INTERNAL_ERROR, StapleWord.INVALID),
    ],
)
def test_an_error_of_the_authority_vouches_for_nobody(status: ocsp.OCSPResponseStatus, word: StapleWord) -> None:
    refusal = ocsp.OCSPResponseBuilder.build_unsuccessful(status)
    assert read_staple(refusal.public_bytes(Encoding.DER), _CHAIN) == Staple(word)


@given(st.binary(max_size=300))
def test_garbage_vouches_for_nobody(garbage: bytes) -> None:
    assert read_staple(garbage, _CHAIN).word is not StapleWord.GOOD


@given(st.binary(max_size=300))
def test_nothing_can_be_said_of_what_is_no_certificate(garbage: bytes) -> None:
    assert read_staple(make_staple(_LEAF, _ISSUER), (garbage, *_CHAIN[1:])) == Staple(StapleWord.NOTHING)


_STRANGER = make_authority("Lab Stranger")


@pytest.mark.parametrize("status", list(ocsp.OCSPCertStatus))
def test_an_answer_of_a_stranger_vouches_for_nobody_and_blames_nobody(status: ocsp.OCSPCertStatus) -> None:
    assert read_staple(make_staple(_LEAF, _STRANGER, status=status), _CHAIN) == Staple(StapleWord.UNSIGNED)


@pytest.mark.parametrize("status", list(ocsp.OCSPCertStatus))
def test_an_answer_in_the_name_of_the_authority_must_be_signed_by_it(status: ocsp.OCSPCertStatus) -> None:
    signed = make_staple(_LEAF, _ISSUER, status=status)
    assert read_staple(signed[:-1] + bytes([signed[-1] ^ 1]), _CHAIN) == Staple(StapleWord.INVALID)


@pytest.mark.parametrize("status", list(ocsp.OCSPCertStatus))
def test_an_answer_of_which_nobody_can_tell_who_signed_it_says_so(status: ocsp.OCSPCertStatus) -> None:
    assert read_staple(make_staple(_LEAF, _ISSUER, status=status), _CHAIN[:1]) == Staple(StapleWord.UNVERIFIED)


@pytest.mark.parametrize("key", list(KeyKind))
@pytest.mark.parametrize("status", list(ocsp.OCSPCertStatus))
def test_a_responder_of_the_authority_speaks_for_it(key: KeyKind, status: ocsp.OCSPCertStatus) -> None:
    responder = make_responder("Lab Responder", _ISSUER, key=key)
    assert read_staple(make_staple(_LEAF, _ISSUER, status=status, responder=responder), _CHAIN).word is StapleWord(
        status.name.lower()
    )


@pytest.mark.parametrize(
    "responder",
    [
        make_responder("Lab Responder", _ISSUER, entitled=False),
        make_responder("Lab Responder", _STRANGER),
        make_responder("Lab Responder", _ISSUER, life=Life(begins=-60, ends=-30)),
    ],
    ids=["not entitled", "of another authority", "run out"],
)
def test_not_everybody_with_a_certificate_is_a_responder(responder: Holder) -> None:
    said = read_staple(make_staple(_LEAF, _ISSUER, responder=responder), _CHAIN)
    assert said == Staple(StapleWord.UNSIGNED)


def test_more_than_any_authority_says_is_not_read() -> None:
    assert read_staple(b"\x30" * 100_000, _CHAIN) == Staple()
