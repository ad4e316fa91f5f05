import lzma
import random
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from itertools import accumulate, pairwise
from pathlib import Path

import pytest

from backend.runs import documents
from backend.runs.documents import DocumentError, pack, unpack
from backend.runs.tests.results import connection, probe
from backend.runs.tests.test_reading import RESULT
from workers.diagnosis.probe.diagnose import diagnose
from workers.diagnosis.sending import as_sent
from workers.measurement.connection import Header
from workers.measurement.finding import (
    Confidence,
    Diagnosis,
    Finding,
    FindingId,
    NotJudged,
    NotJudgedReason,
    Severity,
)
from workers.measurement.messages import Kind, Measured, PageMeasurement, ProbeMeasurement, RunResult
from workers.measurement.timing import Span, Timing
from workers.measurement.vitals import Vitals
from workers.measurement.waterfall import Request, ResourceType, TimingSource, Waterfall
from workers.measurement.wire import WireError, decode, encode
from workers.tests.diagnosis.path import Path as Way
from workers.tests.diagnosis.servers import Server, light


def test_a_document_gives_the_result_back_as_it_came() -> None:
    assert unpack(pack(encode(RESULT))) == RESULT


def newer(line: bytes, known: str, unknown: str) -> bytes:
    """What an agent sends that knows a word which this version does not."""
    assert known.encode() in line
    return line.replace(known.encode(), unknown.encode())


@pytest.mark.parametrize("known", ["page.render_blocking", "high", "medium", "needs_deep_probe"])
def test_a_cause_that_only_a_newer_agent_knows_keeps_nobody_from_reading_what_was_seen(known: str) -> None:
    seen = waterfall_of(3).measurement
    assert isinstance(seen, PageMeasurement)
    found = Finding(id=FindingId.PAGE_RENDER_BLOCKING, severity=Severity.HIGH, confidence=Confidence.MEDIUM)
    left = NotJudged(id=FindingId.PAGE_LCP_LATE, reason=NotJudgedReason.NEEDS_DEEP_PROBE)
    judged = replace(seen, diagnosis=Diagnosis(findings=(found,), not_judged=(left,)))
    line = encode(replace(RESULT, kind=Kind.PAGE, outcome=Measured(measurement=judged)))
    outcome = unpack(pack(newer(line, f'"{known}"', '"not_yet"'))).outcome
    assert outcome == Measured(measurement=seen)


def test_other_words_of_a_newer_agent_are_not_passed_over() -> None:
    line = encode(replace(RESULT, kind=Kind.PAGE, outcome=waterfall_of(3)))
    with pytest.raises(WireError):
        unpack(pack(newer(line, '"image"', '"hologram"')))


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
    assert len(pack(line)) < 800


def waterfall_of(count: int) -> Measured:
    """A page whose rows differ as those of a real one do: instants, sizes, names, an entity tag."""
    chance, at_us = random.Random(7), 0
    asked = tuple(Header(name=name, value=value) for name, value in ASKED.items())
    rows = []
    for number in range(1, count + 1):
        at_us += chance.randrange(4_000)
        edges = list(accumulate((chance.randrange(1, 40_000) for _ in range(4)), initial=at_us))[1:]
        spans = [Span(start_us=start, end_us=end) for start, end in pairwise(edges)]
        timing = Timing(start_us=at_us, end_us=edges[-1], send=spans[0], wait=spans[1], download=spans[2])
        told = (Header(name="Content-Length", value=str(size := chance.randrange(90_000))), *ANSWERED)
        row = Request(
            number=number,
            url=f"https://shop.example/assets/{chance.choice('abcdefgh')}-{number}.svg",
            method="GET",
            resource_type=ResourceType.IMAGE,
            timing=timing,
            timing_source=TimingSource.NETLOG,
            status=200,
            protocol="h2",
            connection=1,
            reused=True,
            transferred_bytes=size + 300,
            body_bytes=size,
            request_headers=asked,
            response_headers=told,
        )
        rows.append(row)
    waterfall = Waterfall(requests=tuple(rows), connections=(connection(),))
    return Measured(measurement=PageMeasurement(waterfall=waterfall, vitals=Vitals(fcp_us=300_000), document=1))


ASKED = {
    "Accept": "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8",
    "Accept-Encoding": "gzip, deflate, br, zstd",
    "Referer": "https://shop.example/",
    "Sec-Fetch-Dest": "image",
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0",
}
ANSWERED = (
    Header(name="Cache-Control", value="public, max-age=31536000"),
    Header(name="Content-Type", value="image/svg+xml"),
    Header(name="Date", value="Sat, 21 Nov 2026 16:56:52 GMT"),
    Header(name="Server", value="nginx"),
)


def test_a_waterfall_of_a_hundred_requests_takes_at_most_6_kb() -> None:
    line = encode(replace(RESULT, outcome=waterfall_of(100)))
    assert len(line) > 100_000
    assert len(pack(line)) <= 6 * 1024
    assert unpack(pack(line)).outcome == waterfall_of(100)


def test_documents_are_packed_by_several_threads_at_once() -> None:
    lines = [encode(replace(RESULT, attempt=attempt)) for attempt in range(1, 400)]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(pack, lines)) == [pack(line) for line in lines]


def of_zlib(line: bytes, number: int) -> bytes:
    """As versions before Zstandard packed what is small, and at first everything."""
    packer = zlib.compressobj(zdict=dictionary(f"{number}.json"))
    return packer.compress(line) + packer.flush()


def of_lzma(line: bytes) -> bytes:
    """As versions before Zstandard packed what is large."""
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 6, "lc": 2, "lp": 0, "pb": 0, "dict_size": 1 << 20}]
    return b"\x01" + lzma.compress(line, format=lzma.FORMAT_RAW, filters=filters)


def dictionary(name: str) -> bytes:
    return Path(documents.__file__).with_name(f"dictionary_{name}").read_bytes()


@pytest.mark.parametrize("packed", [of_lzma, lambda line: of_zlib(line, 1), lambda line: of_zlib(line, 2)])
def test_a_large_document_of_an_older_version_can_be_read(packed: Callable[[bytes], bytes]) -> None:
    result = replace(RESULT, outcome=waterfall_of(100))
    assert unpack(packed(encode(result))) == result


@pytest.mark.parametrize(("number", "checksum"), [(1, "c3fd95f6"), (2, "b98b656c")])
def test_what_zlib_packed_with_a_dictionary_can_be_read_for_ever(number: int, checksum: str) -> None:
    """Its checksum is in every document: a file that was changed would make all of them unreadable."""
    packed = of_zlib(encode(RESULT), number)
    assert packed[2:6].hex() == checksum
    assert unpack(packed) == RESULT


def test_the_dictionary_is_the_one_that_documents_were_packed_with() -> None:
    """No document tells that a changed file is not its own: it would be read as something else."""
    assert (
        sha256(dictionary("3.jsonl")).hexdigest() == "3973a211dd7885fee8b73efea8f45ee4fe79cca63276d5df146f270d52320ff0"
    )


def test_the_dictionary_holds_results_as_agents_send_them() -> None:
    kinds = [decode(line, RunResult).kind for line in dictionary("3.jsonl").splitlines()]
    assert kinds == [Kind.PAGE, Kind.PROBE]


PACKERS: dict[str, Callable[[bytes], bytes]] = {"zstd": pack, "lzma": of_lzma, "zlib": lambda line: of_zlib(line, 2)}
DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda packed: b"",
    "cut off": lambda packed: packed[:40],
    "cut off late": lambda packed: packed[: len(packed) - 9],
    "nonsense": lambda packed: packed[:1] + b"\xff" * 50,
    "of no form": lambda packed: b"damaged",
    "unknown dictionary": lambda packed: packed[:2] + b"none" + packed[6:],
}


@pytest.mark.parametrize("form", PACKERS)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_document_is_told_apart(form: str, damage: str) -> None:
    packed = PACKERS[form](encode(replace(RESULT, outcome=waterfall_of(100))))
    with pytest.raises((DocumentError, WireError)):
        unpack(DAMAGES[damage](packed))


def test_a_document_that_would_unpack_to_too_much_is_cut_and_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = pack(encode(RESULT))
    monkeypatch.setattr(documents, "_MAX_BYTES", 1_000)
    with pytest.raises(WireError):
        unpack(packed)
