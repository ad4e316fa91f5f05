import zlib

import pytest

from backend.runs.documents import DocumentError, pack, unpack
from backend.runs.tests.test_reading import RESULT
from workers.measurement.wire import WireError, encode


def test_a_document_gives_the_result_back_as_it_came() -> None:
    assert unpack(pack(encode(RESULT))) == RESULT


def test_the_dictionary_makes_a_probe_small() -> None:
    line = encode(RESULT)
    assert len(pack(line)) < len(zlib.compress(line)) / 2


def test_what_was_compressed_with_the_first_dictionary_can_be_read_for_ever() -> None:
    """Its checksum is in every document: a file that was changed would make all of them unreadable."""
    assert pack(b"")[2:6].hex() == "c3fd95f6"


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
