import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from backend.runs import documents
from backend.runs.documents import DocumentError, pack, unpack
from backend.runs.tests.results import probe
from backend.runs.tests.test_reading import RESULT
from workers.diagnosis.diagnose import diagnose
from workers.diagnosis.sending import as_sent
from workers.measurement.messages import Measured, ProbeMeasurement
from workers.measurement.wire import WireError, encode
from workers.tests.diagnosis.path import Path as Way
from workers.tests.diagnosis.servers import Server, light


def test_a_document_gives_the_result_back_as_it_came() -> None:
    assert unpack(pack(encode(RESULT))) == RESULT


def test_the_dictionary_makes_a_probe_small() -> None:
    line = encode(RESULT)
    assert len(pack(line)) < 0.6 * len(zlib.compress(line))


def test_evidence_does_not_make_a_probe_large() -> None:
    seen = probe().measurement
    assert isinstance(seen, ProbeMeasurement)
    evidence = light(Way(), Server())
    judged = replace(seen, evidence=evidence, diagnosis=diagnose(evidence, seen.hops))
    line = encode(replace(RESULT, outcome=as_sent(Measured(measurement=judged))))
    assert len(line) > 5_000
    assert len(pack(line)) < 1_000


@pytest.mark.parametrize(("number", "checksum"), [(1, "c3fd95f6"), (2, "b98b656c")])
def test_what_was_compressed_with_a_dictionary_can_be_read_for_ever(number: int, checksum: str) -> None:
    """Its checksum is in every document: a file that was changed would make all of them unreadable."""
    dictionary = Path(documents.__file__).with_name(f"dictionary_{number}.json").read_bytes()
    packer = zlib.compressobj(zdict=dictionary)
    packed = packer.compress(encode(RESULT)) + packer.flush()
    assert packed[2:6].hex() == checksum
    assert unpack(packed) == RESULT


@pytest.mark.parametrize(
    "damage",
    [
        lambda packed: b"",
        lambda packed: packed[:40],
        lambda packed: b"damaged",
        lambda packed: packed[:2] + b"none" + packed[6:],
    ],
    ids=["empty", "cut off", "no zlib", "unknown dictionary"],
)
def test_a_damaged_document_is_told_apart(damage: object) -> None:
    assert callable(damage)
    with pytest.raises((DocumentError, WireError)):
        unpack(damage(pack(encode(RESULT))))
