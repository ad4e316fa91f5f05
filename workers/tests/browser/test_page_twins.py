"""Pairs of pages in a real Chromium: one with a fault, and the same with one thing changed. The fault is told of the
first alone, and what it is said to cost is what the second gains.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import pytest

from workers.measurement.finding import FindingId
from workers.measurement.messages import PageMeasurement
from workers.tests.browser.conftest import Load
from workers.tests.browser.sites import picture
from workers.tests.browser.slow_site import Slow, noise
from workers.tests.browser.twin_pages import (
    APPLICATION,
    HEAD,
    JITTER_US,
    KEPT,
    MAKES,
    ROUNDS,
    SLOW_SCRIPT,
    SLOW_STYLES,
    TEXT,
    html,
    in_pieces,
    loaded,
    styles,
)
from workers.tests.diagnosis.page_sketch import told
from workers.tests.second_tries import measured_again

# A saving is the difference that was measured, within a fifth, or what a busy machine adds to a paint.
SHARE = 0.2
_HERO = Slow(body=picture(600, 400), kind="image/png", think_s=0.25, headers=KEPT)


def _late_script() -> Slow:
    adds = "document.body.append(Object.assign(new Image(), { src: '/hero.png', width: 600, height: 400 }))"
    return Slow(body=adds.encode(), kind="text/javascript", think_s=0.4, headers=KEPT)


def _made(
    shown: str = "", *, script_s: float, data_s: float | None = None, document_s: float = 0, above: str = ""
) -> dict[str, Slow]:
    """A page that a script makes, or takes over where its document shows the same already."""
    makes = MAKES if data_s is None else b"fetch('/data').then(() => { %s })" % MAKES
    return {
        "/": replace(
            html("<script src=/a.js defer></script>", f"{above}<div id=app>{shown}</div>"), think_s=document_s
        ),
        "/a.js": replace(SLOW_SCRIPT, body=makes, think_s=script_s),
        "/data": Slow(body=b"{}", kind="application/json", think_s=data_s or 0),
    }


def _asked(answers: dict[str, Slow]) -> dict[str, Slow]:
    """The same with the script of a stranger that asks for consent, in the largest text of all."""
    page, asks = answers["/"], f"document.body.insertAdjacentHTML('beforeend', '<p>{'We use cookies. ' * 40}</p>')"
    asking = replace(page, body=page.body + b"<script src=//127.0.0.1:PORT/q.js async></script>")
    return answers | {"/": asking, "/q.js": replace(SLOW_SCRIPT, body=asks.encode(), think_s=0.9)}


def _uncovered(style: str) -> dict[str, Slow]:
    """A page that is covered until a test of variants is there."""
    return {
        "/": html(f"<style>{style}</style><script src=/a.js async></script>"),
        "/a.js": replace(SLOW_SCRIPT, body=b"document.documentElement.style.opacity = 1"),
    }


# Rules of gzip: words that are never the same, and yet letters alone.
_LONG = " ".join(f".a{number * 7919 % 99991} {{ color: #{number * 104729 % 4096:03x} }}" for number in range(12_000))
_LINE = 400_000
_LASTING = f"{TEXT}<!-- {'x' * 12_000} -->"  # for 200 ms after its words
_IMPORT = b"@import '/b.css';"
_FACE = b"@font-face { font-family: F; src: url(%s/f.woff2) } body { font-family: F }"
_FONT = Slow(body=b"x" * 3000, kind="font/woff2", think_s=0.1, headers=(*KEPT, ("Access-Control-Allow-Origin", "*")))
_PRELOADED_FONT = "<link rel=preload as=font crossorigin href=/f.woff2>"


def _faced(display: str) -> str:
    """Styles of the document itself, whose font is shown so."""
    face = f"font-family: F; src: url(/f.woff2); font-display: {display}"
    return f"<style>@font-face {{ {face} }} body {{ font-family: F }}</style>"


def _lettered(head: str, host: bytes) -> dict[str, Slow]:
    """A page whose slow style sheet names a font of some host."""
    return {
        "/": html(f"{head}<link rel=stylesheet href=/a.css>"),
        "/a.css": styles(body=_FACE % host, think_s=0.3),
        "/f.woff2": _FONT,
    }


# One with five times the width at which it is shown, one with twice: so many a dense screen needs.
_BIG = Slow(body=noise(1500, 1000), kind="image/png", bytes_per_s=2_000_000, headers=KEPT)
_FIT = Slow(body=noise(600, 400), kind="image/png", bytes_per_s=2_000_000, headers=KEPT)
_PLACE, _SOON = "<img src=/hero.png width=600 height=400>", replace(_HERO, think_s=0.05)
_MOVED = "<img src=/moved.png width=600 height=400 loading=%s>"
_MOVING = {
    "/a.js": SLOW_SCRIPT,
    "/hero.png": _SOON,
    "/moved.png": Slow(body=b"", status=302, think_s=0.1, headers=(("Location", "/hero.png"),)),
}
_BACK, _PRELOADED = "<div id=back></div>", "<link rel=preload as=image href=/hero.png fetchpriority=high>"
_BACKING = {
    "/a.css": styles(body=b"#back { width: 600px; height: 400px; background: url(/hero.png) }", think_s=0.35),
    "/hero.png": replace(_HERO, think_s=0.2),
}
_SCRIPT = replace(SLOW_SCRIPT, think_s=0.1)


def _halved(head: str) -> Slow:
    """Picture and script come 200 ms after the words."""
    body = f"{TEXT}<!-- {'x' * 12_000} --><script src=/a.js></script>{_PLACE}"
    return Slow(body=f"{HEAD}{head}<body>{body}".encode(), bytes_per_s=60_000)


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


_SHADOW = f"<x-a><template shadowrootmode=open>{TEXT}</template></x-a>"
_STYLED = "<link rel=stylesheet href=/a.css media=%s>"
_BESIDE = f"{_STYLED}<script src=/a.js async></script>"


PAIRS = {
    "render-blocking": Pair(
        id=FindingId.PAGE_RENDER_BLOCKING,
        faulty={"/": html("<link rel=stylesheet href=/a.css>"), "/a.css": SLOW_STYLES},
        repaired={"/": html("<link rel=stylesheet href=/a.css media=print>"), "/a.css": SLOW_STYLES},
        paint=_fcp,
    ),
    "render-blocking for longer than a document in pieces comes": Pair(
        id=FindingId.PAGE_RENDER_BLOCKING,
        faulty={"/": replace(html(_STYLED % "all", _LASTING), bytes_per_s=60_000), "/a.css": SLOW_STYLES},
        repaired={"/": replace(html(_STYLED % "print", _LASTING), bytes_per_s=60_000), "/a.css": SLOW_STYLES},
        paint=_fcp,
    ),
    "render-blocking ahead of a picture alone": Pair(
        id=FindingId.PAGE_RENDER_BLOCKING,
        faulty={"/": html("<link rel=stylesheet href=/a.css>", _PLACE), "/a.css": SLOW_STYLES, "/hero.png": _SOON},
        repaired={"/": html("", _PLACE), "/hero.png": _SOON},
        paint=_fcp,
    ),
    "render-blocking ahead of the words of a shadow root": Pair(
        id=FindingId.PAGE_RENDER_BLOCKING,
        faulty={"/": html(_BESIDE % "all", _SHADOW), "/a.css": SLOW_STYLES, "/a.js": replace(_SCRIPT, think_s=0.3)},
        repaired={"/": html(_BESIDE % "print", _SHADOW), "/a.css": SLOW_STYLES, "/a.js": _SCRIPT},
        paint=_fcp,
    ),
    "a page that a script makes": Pair(
        id=FindingId.PAGE_CLIENT_RENDERED,
        faulty=_made(script_s=0.35),
        repaired=_made("<h1>Made</h1>", script_s=0.35),
        paint=_fcp,
    ),
    "a page that a script makes of what it fetches": Pair(
        id=FindingId.PAGE_CLIENT_RENDERED,
        faulty=_made(script_s=0.25, data_s=0.15),
        repaired=_made("<h1>Made</h1>", script_s=0.25, document_s=0.15),
        paint=_fcp,
    ),
    "a largest text that a script makes": Pair(
        id=FindingId.PAGE_CLIENT_RENDERED,
        faulty=_made(script_s=0.35, above="<p>Please wait</p>"),
        repaired=_made("<h1>Made</h1>", script_s=0.35, above="<p>Please wait</p>"),
        paint=_lcp,
    ),
    "a page that a script uncovers": Pair(
        id=FindingId.PAGE_CLIENT_RENDERED,
        faulty=_uncovered("html { opacity: 0 }"),
        repaired=_uncovered(""),
        paint=_fcp,
    ),
    "a page that a script makes below a stranger's question": Pair(
        id=FindingId.PAGE_CLIENT_RENDERED,
        faulty=_asked(_made(script_s=0.35)),
        repaired=_asked(_made("<h1>Made</h1>", script_s=0.35)),
        paint=_fcp,
    ),
    "late largest picture": Pair(
        id=FindingId.PAGE_LCP_LATE,
        faulty={"/": html("<script src=/late.js defer></script>"), "/late.js": _late_script(), "/hero.png": _HERO},
        repaired={
            "/": html("<link rel=preload as=image href=/hero.png>", f"{TEXT}<img src=/hero.png width=600 height=400>"),
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
        id=FindingId.PAGE_FONT_LATE,
        faulty=_lettered("", b"//other.localhost:PORT"),
        repaired=_lettered(
            "<link rel=preload as=font crossorigin href=//other.localhost:PORT/f.woff2>", b"//other.localhost:PORT"
        ),
        paint=_lcp,
        handshake_s=0.2,
    ),
    "a font of a stranger": Pair(
        id=FindingId.PAGE_PRECONNECT_MISSING,
        faulty=_lettered("", b"//127.0.0.1:PORT"),
        repaired=_lettered("", b""),
        paint=_lcp,
        handshake_s=0.2,
    ),
    "a text that is hidden until its font has come": Pair(
        id=FindingId.PAGE_TEXT_HIDDEN,
        faulty={"/": html(_faced("auto")), "/f.woff2": replace(_FONT, think_s=0.4)},
        repaired={"/": html(_faced("swap")), "/f.woff2": replace(_FONT, think_s=0.4)},
        paint=_lcp,
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
        faulty=APPLICATION | {"/a.css": SLOW_STYLES},
        repaired=APPLICATION | {"/a.css": styles()},
        paint=_fcp,
    ),
    "a style sheet that is preloaded": Pair(
        id=FindingId.PAGE_RENDER_BLOCKING,
        faulty={"/": html("<link rel='preload stylesheet' as=style href=/a.css>"), "/a.css": SLOW_STYLES},
        repaired={"/": html("<link rel=preload as=style href=/a.css>"), "/a.css": SLOW_STYLES},
        paint=_fcp,
    ),
    "a style sheet beside a font that is preloaded": Pair(
        id=FindingId.PAGE_RENDER_BLOCKING,
        faulty={"/": html(_PRELOADED_FONT + _STYLED % "all"), "/a.css": SLOW_STYLES, "/f.woff2": _FONT},
        repaired={"/": html(_PRELOADED_FONT + _STYLED % "print"), "/a.css": SLOW_STYLES, "/f.woff2": _FONT},
        paint=_fcp,
    ),
    "a style sheet that waits for a hint that calls it something else": Pair(
        id=FindingId.PAGE_RENDER_BLOCKING,
        faulty={"/": html(f"<link rel=preload as=fetch href=/a.css>{_STYLED % 'all'}"), "/a.css": SLOW_STYLES},
        repaired={"/": html(f"<link rel=preload as=fetch href=/a.css>{_STYLED % 'print'}"), "/a.css": SLOW_STYLES},
        paint=_fcp,
    ),
    "a script ahead of the first words": Pair(
        id=FindingId.PAGE_RENDER_BLOCKING,
        faulty={"/": html("", f"<script src=/a.js></script>{TEXT}"), "/a.js": SLOW_SCRIPT},
        repaired={"/": html("", f"<script src=/a.js defer></script>{TEXT}"), "/a.js": SLOW_SCRIPT},
        paint=_fcp,
    ),
    "a style sheet ahead of the first words": Pair(
        id=FindingId.PAGE_RENDER_BLOCKING,
        faulty={"/": html("", f"<link rel=stylesheet href=/a.css>{TEXT}"), "/a.css": SLOW_STYLES},
        repaired={"/": html("", f"<link rel=stylesheet href=/a.css media=print>{TEXT}"), "/a.css": SLOW_STYLES},
        paint=_fcp,
    ),
    "a stranger's script ahead of the first words, in a document that comes in pieces": Pair(
        id=FindingId.PAGE_THIRD_PARTY_BLOCKING,
        faulty={"/": in_pieces(f"<script src=//127.0.0.1:PORT/a.js></script>{TEXT}"), "/a.js": SLOW_SCRIPT},
        repaired={"/": in_pieces(f"<script src=//127.0.0.1:PORT/a.js async></script>{TEXT}"), "/a.js": SLOW_SCRIPT},
        paint=_fcp,
    ),
    "a script ahead of the largest picture": Pair(
        id=FindingId.PAGE_LCP_HELD,
        faulty={
            "/": html("", f"{TEXT}<script src=/a.js></script>{_PLACE}"),
            "/a.js": SLOW_SCRIPT,
            "/hero.png": _SOON,
        },
        repaired={
            "/": html("", f"{TEXT}<script src=/a.js defer></script>{_PLACE}"),
            "/a.js": SLOW_SCRIPT,
            "/hero.png": _SOON,
        },
        paint=_lcp,
    ),
    "a picture that loads lazily behind a script and a redirect": Pair(
        id=FindingId.PAGE_LCP_LATE,
        faulty={"/": html("", f"{TEXT}<script src=/a.js></script>{_MOVED % 'lazy'}"), **_MOVING},
        repaired={"/": html("", f"{TEXT}<script src=/a.js></script>{_MOVED % 'eager'}"), **_MOVING},
        paint=_lcp,
    ),
    "a background behind a style sheet of the body": Pair(
        id=FindingId.PAGE_LCP_LATE,
        faulty={"/": html("", f"{TEXT}<link rel=stylesheet href=/a.css>{_BACK}"), **_BACKING},
        repaired={
            "/": html(_PRELOADED, f"{TEXT}<link rel=stylesheet href=/a.css>{_BACK}"),
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
        faulty={"/": html("", f"{TEXT}<img src=/big.png width=300 height=200>"), "/big.png": _BIG},
        repaired={"/": html("", f"{TEXT}<img src=/fit.png width=300 height=200>"), "/fit.png": _FIT},
        paint=_lcp,
    ),
}


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
