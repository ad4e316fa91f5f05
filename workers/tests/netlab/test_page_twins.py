"""Pairs of pages from a real nginx over a way of some length: one lacks a setting, the other has it. What the first is
said to cost is what the second gains in a real Chromium.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import pytest

from workers.measurement.finding import Finding, FindingId
from workers.measurement.messages import PageMeasurement
from workers.measurement.page_options import PageState
from workers.tests.browser.slow_site import noise
from workers.tests.diagnosis.page_sketch import told
from workers.tests.netlab.page_sites import HOST, OTHER, PageSite, loaded, serving
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


def largest_paint_us(page: PageMeasurement) -> int:
    return page.vitals.lcp_us or 0


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
    """`paint_us` is what the repair makes sooner, `seen` what of a load its findings are told of, each for itself."""

    id: FindingId
    faulty: PageSite
    repaired: PageSite
    rtt_ms: int
    rate_kbit_s: int | None = None
    paint_us: Callable[[PageMeasurement], int] = first_paint_us
    seen: Sequence[Callable[[PageMeasurement], PageMeasurement]] = (as_it_is,)


def _over_http2(rtt_ms: int, faulty: PageSite, rate_kbit_s: int | None = None) -> Pair:
    repaired = replace(faulty, http2=True)
    id = FindingId.HTTP_H2_MISSING
    return Pair(id=id, faulty=faulty, repaired=repaired, rtt_ms=rtt_ms, rate_kbit_s=rate_kbit_s)


def _asked_again(size_bytes: int, policy: str, *seen: Callable[[PageMeasurement], PageMeasurement]) -> Pair:
    """A style sheet with that policy, and the same that may be kept for a year."""
    kept = replace(many_styles(1, size_bytes), http2=True, policies={"index.html": "no-cache"})
    asked = replace(kept, policies={"index.html": "no-cache", "0.css": policy})
    return Pair(id=FindingId.PAGE_UNCACHED, faulty=asked, repaired=kept, rtt_ms=80, paint_us=second_paint_us, seen=seen)


def _texts(count: int, size_bytes: int) -> PageSite:
    """So many style sheets of words that compression halves."""
    links = "".join(f"<link rel=stylesheet href={number}.css>" for number in range(count))
    texts = (_WORDS[number * size_bytes :][:size_bytes] for number in range(count))
    sheets = {f"{number}.css": f"p {{ color: #222 }} /* {text} */".encode() for number, text in enumerate(texts)}
    return PageSite(files={"index.html": page(links), **sheets})


def _picture_from(host: str) -> bytes:
    return page("<link rel=stylesheet href=a.css>", f"{_TEXT}<img src=//{host}/hero.png width=640 height=400>")


def _styled_from(host: str) -> bytes:
    return page(f"<link rel=stylesheet href=//{host}/a.css>", f"{_TEXT}<div hidden>{_WORDS[:100_000]}</div>")


def _with_font(head: str) -> PageSite:
    """Its text waits for a font of 20 kB that its style sheet names. The document is as large as most."""
    face = b"@font-face { font-family: F; src: url(f.woff2) } body { font-family: F }"
    document = page(f"{head}<link rel=stylesheet href=a.css>", f"{_TEXT}<div hidden>{_WORDS[:12_000]}</div>")
    return PageSite(files={"index.html": document, "a.css": face, "f.woff2": noise(200, 100)})


def _imported(first: bytes, second: bytes, *, names: Sequence[str]) -> PageSite:
    """Three style sheets of 6 kB, of which the document names some."""
    words = _WORDS[:6_000].encode()
    sheets = {"a.css": first, "b.css": second, "c.css": b"p { color: #222 }"}
    links = "".join(f"<link rel=stylesheet href={name}>" for name in names)
    files = {name: b"%s /* %s */" % (text, words) for name, text in sheets.items()}
    return PageSite(files={"index.html": page(links), **files})


def _with_background(head: str) -> PageSite:
    """A style sheet of 60 kB names the largest picture."""
    shown = b"#back { width: 640px; height: 400px; background: url(hero.png) } /* %s */" % _WORDS[:60_000].encode()
    document = page(f"{head}<link rel=stylesheet href=a.css>", f"{_TEXT}<div id=back></div>")
    return PageSite(files={"index.html": document, "a.css": shown, "hero.png": noise(400, 250)})


def _behind_styles(head: str, hero: bytes) -> PageSite:
    """The last of three style sheets of a TLS record each names the largest picture."""
    faulty = _texts(3, 13_000)
    shown = b"#back { width: 640px; height: 400px; background: url(hero.png) }" + faulty.files["2.css"]
    links = "".join(f"<link rel=stylesheet href={number}.css>" for number in range(3))
    document = page(head + links, f"{_TEXT}<div id=back></div>")
    return PageSite(files={**faulty.files, "index.html": document, "2.css": shown, "hero.png": hero})


def _shown_small(hero: bytes) -> PageSite:
    """A picture in a place of 160 pixels, beside a style sheet of 14 kB."""
    document = page("<link rel=stylesheet href=a.css>", f"{_TEXT}<img src=hero.png width=160 height=100>")
    sheet = b"p { color: #222 } /* %s */" % _WORDS[:13_900].encode()
    return PageSite(files={"index.html": document, "a.css": sheet, "hero.png": hero})


def _behind_words(head: str) -> PageSite:
    """The largest picture at the end of a document of 300 kB."""
    body = f"{_TEXT}<div hidden>{_WORDS[:300_000]}</div><img src=hero.png width=640 height=400>"
    return PageSite(files={"index.html": page(head, body), "hero.png": noise(400, 250)})


def _hinting(head: str) -> PageSite:
    """A picture beside a style sheet, and a script of 200 kB that the page itself does not name."""
    document = page(f"{head}<link rel=stylesheet href=a.css>", f"{_TEXT}<img src=hero.png width=640 height=400>")
    script = b"/* %s */" % _WORDS[:200_000].encode()
    return PageSite(files={"index.html": document, **_SHEET, "hero.png": noise(240, 160), "big.js": script})


def _gallery(word: str) -> PageSite:
    """Fourteen pictures ahead of the largest one."""
    ahead = "".join(f"<img src={number}.png width=200 height=140>" for number in range(14))
    document = page("", f"{_TEXT}{ahead}<p><img src=hero.png width=640 height=400{word}>")
    pictures = {f"{number}.png": noise(160, 120 + number) for number in range(14)}
    return PageSite(files={"index.html": document, "hero.png": noise(320, 240), **pictures})


_PRELOADED = "<link rel=preload as=image href=hero.png fetchpriority=high>"
_SHEET = {"a.css": b"p { color: #222 }"}
_PICTURE = noise(320, 200)
_WORDS = " ".join(str(number * 7919 % 99_991) for number in range(160_000))
_TWO_FLIGHTS = PageSite(
    files={
        "index.html": page("<link rel=stylesheet href=a.css>", f"{_TEXT}<div hidden>{_WORDS[:10_000] * 2}</div>"),
        "a.css": f"p {{ color: #222 }} /* {_WORDS[:10_000] * 2} */".encode(),
    },
)
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
    "eight files over HTTP/1.1 that fill a narrow line": _over_http2(150, many_styles(8, 30_000), 1_600),
    "seven large files, which HTTP/2 brings later": _over_http2(80, many_styles(7, 40_000)),
    "a large file of which is asked whether it has changed": _asked_again(
        60_000, "no-cache", as_it_is, without_second_view
    ),
    "a style sheet beside a document that is not compressed": Pair(
        id=FindingId.PAGE_UNCOMPRESSED,
        faulty=replace(_LONG, more="location = /index.html { gzip off; }"),
        repaired=_LONG,
        rtt_ms=80,
        rate_kbit_s=16_000,
    ),
    "a document and a style sheet of two flights each, far away": Pair(
        id=FindingId.PAGE_UNCOMPRESSED,
        faulty=_TWO_FLIGHTS,
        repaired=replace(_TWO_FLIGHTS, gzip=True),
        rtt_ms=150,
    ),
    "texts of a record each on a narrow line": Pair(
        id=FindingId.PAGE_UNCOMPRESSED,
        faulty=_texts(12, 13_500),
        repaired=replace(_texts(12, 13_500), gzip=True),
        rtt_ms=80,
        rate_kbit_s=1_600,
    ),
    "texts of two records each on a narrow line": Pair(
        id=FindingId.PAGE_UNCOMPRESSED,
        faulty=_texts(3, 30_000),
        repaired=replace(_texts(3, 30_000), gzip=True),
        rtt_ms=80,
        rate_kbit_s=1_600,
    ),
    "the largest picture on a host of its own": Pair(
        id=FindingId.PAGE_EXTRA_HOSTS_AND_LOST_MUX,
        faulty=PageSite(files={"index.html": _picture_from(OTHER), **_SHEET}, elsewhere={"hero.png": _PICTURE}),
        repaired=PageSite(files={"index.html": _picture_from(HOST), **_SHEET, "hero.png": _PICTURE}),
        rtt_ms=80,
        paint_us=largest_paint_us,
    ),
    "a style sheet on a host of its own beside a long document on a narrow line": Pair(
        id=FindingId.PAGE_EXTRA_HOSTS_AND_LOST_MUX,
        faulty=PageSite(files={"index.html": _styled_from(OTHER)}, elsewhere=_SHEET),
        repaired=PageSite(files={"index.html": _styled_from(HOST), **_SHEET}),
        rtt_ms=150,
        rate_kbit_s=1_600,
    ),
    "a font that a style sheet names": Pair(
        id=FindingId.PAGE_FONT_LATE,
        faulty=_with_font(""),
        repaired=_with_font("<link rel=preload as=font crossorigin href=f.woff2>"),
        rtt_ms=200,
        paint_us=largest_paint_us,
    ),
    "a background beside its style sheet on a narrow line": Pair(
        id=FindingId.PAGE_LCP_LATE,
        faulty=_with_background(""),
        repaired=_with_background(_PRELOADED),
        rtt_ms=150,
        rate_kbit_s=1_600,
        paint_us=largest_paint_us,
    ),
    "a background beside style sheets of a record each on a narrow line": Pair(
        id=FindingId.PAGE_LCP_LATE,
        faulty=_behind_styles("", _PICTURE),
        repaired=_behind_styles(_PRELOADED, _PICTURE),
        rtt_ms=80,
        rate_kbit_s=1_600,
        paint_us=largest_paint_us,
    ),
    "a background of two records behind style sheets of one each on a narrow line": Pair(
        id=FindingId.PAGE_LCP_LATE,
        faulty=_behind_styles("", noise(160, 120)),
        repaired=_behind_styles(_PRELOADED, noise(160, 120)),
        rtt_ms=80,
        rate_kbit_s=1_600,
        paint_us=largest_paint_us,
    ),
    "a picture larger than it is shown, beside a style sheet of one record on a narrow line": Pair(
        id=FindingId.PAGE_IMAGE_OVERSIZED,
        faulty=_shown_small(noise(800, 500)),
        repaired=_shown_small(noise(320, 200)),
        rtt_ms=80,
        rate_kbit_s=1_600,
        paint_us=largest_paint_us,
    ),
    "a picture at the end of a long document on a narrow line": Pair(
        id=FindingId.PAGE_LCP_LATE,
        faulty=_behind_words(""),
        repaired=_behind_words(_PRELOADED),
        rtt_ms=150,
        rate_kbit_s=1_600,
        paint_us=largest_paint_us,
    ),
    "style sheets that import others": Pair(
        id=FindingId.PAGE_CSS_IMPORT,
        faulty=_imported(b"@import 'b.css';", b"@import 'c.css';", names=("a.css",)),
        repaired=_imported(b"", b"", names=("a.css", "b.css", "c.css")),
        rtt_ms=80,
    ),
    "a script that is preloaded and never used, on a narrow line": Pair(
        id=FindingId.PAGE_PRELOAD_UNUSED,
        faulty=_hinting("<link rel=preload as=script href=big.js>"),
        repaired=_hinting(""),
        rtt_ms=80,
        rate_kbit_s=1_600,
        paint_us=largest_paint_us,
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
        gained_us = max(0, pair.paint_us(quickest) - min(map(pair.paint_us, repaired)))
        claims = [told(seen(quickest), pair.id) for seen in pair.seen]
        if all(_is_right(claim, gained_us) for claim in claims):
            break
        measured_again(f"{[claim and claim.saving_us for claim in claims]} us are claimed, {gained_us} us gained")
    assert not any(told(seen(page), pair.id) for page in repaired for seen in pair.seen)
    assert all(_is_right(claim, gained_us) for claim in claims)


def test_a_largest_picture_that_comes_among_others_gains_by_being_called_urgent(lab: ShapeLab) -> None:
    """How much is the server's affair; nginx brings it in less than half of the time."""
    lab.lab.shape(rtt_us=80_000, down_kbit_s=1_600)
    paints = []
    for word, is_told in (("", False), (" fetchpriority=high", True)):
        with serving(lab, _gallery(word)):
            seen = loaded(lab)
        paints.append(largest_paint_us(seen))
        assert (told(seen, FindingId.PAGE_LCP_BEHIND) is None) is is_told
    assert paints[0] - paints[1] > 200_000


def _is_right(claim: Finding | None, gained_us: int) -> bool:
    return claim is not None and abs((claim.saving_us or 0) - gained_us) <= max(SHARE * gained_us, JITTER_US)
