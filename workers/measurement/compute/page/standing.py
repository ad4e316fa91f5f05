"""Whether a text stood in a document as it came, in elements that nothing has changed since: then no script made it or
showed it later. Or whether a script made it.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from workers.measurement.compute.page.html_reader import HtmlReader

# The local name of an element and the beginnings of its attributes, any of which a style may hide it by.
Tag = tuple[str, frozenset[tuple[str, str]]]
MAX_CHARS = 1_000_000
_MAX_VALUE_CHARS = 500


def make_tag(name: str, attributes: Mapping[str, str]) -> Tag:
    return name, frozenset((key, value[:_MAX_VALUE_CHARS]) for key, value in attributes.items())


def stands_in(html: str, words: str, tags: Sequence[Tag], styles: int) -> bool:
    """`words` are the beginning of the text, `tags` its element and what that lies in. Of the styles in the document
    so many are left: what was taken away may have hidden it."""
    reader = _read(html)
    text = " ".join("".join(reader.texts).split())
    implied = {make_tag(name, {}) for name in ("html", "body") if name not in {own for own, _ in reader.tags}}
    stood = bool(words) and words in text and reader.styles <= styles
    return stood and {*tags} <= reader.tags | implied


def is_made(html: str, words: str) -> bool:
    """Whether hardly any of the words of a text stand in the document: scripts change some of what stood there."""
    wanted, there = words.split(), {word for text in _read(html).texts for word in text.split()}
    return 2 * sum(word in there for word in wanted) < len(wanted)


def _read(html: str) -> "_Reader":
    reader = _Reader()
    # Without an end: what is not closed there the parser would try anew at each of its tags.
    reader.feed(html[:MAX_CHARS])
    return reader


class _Reader(HtmlReader):
    _ASIDE: ClassVar = frozenset({"script", "style", "template", "noscript", "title"})

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[Tag] = set()
        self.texts: list[str] = []
        self.styles = 0
        self._aside: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # Of two of a name the first counts.
        self.tags.add(make_tag(tag, {name: value or "" for name, value in reversed(attrs)}))
        if self._aside is None and tag == "style":
            self.styles += 1
        if self._aside is None and tag in self._ASIDE:
            self._aside = tag

    def handle_endtag(self, tag: str) -> None:
        if tag == self._aside:
            self._aside = None

    def handle_data(self, data: str) -> None:
        if self._aside is None:
            self.texts.append(data)
