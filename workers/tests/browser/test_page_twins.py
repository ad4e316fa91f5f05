"""Pairs of pages in a real Chromium: one with a fault, and the same with one thing changed. The fault is told of the
first alone, and what it is said to cost is what the second gains.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import pytest

from workers.measurement.finding import FindingId
from workers.measurement.messages import PageMeasurement
from workers.measurement.waterfall import Blocking
from workers.tests.browser.conftest import Load, measured
from workers.tests.browser.sites import picture
from workers.tests.browser.slow_site import Slow, noise, slowly_serving
from workers.tests.diagnosis.page_sketch import told
from workers.tests.second_tries import measured_again
from workers.tests.waiting import undisturbed

# A saving is the difference that was measured, within a fifth, and what a busy machine adds to a paint.
SHARE, JITTER_US = 0.2, 40_000
# A busy machine only ever adds: the quickest load of each is compared, and more are made until they agree.
LOADS, ROUNDS = 2, 10
_HEAD = "<!doctype html><title>Twin</title>"
_TEXT = "<h1>Hello</h1><p>Words to be painted first.</p>"
_KEPT = (("Cache-Control", "max-age=31536000"),)
_HERO = Slow(body=picture(600, 400), kind="image/png", think_s=0.25, headers=_KEPT)


def html(head: str, body: str = _TEXT) -> Slow:
    return Slow(body=f"{_HEAD}{head}<body>{body}".encode(), headers=(("Cache-Control", "no-cache"),))


def styles(**how: object) -> Slow:
    values: dict[str, object] = {"body": b"body { color: #222 }", "kind": "text/css", "headers": _KEPT} | how
    return Slow(**values)  # type: ignore[arg-type]  # by name


def _late_script() -> Slow:
    adds = "document.body.append(Object.assign(new Image(), { src: '/hero.png', width: 600, height: 400 }))"
    return Slow(body=adds.encode(), kind="text/javascript", think_s=0.4, headers=_KEPT)


# Rules of gzip: words that are never the same, and yet letters alone.
_LONG = " ".join(f".a{number * 7919 % 99991} {{ color: #{number * 104729 % 4096:03x} }}" for number in range(12_000))
_LINE = 400_000
_LASTING = f"{_TEXT}<!-- {'x' * 12_000} -->"  # for 200 ms after its words
_IMPORT = b"@import '/b.css';"
_FACE = b"@font-face { font-family: F; src: url(%s/f.woff2) } body { font-family: F }"
_FONT = Slow(body=b"x" * 3000, kind="font/woff2", think_s=0.1, headers=(*_KEPT, ("Access-Control-Allow-Origin", "*")))
_SLOW_STYLES = styles(think_s=0.35)
# One with five times the width at which it is shown, one with twice: so many a dense screen needs.
_BIG = Slow(body=noise(1500, 1000), kind="image/png", bytes_per_s=2_000_000, headers=_KEPT)
_FIT = Slow(body=noise(600, 400), kind="image/png", bytes_per_s=2_000_000, headers=_KEPT)
_SLOW_SCRIPT = Slow(body=b"window.ran = true", kind="text/javascript", think_s=0.35, headers=_KEPT)
_PLACE, _SOON = "<img src=/hero.png width=600 height=400>", replace(_HERO, think_s=0.05)
_MOVED = "<img src=/moved.png width=600 height=400 loading=%s>"
_MOVING = {
    "/a.js": _SLOW_SCRIPT,
    "/hero.png": _SOON,
    "/moved.png": Slow(body=b"", status=302, think_s=0.1, headers=(("Location", "/hero.png"),)),
}
_BACK, _PRELOADED = "<div id=back></div>", "<link rel=preload as=image href=/hero.png fetchpriority=high>"
_BACKING = {
    "/a.css": styles(body=b"#back { width: 600px; height: 400px; background: url(/hero.png) }", think_s=0.35),
    "/hero.png": replace(_HERO, think_s=0.2),
}
_MAKES = b"document.getElementById('app').innerHTML = '<h1>Made</h1>'"
_MAKING = replace(_SLOW_SCRIPT, body=_MAKES)
_LATER = b"document.addEventListener('DOMContentLoaded', () => { %s })"
_APPLICATION = {
    "/": html("<link rel=stylesheet href=/a.css><script src=/a.js defer></script>", "<div id=app></div>"),
    "/a.js": replace(_MAKING, think_s=0.1),
}


def _in_pieces(body: str) -> Slow:
    """The body comes with the second piece, 100 ms after the first."""
    return Slow(body=f"{_HEAD}<body><!-- {'x' * 6_000} -->{body}".encode(), bytes_per_s=60_000)


_SCRIPT = replace(_SLOW_SCRIPT, think_s=0.1)


def _halved(head: str) -> Slow:
    """Picture and script come 200 ms after the words."""
    body = f"{_TEXT}<!-- {'x' * 12_000} --><script src=/a.js></script>{_PLACE}"
    return Slow(body=f"{_HEAD}{head}<body>{body}".encode(), bytes_per_s=60_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """`paint` is what the repair makes sooner."""

    id: FindingId
    faulty: Mapping[str, Slow]
    repaired: Mapping[str, Slow]
    paint: Callable[[PageMeasurement], int | None]
    handshake_s: float = 0.0


def _fcp(page: PageMeasurement) -> int | None:
    return page.vitals.fcp_us


def _lcp(page: PageMeasurement) -> int | None:
    return page.vitals.lcp_us


_SHADOW = f"<x-a><template shadowrootmode=open>{_TEXT}</template></x-a>"
_STYLED = "<link rel=stylesheet href=/a.css media=%s>"
_BESIDE = f"{_STYLED}<script src=/a.js async></script>"


PAIRS = {
    "render-blocking": Pair(
        id=FindingId.PAGE_RENDER_BLOCKING,
        faulty={"/": html("<link rel=stylesheet href=/a.css>"), "/a.css": _SLOW_STYLES},
        repaired={"/": html("<link rel=stylesheet href=/a.css media=print>"), "/a.css": _SLOW_STYLES},
        paint=_fcp,
    ),
    "render-blocking for longer than a document in pieces comes": Pair(
        id=FindingId.PAGE_RENDER_BLOCKING,
        faulty={"/": replace(html(_STYLED % "all", _LASTING), bytes_per_s=60_000), "/a.css": _SLOW_STYLES},
        repaired={"/": replace(html(_STYLED % "print", _LASTING), bytes_per_s=60_000), "/a.css": _SLOW_STYLES},
        paint=_fcp,
    ),
    "render-blocking ahead of a picture alone": Pair(
        id=FindingId.PAGE_RENDER_BLOCKING,
        faulty={"/": html("<link rel=stylesheet href=/a.css>", _PLACE), "/a.css": _SLOW_STYLES, "/hero.png": _SOON},
        repaired={"/": html("", _PLACE), "/hero.png": _SOON},
        paint=_fcp,
    ),
    "render-blocking ahead of the words of a shadow root": Pair(
        id=FindingId.PAGE_RENDER_BLOCKING,
        faulty={"/": html(_BESIDE % "all", _SHADOW), "/a.css": _SLOW_STYLES, "/a.js": replace(_SCRIPT, think_s=0.3)},
        repaired={"/": html(_BESIDE % "print", _SHADOW), "/a.css": _SLOW_STYLES, "/a.js": _SCRIPT},
        paint=_fcp,
    ),
    "late largest picture": Pair(
        id=FindingId.PAGE_LCP_LATE,
        faulty={"/": html("<script src=/late.js defer></script>"), "/late.js": _late_script(), "/hero.png": _HERO},
        repaired={
            "/": html("<link rel=preload as=image href=/hero.png>", f"{_TEXT}<img src=/hero.png width=600 height=400>"),
            "/hero.png": _HERO,
        },
        paint=_lcp,
    ),
    "compression": Pair(
        id=FindingId.PAGE_UNCOMPRESSED,
        faulty={
            "/": html("<link rel=stylesheet href=/a.css>"),
            "/a.css": styles(body=_LONG.encode(), bytes_per_s=_LINE),
        },
        repaired={
            "/": html("<link rel=stylesheet href=/a.css>"),
            "/a.css": styles(body=_LONG.encode(), bytes_per_s=_LINE, compressed=True),
        },
        paint=_fcp,
    ),
    "compression ahead of an import": Pair(
        id=FindingId.PAGE_UNCOMPRESSED,
        faulty={
            "/": html("<link rel=stylesheet href=/a.css>"),
            "/a.css": styles(body=_IMPORT + _LONG.encode(), bytes_per_s=_LINE),
            "/b.css": styles(think_s=0.1),
        },
        repaired={
            "/": html("<link rel=stylesheet href=/a.css>"),
            "/a.css": styles(body=_IMPORT + _LONG.encode(), bytes_per_s=_LINE, compressed=True),
            "/b.css": styles(think_s=0.1),
        },
        paint=_fcp,
    ),
    "a host of its own": Pair(
        id=FindingId.PAGE_EXTRA_HOSTS_AND_LOST_MUX,
        faulty={"/": html("<link rel=stylesheet href=//other.localhost:PORT/a.css>"), "/a.css": styles()},
        repaired={"/": html("<link rel=stylesheet href=/a.css>"), "/a.css": styles()},
        paint=_fcp,
        handshake_s=0.3,
    ),
    "a font of another host": Pair(
        id=FindingId.PAGE_PRECONNECT_MISSING,
        faulty={
            "/": html("<link rel=stylesheet href=/a.css>"),
            "/a.css": styles(body=_FACE % b"//other.localhost:PORT", think_s=0.3),
            "/f.woff2": _FONT,
        },
        repaired={
            "/": html("<link rel=stylesheet href=/a.css>"),
            "/a.css": styles(body=_FACE % b"", think_s=0.3),
            "/f.woff2": _FONT,
        },
        paint=_lcp,
        handshake_s=0.2,
    ),
    "a redirect": Pair(
        id=FindingId.HTTP_REDIRECT_COST,
        faulty={
            "/": Slow(body=b"", status=302, think_s=0.3, headers=(("Location", "/page"),)),
            "/page": html("<style>p { color: #222 }</style>"),
        },
        repaired={"/": html("<style>p { color: #222 }</style>")},
        paint=_fcp,
    ),
    "a document that leads elsewhere": Pair(
        id=FindingId.HTTP_REDIRECT_COST,
        faulty={
            "/": Slow(body=b"<script>location.replace('/page')</script>", think_s=0.3),
            "/page": html("<style>p { color: #222 }</style>"),
        },
        repaired={"/": html("<style>p { color: #222 }</style>")},
        paint=_fcp,
    ),
    "a style sheet that comes later than the script that makes the page": Pair(
        id=FindingId.PAGE_RENDER_BLOCKING,
        faulty=_APPLICATION | {"/a.css": _SLOW_STYLES},
        repaired=_APPLICATION | {"/a.css": styles()},
        paint=_fcp,
    ),
    "a style sheet that is preloaded": Pair(
        id=FindingId.PAGE_RENDER_BLOCKING,
        faulty={"/": html("<link rel='preload stylesheet' as=style href=/a.css>"), "/a.css": _SLOW_STYLES},
        repaired={"/": html("<link rel=preload as=style href=/a.css>"), "/a.css": _SLOW_STYLES},
        paint=_fcp,
    ),
    "a script ahead of the first words": Pair(
        id=FindingId.PAGE_RENDER_BLOCKING,
        faulty={"/": html("", f"<script src=/a.js></script>{_TEXT}"), "/a.js": _SLOW_SCRIPT},
        repaired={"/": html("", f"<script src=/a.js defer></script>{_TEXT}"), "/a.js": _SLOW_SCRIPT},
        paint=_fcp,
    ),
    "a style sheet ahead of the first words": Pair(
        id=FindingId.PAGE_RENDER_BLOCKING,
        faulty={"/": html("", f"<link rel=stylesheet href=/a.css>{_TEXT}"), "/a.css": _SLOW_STYLES},
        repaired={"/": html("", f"<link rel=stylesheet href=/a.css media=print>{_TEXT}"), "/a.css": _SLOW_STYLES},
        paint=_fcp,
    ),
    "a stranger's script ahead of the first words, in a document that comes in pieces": Pair(
        id=FindingId.PAGE_THIRD_PARTY_BLOCKING,
        faulty={"/": _in_pieces(f"<script src=//127.0.0.1:PORT/a.js></script>{_TEXT}"), "/a.js": _SLOW_SCRIPT},
        repaired={"/": _in_pieces(f"<script src=//127.0.0.1:PORT/a.js async></script>{_TEXT}"), "/a.js": _SLOW_SCRIPT},
        paint=_fcp,
    ),
    "a script ahead of the largest picture": Pair(
        id=FindingId.PAGE_LCP_HELD,
        faulty={
            "/": html("", f"{_TEXT}<script src=/a.js></script>{_PLACE}"),
            "/a.js": _SLOW_SCRIPT,
            "/hero.png": _SOON,
        },
        repaired={
            "/": html("", f"{_TEXT}<script src=/a.js defer></script>{_PLACE}"),
            "/a.js": _SLOW_SCRIPT,
            "/hero.png": _SOON,
        },
        paint=_lcp,
    ),
    "a picture that loads lazily behind a script and a redirect": Pair(
        id=FindingId.PAGE_LCP_LATE,
        faulty={"/": html("", f"{_TEXT}<script src=/a.js></script>{_MOVED % 'lazy'}"), **_MOVING},
        repaired={"/": html("", f"{_TEXT}<script src=/a.js></script>{_MOVED % 'eager'}"), **_MOVING},
        paint=_lcp,
    ),
    "a background behind a style sheet of the body": Pair(
        id=FindingId.PAGE_LCP_LATE,
        faulty={"/": html("", f"{_TEXT}<link rel=stylesheet href=/a.css>{_BACK}"), **_BACKING},
        repaired={
            "/": html(_PRELOADED, f"{_TEXT}<link rel=stylesheet href=/a.css>{_BACK}"),
            **_BACKING,
        },
        paint=_lcp,
    ),
    "a picture behind a script in the second half of a document": Pair(
        id=FindingId.PAGE_LCP_LATE,
        faulty={"/": _halved(""), "/a.js": _SCRIPT, "/hero.png": _HERO},
        repaired={"/": _halved(_PRELOADED), "/a.js": _SCRIPT, "/hero.png": _HERO},
        paint=_lcp,
    ),
    "a picture larger than it is shown": Pair(
        id=FindingId.PAGE_IMAGE_OVERSIZED,
        faulty={"/": html("", f"{_TEXT}<img src=/big.png width=300 height=200>"), "/big.png": _BIG},
        repaired={"/": html("", f"{_TEXT}<img src=/fit.png width=300 height=200>"), "/fit.png": _FIT},
        paint=_lcp,
    ),
}


def loaded(load: Load, answers: Mapping[str, Slow], handshake_s: float) -> list[PageMeasurement]:
    with slowly_serving({}, handshake_s=handshake_s) as site:
        site.answers = at_port(answers, site.port)
        return [measured(load(site.url())) for _ in range(LOADS)]


def at_port(answers: Mapping[str, Slow], port: int) -> dict[str, Slow]:
    """With the site's own port where their bodies say PORT."""
    number = str(port).encode()
    return {path: replace(answer, body=answer.body.replace(b"PORT", number)) for path, answer in answers.items()}


def quickest(pair: Pair, pages: list[PageMeasurement]) -> PageMeasurement:
    return min(pages, key=lambda page: pair.paint(page) or math.inf)


@pytest.mark.parametrize("name", PAIRS)
def test_a_fault_costs_what_its_repair_gains(load: Load, name: str) -> None:
    pair = PAIRS[name]
    faulty: list[PageMeasurement] = []
    repaired: list[PageMeasurement] = []
    for _ in range(ROUNDS):
        faulty += loaded(load, pair.faulty, pair.handshake_s)
        repaired += loaded(load, pair.repaired, pair.handshake_s)
        found = told(quickest(pair, faulty), pair.id)
        saving_us = 0 if found is None else found.saving_us or 0
        gained_us = (pair.paint(quickest(pair, faulty)) or 0) - (pair.paint(quickest(pair, repaired)) or 0)
        if found is not None and abs(saving_us - gained_us) <= max(SHARE * gained_us, JITTER_US):
            break
        measured_again(f"{saving_us / 1000} ms are claimed, {gained_us / 1000} ms gained")
    assert not any(told(page, pair.id) for page in repaired)
    assert found is not None
    assert abs(saving_us - gained_us) <= max(SHARE * gained_us, JITTER_US)


_BLOCK = (FindingId.PAGE_RENDER_BLOCKING, FindingId.PAGE_THIRD_PARTY_BLOCKING)


@pytest.mark.parametrize(
    ("page", "script"),
    [
        (html("", f"{_TEXT}<script src=/a.js></script>"), _SLOW_SCRIPT),
        (html("", f"{_TEXT}<script src=/a.js></script>{_TEXT}"), _SLOW_SCRIPT),
        (_in_pieces(f"{_TEXT}<script src=/a.js></script>"), _SLOW_SCRIPT),
        (html("", "<div id=app></div><script src=/a.js></script>"), _MAKING),
        (_in_pieces("<div id=app></div><script src=/a.js></script>"), _MAKING),
        (html("", "<div id=app hidden>Words</div><script src=/a.js></script>"), _MAKING),
        (html("<script src=/a.js></script>", "<div id=app></div>"), replace(_MAKING, body=_LATER % _MAKES)),
        (html("", "<div id=app></div><script>document.write('<script src=/a.js><\\/script>')</script>"), _MAKING),
    ],
)
@undisturbed
def test_a_script_behind_what_is_painted_first_or_that_makes_it_holds_nothing_up(
    load: Load, page: Slow, script: Slow
) -> None:
    """Deferred, it would show the page no sooner."""
    (seen, *_) = loaded(load, {"/": page, "/a.js": script}, 0.0)
    asked = next(row for row in seen.waterfall.requests if row.url.endswith("/a.js"))
    assert asked.blocking in (Blocking.PARSER, Blocking.RENDERING)
    assert not any(told(seen, id) for id in _BLOCK)


@undisturbed
def test_a_style_sheet_that_comes_with_the_script_that_makes_a_page_holds_nothing_up(load: Load) -> None:
    """Within the document, it would show the page no sooner."""
    (seen, *_) = loaded(load, _APPLICATION | {"/a.css": _SLOW_STYLES, "/a.js": _MAKING}, 0.0)
    sheet = next(row for row in seen.waterfall.requests if row.url.endswith("/a.css"))
    assert sheet.blocking is Blocking.RENDERING
    assert not any(told(seen, id) for id in _BLOCK)


@pytest.mark.parametrize(
    ("head", "styles_body"),
    [
        ("<style>body { display: none }</style>", b"p { color: #222 }"),
        ("", b"body:not(.shown) { opacity: 0 }"),
        ("", b"@layer base { @media all { body:not(.shown) { opacity: 0 } } }"),
        ("<script>document.documentElement.style.visibility = 'hidden'</script>", b"p { color: #222 }"),
    ],
)
@undisturbed
def test_a_style_sheet_that_comes_with_the_script_that_uncovers_a_page_holds_nothing_up(
    load: Load, head: str, styles_body: bytes
) -> None:
    """Within the document, it would show the page no sooner."""
    shows = b"""
        document.documentElement.style.visibility = "";
        document.body.className = "shown";
        document.body.style.display = "block";
    """
    answers = {
        "/": html(f"{head}<script src=/a.js async></script><link rel=stylesheet href=/a.css>"),
        "/a.css": replace(_SLOW_STYLES, body=styles_body),
        "/a.js": replace(_SLOW_SCRIPT, body=shows, think_s=0.4),
    }
    (seen, *_) = loaded(load, answers, 0.0)
    assert seen.shows_from is None
    assert not any(told(seen, id) for id in _BLOCK)


@undisturbed
def test_a_style_sheet_that_comes_before_the_first_words_of_a_document_in_pieces_holds_nothing_up(load: Load) -> None:
    """The words come 400 ms after the head, the last piece 200 ms later."""
    body = f"<!-- {'x' * 24_000} -->{_TEXT}<!-- {'x' * 12_000} -->"
    page = Slow(body=f"{_HEAD}<link rel=stylesheet href=/a.css><body>{body}".encode(), bytes_per_s=60_000)
    (seen, *_) = loaded(load, {"/": page, "/a.css": styles(think_s=0.2)}, 0.0)
    sheet = next(row for row in seen.waterfall.requests if row.url.endswith("/a.css"))
    assert seen.words_us is not None
    assert seen.words_us > (sheet.timing.end_us or 0)
    assert not any(told(seen, id) for id in _BLOCK)
