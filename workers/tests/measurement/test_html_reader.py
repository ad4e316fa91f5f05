"""Documents as anybody may send them are read to their end, and in time."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.compute.page.html_reader import HtmlReader
from workers.measurement.compute.page.shown import body_of
from workers.measurement.compute.page.standing import MAX_CHARS, make_tag, stands_in

WITHIN = (make_tag("p", {}), make_tag("body", {}), make_tag("html", {}))
PIECES = ["<", ">", "<!", "<![", "]]>", "CDATA[", "if !IE]", "DOCTYPE", "<!--", "-->", "<?", "</", "&", "&#", "a", " ",
          "<p>", "<svg>", "<style>", "<script>", "<title>", "=", '"', "'", "/", "\0", "\ud800"]  # fmt: skip


class Words(HtmlReader):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.mark.parametrize(
    ("html", "words"),
    [
        ("a<![foo[b]]>c", "ac"),
        ("a<![>c", "ac"),
        ("a<![if a>b]>c", "ab]>c"),
        ("a<![endif]>c", "ac"),
        ("<svg>a<![CDATA[b]]>c", "ac"),
        ("a<!-- b -->c<!d>", "ac"),
    ],
)
def test_what_browsers_take_for_a_comment_is_no_text(html: str, words: str) -> None:
    reader = Words()
    reader.feed(html)
    assert "".join(reader.texts) == words


def test_a_text_behind_what_looks_like_a_section_stands_where_it_is() -> None:
    html = "<body><![foo[bar]]><p>Hello"
    assert stands_in(html, "Hello", WITHIN, 0)
    assert body_of(html).shows == (1, 23)


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=40).map("".join))
def test_no_document_stops_the_reading(html: str) -> None:
    body_of(html)
    stands_in(html, "a", WITHIN, 1)


@pytest.mark.parametrize("piece", ["<a ", "<!--", "</", "<script", "<title>", "<a b='", "<![", "&#"])
def test_what_never_ends_takes_no_time(piece: str) -> None:
    """Where it did, a page would keep its agent busy for hours."""
    begun_s = time.process_time()
    assert not stands_in(piece * (MAX_CHARS // len(piece)), "Hello", WITHIN, 0)
    assert time.process_time() - begun_s < 2
