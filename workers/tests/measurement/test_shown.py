"""Where a document begins to show something, read from its text."""

import pytest

from workers.measurement.compute.page.shown import body_of

_HEAD = "<!doctype html><html><head><title>Words of the head</title><style>p { }</style></head>"


@pytest.mark.parametrize(
    "before",
    [
        "",
        "\n\n",
        "<!-- words -->",
        "<script>'words'</script>",
        "<noscript><img src=count.gif>words</noscript>",
        "<template><p>words</p></template>",
        "<div id=root></div><link rel=stylesheet href=a.css>",
        "<iframe src=/ad>words</iframe>",
    ],
)
def test_what_nobody_sees_is_not_where_a_document_begins_to_show_something(before: str) -> None:
    html = f"{_HEAD}<body>{before}<p>Words</p>"
    place = _shows(html)
    assert place is not None
    assert _index(html, place) == html.rindex("Words")


@pytest.mark.parametrize("drawn", ["<img src=a.png>", "<svg></svg>", "<input>", "<hr>", "<b hidden>Words</b>"])
def test_what_may_be_seen_is_where_it_begins(drawn: str) -> None:
    html = f"{_HEAD}<body>\n{drawn}<p>Words</p>"
    assert _shows(html) == (2, len("<b hidden>") + 1 if "hidden" in drawn else 1)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "<div id=root></div><script>'words'</script>",
        "<img src=a.png>",
        "<noscript>words</noscript>",
        "<div hidden><p>words</div>",
        "<div popover><p>words</div>",
        "<dialog><p>words</dialog>",
        "<svg><defs><text>words</text></defs><symbol><title>words</title></symbol></svg>",
        "<div style='opacity:0'>words</div>",
        "<div style='color:red; DISPLAY : none'><div>words</div>words</div>",
        "<app-root v-cloak>{{ words }}</app-root>",
    ],
)
def test_a_document_whose_words_a_script_may_make_or_uncover_says_nothing(body: str) -> None:
    assert _shows(f"{_HEAD}<body>{body}") is None
    assert _shows(f"{_HEAD.replace('<html', '<html class=a')}<body style='opacity: 0'>words") is None


@pytest.mark.parametrize(
    ("style", "element"),
    [
        (".loading { visibility: hidden }", "<main class='a loading'>"),
        ("main#app, .other { opacity: 0 }", "<main id=app>"),
        (".skip { position: absolute; left: -9999px }", "<a class=skip href=#app>"),
        (".h { width: 1px; clip: rect(0, 0, 0, 0) }", "<h1 class=h>"),
        ("", "<h1 class=sr-only>"),
    ],
)
def test_what_a_style_of_the_document_keeps_out_of_sight_is_not_among_its_words(style: str, element: str) -> None:
    """Measured: a style sheet was said to hold a page up that a script made or uncovered, and which came no sooner."""
    html = f"{_HEAD}<style>{style}</style><body>{element}Words"
    assert _shows(html) is None
    seen = body_of(f"{html}</a></h1></main><p>More")
    assert seen.shows is not None
    assert seen.words_bytes == len(f"{html}</a></h1></main><p>M")


@pytest.mark.parametrize(
    "style",
    [
        ".menu .loading { display: none }",
        ".loading.off { display: none }",
        ".loading::before { opacity: 0 }",
        "@media (max-width: 600px) { .loading { display: none } }",
        "@media print { .loading { display: none } }",
        ".loading { opacity: 0; animation: appear 1s forwards }",
        ".loading { left: -9px }",
        ".Loading { display: none }",
    ],
)
def test_what_is_hidden_elsewhere_or_shows_itself_is_seen(style: str) -> None:
    assert _shows(f"{_HEAD}<style>{style}</style><body><main class=loading>Words") is not None


def test_the_words_of_an_open_dialog_are_seen() -> None:
    assert _shows(f"{_HEAD}<body><dialog open><p>Words</dialog>") is not None


@pytest.mark.parametrize("mode", ["open", "closed"])
def test_the_words_of_a_declarative_shadow_root_are_seen(mode: str) -> None:
    html = f"{_HEAD}<body><x-a><template shadowrootmode={mode}><style>p {{ }}</style><p>Words</p></template></x-a>"
    place = _shows(f"{html}<p>others</p>")
    assert place is not None
    assert _index(html, place) == html.rindex("Words")


def test_a_document_without_tags_for_head_and_body_begins_where_its_words_do() -> None:
    html = "<!doctype html><title>T</title><script src=a.js></script><p style=opacity:0.5>Words"
    assert _shows(html) == (1, html.index("Words") + 1)


@pytest.mark.parametrize(
    "head",
    [
        "<style>body{display:none}</style>",
        "<style>p { color: red } html.wait, .a { visibility: hidden !important }</style>",
        "<style>.loading > body:not(.ready) { opacity:0 }</style>",
        "<style>* { opacity: 0 }</style>",
        "<style>body > * { opacity: .0 }</style>",
        "<style>html.wait body * { opacity: 0.00 }</style>",
        "<style>.hide-me{opacity:0!important}</style><script>(function(a,b){a.className+=' '+b})"
        "(document.documentElement,'hide-me')</script>",
        "<style>.dark .hide-me, .hide-me {opacity:0}</style><html class='dark hide-me'>",
        "<script>document.write('<style>body { opacity: 0 }<' + '/style>')</script>",
        "<script>document.documentElement.style.visibility = 'hidden'</script>",
        "<script>document.body.style.opacity=0</script>",
        "<style amp-boilerplate>body{animation:-amp-start 8s steps(1,end) 0s 1 normal both}</style>",
        f"<style>{'.w { }' * 5_000} body {{ display: none }}</style>",
    ],
)
def test_a_document_that_hides_itself_until_a_script_has_come_says_nothing(head: str) -> None:
    assert _shows(f"<!doctype html><title>T</title>{head}<body><p>Words") is None


@pytest.mark.parametrize(
    "head",
    [
        "<style>body { color: red } .menu { display: none }</style>",
        "<style>body .menu, body > .menu, body-part { display: none }</style>",
        "<style>body::before, html:after { opacity: 0 } *[hidden] { display: none }</style>",
        "<style>body { opacity: 0.9 }</style>",
        "<style>.menu { display: none }</style><script>document.documentElement.className = 'js'</script>",
        "<style>.menu { display: none }</style><script>open('.menu')</script>",
        "<script>if (a) { document.body.style.opacity = 1 }</script>",
        "<style>.menu { display: none }</style><script>document.body.onclick = () => menus.toggle()</script>",
        "<style>.e { display: none }</style><script>document.documentElement.classList.add('dark')</script>",
        "<style>.skeleton *, .tabs > * { visibility: hidden }</style>",
        "<style>body { backface-visibility: hidden; fill-opacity: 0 }</style>",
        "<style>/* body { display: none } */ p { color: red }</style>",
        "<style>@media print { p { margin: 0 } body * { visibility: hidden } } p { color: red }</style>",
        "<style media=print>body { display: none }</style>",
        "<style>p { }</style><noscript><style>body { display: none }</style></noscript>",
        "<template><style>body { display: none }</style></template>",
    ],
)
def test_a_document_that_hides_a_part_of_itself_shows_the_others(head: str) -> None:
    assert _shows(f"<!doctype html><title>T</title>{head}<body><p>Words") is not None


def test_style_sheets_that_hide_the_body_are_as_good_as_styles_of_the_document() -> None:
    html = "<!doctype html><title>T</title><link rel=stylesheet href=a.css><body><p>Words"
    assert body_of(html, ("body:not(.ready)",)).shows is None
    assert body_of(html, (".menu", "body .menu")).shows is not None


def test_words_in_a_late_piece_of_a_long_document_are_found() -> None:
    html = f"<body><script>{'x' * 40_000}</script>\n<p>{'w' * 40_000}"
    assert _shows(html) == (2, 4)


@pytest.mark.parametrize(
    ("html", "starts"),
    [
        (f"{_HEAD}<script src=a.js></script>\n<body class=a>\n<p>Words", "<body class=a>"),
        ("<title>T</title><link rel=stylesheet href=a.css><script>1</script><p>Words", "<p>"),
        ("<title>T</title><script>1</script>Words", "Words"),
        ("<head><title>T</title></head><div></div><p>Words", "<div>"),
    ],
)
def test_a_body_begins_with_its_tag_or_with_what_no_head_may_hold(html: str, starts: str) -> None:
    found = body_of(html).starts
    assert found is not None
    assert _index(html, found) == html.index(starts)


@pytest.mark.parametrize(
    "piece",
    [
        "<div>",
        "<!--",
        "<a b='",
        "<a ",
        "</",
        "<script>",
        "<!",
        "<p hidden>",
        "&#",
        "<svg></div>",
        "<style>{}",
        "<style>,a{",
        f"<style>{'/*' * 100_000}</style>",
        f"<style>{'@media print{a{}' * 20_000}</style>",
        f"<style>{'.a{display:none}' * 7_000}</style><script>document.body</script>",
        "<style>@media print{",
        "<style>@media print{a{}",
    ],
)
def test_a_hostile_document_says_nothing_and_ends(piece: str) -> None:
    assert body_of(f"<body>{piece * (4_000_000 // len(piece))}words").shows is None


def test_a_document_of_a_head_alone_has_no_body() -> None:
    assert body_of("<title>T</title><script src=a.js></script>") == (None, None, None)


@pytest.mark.parametrize(
    "words",
    [
        "Words",
        "\n \n  Words",
        "Wörter",
        "<b hidden>Not\nthese</b>\n Words",
        "&#10;&nbsp; Words",
        "\n&nbsp;&#xA0\n Words",
        "\n \n  Words&#10;\n&amp;",
    ],
)
def test_of_a_document_so_much_must_be_there_for_its_first_words_to_begin(words: str) -> None:
    html = f"<title>ä</title>\n<link rel=stylesheet href=a.css><img src=a.png><p>{words} and more"
    assert body_of(html).words_bytes == len(html[: html.index("W") + 1].encode())
    assert body_of("<p hidden>Words").words_bytes is None


def test_words_that_begin_with_a_reference_begin_where_that_is_written() -> None:
    html = "<title>T</title><p>&nbsp;\n&eacute;t&eacute;"
    assert body_of(html).words_bytes == html.index("&e") + 1


def _expecting(*names: str) -> str:
    return "".join(f'<link rel="expect" href="/#{name}" blocking="render">' for name in names)


@pytest.mark.parametrize("head", [_expecting("here"), _expecting("here", "before")])
def test_a_document_whose_head_expects_an_element_is_not_painted_before_that(head: str) -> None:
    html = f"<title>T</title>{head}<p id=before>Words<template><p id=here></template>\n<p id=here>and more"
    assert body_of(html).words_bytes == len(html[: html.rindex("<p id") + 1])
    assert body_of(html.replace("and more", "and more" * 9_000)) == body_of(html)


def test_what_is_expected_in_vain_or_behind_the_head_or_without_blocking_tells_nothing_of_the_words() -> None:
    assert body_of(f"{_expecting('nowhere')}<p>Words").words_bytes is None
    for expecting in (f"<p>Words</p>{_expecting('here')}", "<link rel=expect href=#here><p>Words"):
        assert body_of(f"{expecting}<p id=here>") == body_of(expecting)


def _shows(html: str) -> tuple[int, int] | None:
    return body_of(html).shows


def _index(html: str, place: tuple[int, int]) -> int:
    return sum(len(line) + 1 for line in html.split("\n")[: place[0] - 1]) + place[1] - 1
