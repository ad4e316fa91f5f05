"""Until when an OCSP answer holds, whatever a server sends as one."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import ocsp
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.compute.staple import staple_end
from workers.tests.netlab.chains import Recipe, Vault


def test_an_answer_says_when_it_ends(tmp_path: Path) -> None:
    recipe = Recipe(names=("www.lab.test",), stapled=True, ocsp_url="http://ca.lab.test/ocsp")
    chain = Vault(tmp_path).chain(recipe)
    assert chain.staple_file is not None
    ends = staple_end(chain.staple_file.read_bytes())
    assert ends is not None
    assert abs(ends - datetime.now(UTC) - timedelta(days=6)) < timedelta(hours=1)


def test_an_answer_that_refuses_to_say_has_no_end() -> None:
    refusal = ocsp.OCSPResponseBuilder.build_unsuccessful(ocsp.OCSPResponseStatus.TRY_LATER)
    assert staple_end(refusal.public_bytes(Encoding.DER)) is None


@given(st.binary(max_size=300))
def test_garbage_has_no_end(garbage: bytes) -> None:
    assert staple_end(garbage) is None


def test_more_than_any_authority_says_is_not_read() -> None:
    assert staple_end(b"\x30" * 100_000) is None
