"""Which texts stood in a document as it came."""

import pytest

from workers.measurement.compute.page.standing import Tag, is_made, make_tag, stands_in

HTML = (
    '<!doctype html><html class="no-js" data-theme=light><title>Title</title><body>'
    '<main style="color: red"><h1>Hello &amp;\n  welcome</h1></main>'
    "<script>add('<h2>Made</h2>')</script><noscript>None</noscript><div hidden><p>Later</p></div>"
)
BODY, H1 = make_tag("body", {}), make_tag("h1", {})
ROOT: tuple[Tag, ...] = (BODY, make_tag("html", {"class": "no-js", "data-theme": "light"}))
MAIN = make_tag("main", {"style": "color: red"})


def test_a_text_of_the_document_stands_in_it_where_nothing_has_changed() -> None:
    assert stands_in(HTML, "Hello & welcome", (H1, MAIN, *ROOT), 0)


@pytest.mark.parametrize("words", ["Made", "None", "Title", "Hello there", ""])
def test_what_a_script_makes_stands_nowhere(words: str) -> None:
    assert not stands_in(HTML, words, (H1, MAIN, *ROOT), 0)


@pytest.mark.parametrize(
    ("words", "made"),
    [
        ("Hello & welcome", False),
        ("Hello & welcome, Ann", False),
        ("Welcome back, Ann", True),
        ("Made", True),
        ("None", True),
        ("Later", False),
    ],
)
def test_a_text_is_made_of_which_hardly_a_word_stands_in_the_document(words: str, made: bool) -> None:
    assert is_made(HTML, words) is made


@pytest.mark.parametrize(
    "changed",
    [
        (make_tag("h1", {"class": "shown"}), MAIN, *ROOT),
        (make_tag("h1", {"style": "opacity: 1"}), MAIN, *ROOT),
        (H1, make_tag("main", {}), *ROOT),
        (H1, MAIN, BODY, make_tag("html", {"class": "js", "data-theme": "light"})),
        (H1, MAIN, BODY, make_tag("html", {"class": "no-js"})),
        (H1, MAIN, make_tag("body", {"data-ready": ""}), ROOT[1]),
    ],
)
def test_what_a_script_changed_may_have_been_shown_by_it(changed: tuple[Tag, ...]) -> None:
    assert not stands_in(HTML, "Hello & welcome", changed, 0)


def test_what_was_hidden_and_is_not_any_more_was_shown_later() -> None:
    assert not stands_in(HTML, "Later", (make_tag("p", {}), make_tag("div", {}), *ROOT), 0)


def test_styles_that_were_taken_away_may_have_hidden_it() -> None:
    html = "<style>h1 { opacity: 0 }</style><noscript><style>h1 { opacity: 1 }</style></noscript><h1>Hello</h1>"
    within = (H1, BODY, make_tag("html", {}))
    assert stands_in(html, "Hello", within, 1)
    assert not stands_in(html, "Hello", within, 0)


def test_a_root_and_a_body_need_no_tags() -> None:
    assert stands_in("<p>Hello", "Hello", (make_tag("p", {}), BODY, make_tag("html", {})), 0)
