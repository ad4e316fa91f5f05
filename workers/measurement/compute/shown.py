"""Where the body of an HTML document begins, and where that begins to show something: a file that stops the parser
ahead of that holds the first paint up."""

import re
from html.parser import HTMLParser

from workers.measurement.captures_page import BodySeen
from workers.measurement.waterfall import Place

# Whose contents are never seen where scripts run.
_SILENT = frozenset({"head", "script", "style", "noscript", "template", "title", "iframe", "datalist", "noframes"})
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
_CLOAKS = frozenset({"hidden", "v-cloak", "x-cloak", "ng-cloak"})
_HIDES = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0(?![.\d])", re.IGNORECASE)
_PIECE_CHARS = 16_384


def body_of(html: str) -> BodySeen:
    reader = _Reader()
    for start in range(0, len(html), _PIECE_CHARS):
        reader.feed(html[start : start + _PIECE_CHARS])
        if reader.has_text:
            break
    else:
        reader.close()
    return BodySeen(starts=reader.starts, shows=reader.first if reader.has_text else None)


class _Reader(HTMLParser):
    """Columns are counted in code points: ahead of what DevTools counts, if they differ."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.starts: Place | None = None
        self.first: Place | None = None
        self.has_text = False
        # The elements that are open, and whether each hides what it holds.
        self._open: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        hides = tag in _SILENT or any(name in _CLOAKS or (name == "style" and _hides(value)) for name, value in attrs)
        if tag not in _HEADS and not self._is_silent:
            self._begin()
        if tag == "body":
            self._open = [one for one in self._open if one[0] == "html"]
        if tag in _DRAWN and not self._is_silent:
            self._note()
        if tag not in _VOID:
            self._open.append((tag, hides))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        places = [place for place, (name, _) in enumerate(self._open) if name == tag]
        if places:
            del self._open[places[-1] :]

    def handle_data(self, data: str) -> None:
        if not data.strip() or self._is_silent:
            return
        self._note()
        self.has_text = self.has_text or not any(hides for _, hides in self._open)

    @property
    def _is_silent(self) -> bool:
        return any(tag in _SILENT for tag, _ in self._open)

    @property
    def _place(self) -> Place:
        line, column = self.getpos()
        return line, column + 1

    def _begin(self) -> None:
        self.starts = self.starts or self._place

    def _note(self) -> None:
        self._begin()
        self.first = self.first or self._place


def _hides(style: str | None) -> bool:
    return style is not None and _HIDES.search(style) is not None
