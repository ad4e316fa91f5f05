"""What stands behind all that is painted first, or makes it, holds nothing up, in a real Chromium."""

from dataclasses import replace

import pytest

from workers.measurement.finding import FindingId
from workers.measurement.waterfall import Blocking
from workers.tests.browser.conftest import Load
from workers.tests.browser.slow_site import Slow
from workers.tests.browser.twin_pages import (
    APPLICATION,
    HEAD,
    MAKES,
    MAKING,
    SLOW_SCRIPT,
    SLOW_STYLES,
    TEXT,
    html,
    in_pieces,
    loaded,
    styles,
)
from workers.tests.diagnosis.page_sketch import told
from workers.tests.waiting import undisturbed

_LATER = b"document.addEventListener('DOMContentLoaded', () => { %s })"
_BLOCK = (FindingId.PAGE_RENDER_BLOCKING, FindingId.PAGE_THIRD_PARTY_BLOCKING)


@pytest.mark.parametrize(
    ("page", "script"),
    [
        (html("", f"{TEXT}<script src=/a.js></script>"), SLOW_SCRIPT),
        (html("", f"{TEXT}<script src=/a.js></script>{TEXT}"), SLOW_SCRIPT),
        (in_pieces(f"{TEXT}<script src=/a.js></script>"), SLOW_SCRIPT),
        (html("", "<div id=app></div><script src=/a.js></script>"), MAKING),
        (in_pieces("<div id=app></div><script src=/a.js></script>"), MAKING),
        (html("", "<div id=app hidden>Words</div><script src=/a.js></script>"), MAKING),
        (html("<script src=/a.js></script>", "<div id=app></div>"), replace(MAKING, body=_LATER % MAKES)),
        (html("", "<div id=app></div><script>document.write('<script src=/a.js><\\/script>')</script>"), MAKING),
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
    (seen, *_) = loaded(load, APPLICATION | {"/a.css": SLOW_STYLES, "/a.js": MAKING}, 0.0)
    sheet = next(row for row in seen.waterfall.requests if row.url.endswith("/a.css"))
    assert sheet.blocking is Blocking.RENDERING
    assert not any(told(seen, id) for id in _BLOCK)


@pytest.mark.parametrize(
    "body",
    [
        "<style>.skip { position: absolute; left: -9999px }</style><a class=skip href=#app>Skip</a><div id=app></div>",
        "<style>.wait { visibility: hidden }</style><main class=wait><p>Words</main><div id=app></div>",
    ],
)
@undisturbed
def test_words_out_of_sight_are_not_what_a_style_sheet_holds_up(load: Load, body: str) -> None:
    """What is painted first is what the script makes."""
    page = html("<link rel=stylesheet href=/a.css><script src=/a.js defer></script>", body)
    (seen, *_) = loaded(load, {"/": page, "/a.css": SLOW_STYLES, "/a.js": MAKING}, 0.0)
    assert seen.shows_from is None
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
        "/a.css": replace(SLOW_STYLES, body=styles_body),
        "/a.js": replace(SLOW_SCRIPT, body=shows, think_s=0.4),
    }
    (seen, *_) = loaded(load, answers, 0.0)
    assert seen.shows_from is None
    assert not any(told(seen, id) for id in _BLOCK)


@undisturbed
def test_a_style_sheet_that_comes_before_the_first_words_of_a_document_in_pieces_holds_nothing_up(load: Load) -> None:
    """The words come 400 ms after the head, the last piece 200 ms later."""
    body = f"<!-- {'x' * 24_000} -->{TEXT}<!-- {'x' * 12_000} -->"
    page = Slow(body=f"{HEAD}<link rel=stylesheet href=/a.css><body>{body}".encode(), bytes_per_s=60_000)
    (seen, *_) = loaded(load, {"/": page, "/a.css": styles(think_s=0.2)}, 0.0)
    sheet = next(row for row in seen.waterfall.requests if row.url.endswith("/a.css"))
    assert seen.words_us is not None
    assert seen.words_us > (sheet.timing.end_us or 0)
    assert not any(told(seen, id) for id in _BLOCK)
