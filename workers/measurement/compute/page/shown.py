"""Where the body of an HTML document begins, and where that begins to show something: a file that stops the parser
ahead of that holds the first paint up."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import unescape
from itertools import takewhile

from workers.measurement.captures_page import BodySeen
from workers.measurement.compute.page.concealed import HIDES, conceals, conceals_root, names_out_of_sight
from workers.measurement.compute.page.html_reader import HtmlReader
from workers.measurement.waterfall import Place

# Whose contents are never seen where scripts run.
_SILENT = frozenset({"head", "script", "style", "noscript", "template", "title", "iframe", "datalist", "noframes"})
# … and of SVG, which draws these where another element asks for them, if at all.
_UNSEEN = _SILENT | {"clippath", "defs", "desc", "marker", "mask", "metadata", "pattern", "symbol"}
# What holds nothing of this page: it is for browsers without scripts, or to be copied from.
_NOT_HERE = frozenset({"noscript", "template"})
# What does not begin a body (HTML, "the after head insertion mode" and before).
_HEADS = frozenset({"html", "head", "base", "link", "meta", *_SILENT - {"iframe", "datalist"}})
# What may be painted without a word of text, or takes the place of text.
_DRAWN = frozenset(
    {"img", "picture", "svg", "math", "canvas", "video", "audio", "object", "embed", "input", "button", "select",
     "textarea", "meter", "progress", "hr"}
)  # fmt: skip
_VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
# Hidden until somebody changes that: by the element itself, or as frameworks do it.
_CLOAKS = frozenset({"hidden", "popover", "v-cloak", "x-cloak", "ng-cloak"})
# What is for screen readers alone, as many style sheets name it.
_FOR_READERS = frozenset({".sr-only", ".visually-hidden", ".visuallyhidden", ".screen-reader-text"})
# The style by which AMP hides a page until its script is there.
_BOILERPLATE = "amp-boilerplate"
# A character of a text, which may be written as a reference, or blanks.
_CHARACTERS = re.compile(r"&#?\w+;?|\s+|.")
_PIECE_CHARS = 16_384
# So much of a document is read at most: what a page sends must not keep an agent busy.
_MAX_CHARS = 256_000
# As deep as Chrome nests elements (HTMLParserOptions, "maximum DOM depth").
_MAX_DEPTH = 512


def body_of(html: str, hiding: Iterable[str] = ()) -> BodySeen:
    """Of a document of any size or depth the first part is read; what that does not say stays unknown. `hiding` are the
    selectors of its style sheets' rules that hide: one that hides itself shows nothing until a script has come."""
    reader, text = _Reader(), html[:_MAX_CHARS]
    for start in range(0, len(text), _PIECE_CHARS):
        # What is cut off at the end is not closed: the parser would try anew at each of its tags.
        reader.feed(text[start : start + _PIECE_CHARS])
        if reader.enough or reader.is_too_deep:
            break
    is_shown = not reader.is_concealed and not conceals_root(hiding)
    if not is_shown or reader.words is None:
        return BodySeen(starts=reader.starts, shows=None)
    enough = reader.enough
    return BodySeen(starts=reader.starts, shows=reader.first, words_bytes=enough and _bytes_until(text, enough))


def _bytes_until(text: str, place: Place) -> int:
    """With the first character there that is not blank. By UTF-8: where a document is in another encoding there are
    rather fewer, and in UTF-16 up to twice as many."""
    line, column = place
    start = len(text) - len(text.split("\n", line - 1)[-1]) + column - 1
    blanks = takewhile(_is_blank, (one[0] for one in _CHARACTERS.finditer(text, start)))
    return len(text[: start + sum(map(len, blanks)) + 1].encode("utf-8", "replace"))


def _is_blank(text: str) -> bool:
    return not unescape(text).strip()


class _Reader(HtmlReader):
    """Columns are counted in code points: ahead of what DevTools counts, if they differ."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.starts: Place | None = None
        self.first: Place | None = None
        # Where the first text begins that is not hidden, with the blanks ahead of it.
        self.words: Place | None = None
        # Elements that the first paint waits for and that have not come yet, by their ids; where the last one came.
        self._expected: set[str] = set()
        self._came: Place | None = None
        # The elements that are open, and how many of them silence or hide what they hold.
        self._open: list[_Element] = []
        self._silent = self._hidden = 0
        self._texts: dict[str, list[str]] = {"style": [], "script": []}
        self._root_classes: set[str] = set()
        # Classes and ids of what styles so far keep out of sight.
        self._unseen = set(_FOR_READERS)
        self._is_covered = False

    @property
    def is_concealed(self) -> bool:
        return self._is_covered or conceals(self._texts["style"], self._texts["script"], self._root_classes)

    @property
    def enough(self) -> Place | None:
        """Where all has come that the first paint needs of the document: words, and the elements that links expect."""
        return None if self.words is None or self._expected else max(self.words, self._came or self.words)

    @property
    def is_too_deep(self) -> bool:
        return len(self._open) >= _MAX_DEPTH

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        hides = any(name in _CLOAKS or (name == "style" and _hides(value)) for name, value in attrs)
        hides = hides or (tag == "dialog" and "open" not in dict(attrs)) or not self._unseen.isdisjoint(_names(attrs))
        if tag not in _HEADS and not self._silent:
            self._begin()
        if tag in ("html", "body"):
            self._root_classes |= {name for key, value in attrs if key == "class" for name in (value or "").split()}
        self._is_covered = self._is_covered or (tag == "style" and _BOILERPLATE in dict(attrs))
        if tag == "body":
            self.handle_endtag("head")
        self._expect(tag, dict(attrs))
        if tag in _DRAWN and not self._silent:
            self._note()
        if tag not in _VOID and not self.is_too_deep:
            # What a template makes a shadow root of is shown in its host (HTML, "shadowrootmode").
            is_silent = tag in _UNSEEN and "shadowrootmode" not in dict(attrs)
            is_read = tag in self._texts and self._takes_effect(attrs)
            self._open.append(_Element(tag, is_silent=is_silent, hides=hides, is_read=is_read))
            if is_read:
                self._texts[tag].append("")
            self._count(self._open[-1], 1)

    def _takes_effect(self, attrs: list[tuple[str, str | None]]) -> bool:
        """Whether a style or script here is one of the page, on the screen and where scripts run."""
        is_for_screens = (dict(attrs).get("media") or "all").strip().lower() != "print"
        return is_for_screens and not any(one.tag in _NOT_HERE for one in self._open)

    def _expect(self, tag: str, attrs: Mapping[str, str | None]) -> None:
        """Whether it is a link in the head whose element the first paint waits for (HTML, "link type expect"), or such
        an element."""
        if tag == "link" and self.starts is None and _has(attrs, "rel", "expect") and _has(attrs, "blocking", "render"):
            self._expected.add((attrs.get("href") or "").partition("#")[2])
        if not self._silent and (name := attrs.get("id")) in self._expected:
            self._expected.remove(name)
            self._came = self._place

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1].is_read and tag == "style":
            self._unseen.update(names_out_of_sight(self._texts["style"][-1]))
        if any(one.tag == tag for one in self._open):
            while (last := self._open.pop()).tag != tag:
                self._count(last, -1)
            self._count(last, -1)

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1].is_read:
            self._texts[self._open[-1].tag][-1] += data
        if self._silent or self.is_too_deep or not data.strip():
            return
        self._note()
        if not self._hidden:
            self.words = self.words or self._place

    def _count(self, one: "_Element", step: int) -> None:
        self._silent += step * one.is_silent
        self._hidden += step * one.hides

    @property
    def _place(self) -> Place:
        line, column = self.getpos()
        return line, column + 1

    def _begin(self) -> None:
        self.starts = self.starts or self._place

    def _note(self) -> None:
        self._begin()
        self.first = self.first or self._place


@dataclass(frozen=True, slots=True)
class _Element:
    tag: str
    is_silent: bool
    hides: bool
    # Of a style or script: whether its text says anything of this page.
    is_read: bool


def _has(attrs: Mapping[str, str | None], name: str, word: str) -> bool:
    return word in (attrs.get(name) or "").lower().split()


def _names(attrs: Iterable[tuple[str, str | None]]) -> set[str]:
    """Its classes and its id, as selectors name them."""
    signs = {"class": ".", "id": "#"}
    return {signs[key] + name for key, value in attrs if key in signs for name in (value or "").split()}


def _hides(style: str | None) -> bool:
    return style is not None and HIDES.search(style) is not None
