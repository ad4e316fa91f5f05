"""Pairs of pages from a real nginx over a way of some length: one lacks a setting, the other has it. What the first is
said to cost is what the second gains in a real Chromium.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest

from workers.measurement.finding import FindingId
from workers.measurement.messages import PageMeasurement
from workers.measurement.page_options import PageState
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


def first_paint_us(page: PageMeasurement) -> int:
    return page.vitals.fcp_us or 0


def second_paint_us(page: PageMeasurement) -> int:
    """The first paint of whoever comes again."""
    return 0 if page.repeat is None else page.repeat.vitals.fcp_us or 0


def as_it_is(page: PageMeasurement) -> PageMeasurement:
    return page


def without_second_view(page: PageMeasurement) -> PageMeasurement:
    """What is said where nobody looked at one."""
    return replace(page, repeat=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """`paint_us` is what the repair makes sooner, `seen` what of a load its findings are told of."""

    id: FindingId
    faulty: PageSite
    repaired: PageSite
    rtt_ms: int
    rate_kbit_s: int | None = None
    paint_us: Callable[[PageMeasurement], int] = first_paint_us
    seen: Callable[[PageMeasurement], PageMeasurement] = as_it_is


def _over_http2(rtt_ms: int, faulty: PageSite) -> Pair:
    repaired = replace(faulty, http2=True)
    return Pair(id=FindingId.HTTP_H2_MISSING, faulty=faulty, repaired=repaired, rtt_ms=rtt_ms)


def _asked_again(size_bytes: int, policy: str, seen: Callable[[PageMeasurement], PageMeasurement] = as_it_is) -> Pair:
    """A style sheet with that policy, and the same that may be kept for a year."""
    kept = replace(many_styles(1, size_bytes), http2=True, policies={"index.html": "no-cache"})
    asked = replace(kept, policies={"index.html": "no-cache", "0.css": policy})
    return Pair(id=FindingId.PAGE_UNCACHED, faulty=asked, repaired=kept, rtt_ms=80, paint_us=second_paint_us, seen=seen)


_WORDS = " ".join(str(number * 7919 % 99_991) for number in range(160_000))
_LONG = PageSite(
    files={
        "index.html": page("<link rel=stylesheet href=a.css>", f"{_TEXT}<div hidden>{_WORDS[:900_000]}</div>"),
        "a.css": f"p {{ color: #222 }} /* {_WORDS[-100_000:]} */".encode(),
    },
    http2=False,
    gzip=True,
)


PAIRS = {
    "four small files over HTTP/1.1": _over_http2(80, many_styles(4, 500)),
    "twenty-four small files over HTTP/1.1": _over_http2(80, many_styles(24, 500)),
    "twenty-four files over HTTP/1.1, far away": _over_http2(200, many_styles(24, 6_000)),
    "seven large files, which HTTP/2 brings later": _over_http2(80, many_styles(7, 40_000)),
    "a large file of which is asked whether it has changed": _asked_again(60_000, "no-cache"),
    "the same where nobody looked at a second view": _asked_again(60_000, "no-cache", without_second_view),
    "a style sheet beside a document that is not compressed": Pair(
        id=FindingId.PAGE_UNCOMPRESSED,
        faulty=replace(_LONG, more="location = /index.html { gzip off; }"),
        repaired=_LONG,
        rtt_ms=80,
        rate_kbit_s=16_000,
    ),
    "a large file that is never kept": _asked_again(60_000, "no-store", without_second_view),
}


@pytest.fixture(scope="module")
def lab() -> Iterator[ShapeLab]:
    with shape_lab() as lab:
        yield lab


def loads(lab: ShapeLab, pair: Pair, site: PageSite) -> list[PageMeasurement]:
    repeat = PageState.WARM_CACHE if pair.paint_us is second_paint_us else None
    with serving(lab, site):
        return [loaded(lab, repeat) for _ in range(LOADS)]


@pytest.mark.parametrize("name", PAIRS)
def test_a_fault_costs_what_its_repair_gains(lab: ShapeLab, name: str) -> None:
    pair = PAIRS[name]
    lab.lab.shape(rtt_us=pair.rtt_ms * 1000, down_kbit_s=pair.rate_kbit_s)
    faulty: list[PageMeasurement] = []
    repaired: list[PageMeasurement] = []
    for _ in range(ROUNDS):
        faulty += loads(lab, pair, pair.faulty)
        repaired += loads(lab, pair, pair.repaired)
        quickest = min(faulty, key=pair.paint_us)
        found = told(pair.seen(quickest), pair.id)
        saving_us = 0 if found is None else found.saving_us or 0
        gained_us = max(0, pair.paint_us(quickest) - min(map(pair.paint_us, repaired)))
        if found is not None and abs(saving_us - gained_us) <= max(SHARE * gained_us, JITTER_US):
            break
        measured_again(f"{saving_us / 1000} ms are claimed, {gained_us / 1000} ms gained")
    assert not any(told(pair.seen(page), pair.id) for page in repaired)
    assert found is not None
    assert abs(saving_us - gained_us) <= max(SHARE * gained_us, JITTER_US)
