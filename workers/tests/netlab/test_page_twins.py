"""Pairs of pages from a real nginx over a way of some length: one lacks a setting, the other has it. What the first is
said to cost is what the second gains in a real Chromium.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from workers.measurement.finding import FindingId
from workers.measurement.messages import PageMeasurement
from workers.tests.diagnosis.page_sketch import told
from workers.tests.netlab.page_sites import PageSite, loaded, serving
from workers.tests.second_tries import measured_again
from workers.tests.shapes.browsing import ShapeLab, shape_lab

# A saving is the difference that was measured, within a fifth, and what a busy machine adds to a paint.
SHARE, JITTER_US = 0.2, 40_000
# A busy machine only ever adds: the quickest load of each is compared, and more are made until they agree.
LOADS, ROUNDS = 2, 8
_HEAD = '<!doctype html><title>Twin</title><link rel="icon" href="data:,">'
_TEXT = "<h1>Hello</h1><p>Words to be painted first.</p>"


def page(head: str, body: str = _TEXT) -> bytes:
    return f"{_HEAD}{head}<body>{body}".encode()


def many_styles(count: int, size_bytes: int) -> PageSite:
    """So many style sheets in the head over HTTP/1.1, of words that come compressed as they are."""
    links = "".join(f"<link rel=stylesheet href={number}.css>" for number in range(count))
    text = b"p { color: #222 }".ljust(size_bytes)
    return PageSite(files={"index.html": page(links)} | {f"{number}.css": text for number in range(count)}, http2=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    id: FindingId
    faulty: PageSite
    repaired: PageSite
    rtt_ms: int


def _over_http2(rtt_ms: int, faulty: PageSite) -> Pair:
    return Pair(id=FindingId.HTTP_H2_MISSING, faulty=faulty, repaired=replace(faulty, http2=True), rtt_ms=rtt_ms)


PAIRS = {
    "seven small files over HTTP/1.1": _over_http2(80, many_styles(7, 500)),
    "twenty-four small files over HTTP/1.1": _over_http2(80, many_styles(24, 500)),
    "twelve files over HTTP/1.1, far away": _over_http2(200, many_styles(12, 3_000)),
    "twenty-four files over HTTP/1.1, far away": _over_http2(200, many_styles(24, 8_000)),
    "seven large files, which HTTP/2 brings later": _over_http2(80, many_styles(7, 40_000)),
}


@pytest.fixture(scope="module")
def lab() -> Iterator[ShapeLab]:
    with shape_lab() as lab:
        yield lab


def loads(lab: ShapeLab, site: PageSite) -> list[PageMeasurement]:
    with serving(lab, site):
        return [loaded(lab) for _ in range(LOADS)]


def quickest(pages: list[PageMeasurement]) -> PageMeasurement:
    return min(pages, key=lambda page: page.vitals.fcp_us or 0)


@pytest.mark.parametrize("name", PAIRS)
def test_a_fault_costs_what_its_repair_gains(lab: ShapeLab, name: str) -> None:
    pair = PAIRS[name]
    lab.lab.shape(rtt_us=pair.rtt_ms * 1000)
    faulty: list[PageMeasurement] = []
    repaired: list[PageMeasurement] = []
    for _ in range(ROUNDS):
        faulty += loads(lab, pair.faulty)
        repaired += loads(lab, pair.repaired)
        found = told(quickest(faulty), pair.id)
        saving_us = 0 if found is None else found.saving_us or 0
        gained_us = max(0, (quickest(faulty).vitals.fcp_us or 0) - (quickest(repaired).vitals.fcp_us or 0))
        if found is not None and abs(saving_us - gained_us) <= max(SHARE * gained_us, JITTER_US):
            break
        measured_again(f"{saving_us / 1000} ms are claimed, {gained_us / 1000} ms gained")
    assert not any(told(page, pair.id) for page in repaired)
    assert found is not None
    assert abs(saving_us - gained_us) <= max(SHARE * gained_us, JITTER_US)
