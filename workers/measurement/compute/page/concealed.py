"""Whether a document hides itself until a script uncovers it, as tests of variants do against flicker, and AMP: what
its text shows is seen no sooner than that script has come. And which parts of it are out of sight until then."""

import re
from collections.abc import Iterable, Iterator

# As whole properties: `backface-visibility` and `fill-opacity` hide nothing.
HIDES = re.compile(
    r"(?<![\w-])(?:display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0?\.?0+(?![.\d]))", re.IGNORECASE
)
# What is for screen readers alone: out of sight, or a pixel of it.
_OUT_OF_SIGHT = re.compile(
    r"(?<![\w-])(?:clip\s*:\s*rect\(|clip-path\s*:\s*inset\(\s*(?:50|100)%|(?:left|top|right|text-indent)\s*:\s*-\d{3})",
    re.IGNORECASE,
)
# What it may show by itself.
_MOVES = re.compile(r"(?<![\w-])animation", re.IGNORECASE)
_BRACE = re.compile(r"([{}])")
_MAX_SELECTOR_CHARS = 500
# What parts a selector from what it stands within; in scripts it stands in quotes.
_BETWEEN = re.compile(r"[\s>+~\"'`]+")
_WORD = re.compile(r"[\w-]+")
# Comments, and rules for paper.
_ASIDE = re.compile(r"/\*.*?(?:\*/|\Z)|@media\s+print\s*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", re.DOTALL | re.IGNORECASE)
# The root or the body, in whatever state, and nothing that is made before or behind what it holds.
_ROOT = re.compile(r"(?:html|body|:root)(?![\w-])(?!.*(?:::|:before|:after))|\*$", re.IGNORECASE)
_CLASS = re.compile(r"\.([\w-]+)$")
# Rules that are not always of this screen.
_SOMETIMES = re.compile(r"@(?:media|supports|container)[^{}@]{0,500}\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", re.IGNORECASE)
# A class or an id, of any element of a kind, wherever that stands.
_NAME = re.compile(r"[\w-]*([.#][\w-]+)$")
_NAMES_ROOT = re.compile(r"documentElement|document\.body|\(\s*[\"'](?:html|body)[\"']\s*\)")
_SETS_STYLE = re.compile(
    r"(?:documentElement|document\.body)\.style\.(?:opacity\s*=\s*[\"']?0|visibility\s*=\s*[\"']h|display\s*=\s*[\"']n)"
)


def conceals(styles: Iterable[str], scripts: Iterable[str], root_classes: Iterable[str]) -> bool:
    """By the text of a document's own styles and scripts. A class that hides what has it counts where the root has it,
    or where a script that speaks of the root names it."""
    hiding = [last for text in styles for last in _hiding(_ASIDE.sub("", text))]
    classes = frozenset(found[1] for last in hiding if (found := _CLASS.match(last)))
    if any(map(_ROOT.match, hiding)) or not classes.isdisjoint(root_classes):
        return True
    return any(_covers(text, classes) for text in scripts)


def conceals_root(selectors: Iterable[str]) -> bool:
    """Whether any of these selectors, of rules that hide, may be of the root or the body."""
    return any(_ROOT.match(last) for selector in selectors for last in _lasts(selector))


def names_out_of_sight(style: str) -> frozenset[str]:
    """The classes and ids, with their sign, whose elements a style of the document keeps out of sight until somebody
    takes that from them."""
    rules = _rules(_SOMETIMES.sub("", _ASIDE.sub("", style)))
    hiding = (selectors for selectors, body in rules if _hides_name(body))
    names = (_NAME.match(selector.strip()) for selectors in hiding for selector in selectors.split(","))
    return frozenset(found[1] for found in names if found)


def _hides_name(body: str) -> bool:
    return bool(HIDES.search(body) or _OUT_OF_SIGHT.search(body)) and not _MOVES.search(body)


def _covers(script: str, classes: frozenset[str]) -> bool:
    if _SETS_STYLE.search(script) or any(map(_ROOT.match, _hiding(script))):
        return True
    return _NAMES_ROOT.search(script) is not None and not classes.isdisjoint(_WORD.findall(script))


def _hiding(text: str) -> list[str]:
    """Of each rule that hides, what it hides: the last part of its selectors."""
    return [last for selectors, body in _rules(text) if HIDES.search(body) for last in _lasts(selectors)]


def _rules(text: str) -> Iterator[tuple[str, str]]:
    """Selectors and what stands in braces behind them."""
    parts = _BRACE.split(text)
    for before, opened, within, closed in zip(parts, parts[1:], parts[2:], parts[3:], strict=False):
        if (opened, closed) == ("{", "}"):
            yield before[-_MAX_SELECTOR_CHARS:], within


def _lasts(selectors: str) -> list[str]:
    """Of each selector the last part. All that is within something else than the root is but a part of the page."""
    found = (_BETWEEN.split(selector.strip()) for selector in selectors.split(","))
    return [last for *around, last in found if last and (last != "*" or all(map(_ROOT.match, filter(None, around))))]
