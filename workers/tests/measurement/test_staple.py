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
from workers.tests.netlab.certificates import LeafWish, make_authority, make_leaf, make_staple
from workers.tests.netlab.chains import Chain, Recipe, Vault

_ISSUER = make_authority("Lab Issuer")
_LEAF = make_leaf(LeafWish(names=("www.lab.test",)), _ISSUER).certificate
_DER = _LEAF.public_bytes(Encoding.DER)


def stapled(folder: Path) -> Chain:
    return Vault(folder).chain(Recipe(names=("www.lab.test",), stapled=True, ocsp_url="http://ca.lab.test/ocsp"))


def test_an_answer_says_from_when_to_when_it_holds(tmp_path: Path) -> None:
    chain = stapled(tmp_path)
    assert chain.staple_file is not None
    word, begins, ends = read_staple(chain.staple_file.read_bytes(), chain.sent[0])
    assert word is StapleWord.GOOD
    assert begins is not None
    assert ends is not None
    assert abs(begins - datetime.now(UTC) + timedelta(days=1)) < timedelta(hours=1)
    assert abs(ends - datetime.now(UTC) - timedelta(days=6)) < timedelta(hours=1)


@pytest.mark.parametrize("status", list(ocsp.OCSPCertStatus))
def test_an_answer_says_what_the_authority_thinks_of_the_leaf(status: ocsp.OCSPCertStatus) -> None:
    said = read_staple(make_staple(_LEAF, _ISSUER, status=status), _DER)
    assert said.word is StapleWord(status.name.lower())


def test_an_answer_on_another_certificate_says_nothing_of_this_one() -> None:
    other = make_leaf(LeafWish(names=("www.lab.test",)), _ISSUER).certificate
    assert read_staple(make_staple(other, _ISSUER), _DER) == Staple(StapleWord.NOTHING)


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
    assert read_staple(refusal.public_bytes(Encoding.DER), _DER) == Staple(word)


@given(st.binary(max_size=300))
def test_garbage_vouches_for_nobody(garbage: bytes) -> None:
    assert read_staple(garbage, _DER).word is not StapleWord.GOOD


@given(st.binary(max_size=300))
def test_nothing_can_be_said_of_what_is_no_certificate(garbage: bytes) -> None:
    assert read_staple(make_staple(_LEAF, _ISSUER), garbage) == Staple(StapleWord.NOTHING)


def test_more_than_any_authority_says_is_not_read() -> None:
    assert read_staple(b"\x30" * 100_000, _DER) == Staple()
