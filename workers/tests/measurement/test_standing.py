"""Which texts stood in a document as it came."""

import pytest

from workers.measurement.compute.standing import Tag, stands_in

HTML = (
    '<!doctype html><html class="no-js"><title>Title</title><body><main style="color: red"><h1>Hello &amp;\n  welcome'
    "</h1></main><script>add('<h2>Made</h2>')</script><noscript>None</noscript><div hidden><p>Later</p></div>"
)
ROOT: tuple[Tag, ...] = (("body", "", ""), ("html", "no-js", ""))
MAIN: Tag = ("main", "", "color: red")


def test_a_text_of_the_document_stands_in_it_where_nothing_has_changed() -> None:
    assert stands_in(HTML, "Hello & welcome", (("h1", "", ""), MAIN, *ROOT), 0)


@pytest.mark.parametrize("words", ["Made", "None", "Title", "Hello there", ""])
def test_what_a_script_makes_stands_nowhere(words: str) -> None:
    assert not stands_in(HTML, words, (("h1", "", ""), MAIN, *ROOT), 0)


@pytest.mark.parametrize(
    "changed",
    [
        (("h1", "shown", ""), MAIN, *ROOT),
        (("h1", "", "opacity: 1"), MAIN, *ROOT),
        (("h1", "", ""), ("main", "", ""), *ROOT),
        (("h1", "", ""), MAIN, ("body", "", ""), ("html", "js", "")),
        (("h1", "", ""), MAIN, ("body", "ready", ""), ("html", "no-js", "")),
    ],
)
def test_what_a_script_changed_may_have_been_shown_by_it(changed: tuple[Tag, ...]) -> None:
    assert not stands_in(HTML, "Hello & welcome", changed, 0)


def test_what_was_hidden_and_is_not_any_more_was_shown_later() -> None:
    assert not stands_in(HTML, "Later", (("p", "", ""), ("div", "", ""), *ROOT), 0)


def test_styles_that_were_taken_away_may_have_hidden_it() -> None:
    html = "<style>h1 { opacity: 0 }</style><noscript><style>h1 { opacity: 1 }</style></noscript><h1>Hello</h1>"
    within: tuple[Tag, ...] = (("h1", "", ""), ("body", "", ""), ("html", "", ""))
    assert stands_in(html, "Hello", within, 1)
    assert not stands_in(html, "Hello", within, 0)


def test_a_root_and_a_body_need_no_tags() -> None:
    assert stands_in("<p>Hello", "Hello", (("p", "", ""), ("body", "", ""), ("html", "", "")), 0)
