"""Names as people write them, where nobody takes them for others: `bücher.example` for `xn--bcher-kva.example`. Pure.

What is measured, stored and told to programs stays in the DNS's own letters. A label is shown in its own letters if all
of them are of one way of writing (Unicode TR 39, 5.2: highly restrictive, without its mixtures with Latin) and if it
does not look as a whole like a Latin one, as "apple" in Cyrillic letters does. Scripts that run from right to left stay
as they are, since they would turn the line around them.
"""

import re
import unicodedata
from functools import lru_cache

_PREFIX = "xn--"
_MAX_LABEL_CHARS = 63
_NAME = re.compile(r"(?<![A-Za-z0-9._-])(?:[A-Za-z0-9_-]+\.)*xn--[A-Za-z0-9-]+(?:\.[A-Za-z0-9_-]+)*", re.IGNORECASE)
# By the first word of a character's name. Those of a set are written together.
_TOGETHER = (
    frozenset({"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"}),
    frozenset({"CJK", "BOPOMOFO"}),
    frozenset({"CJK", "HANGUL"}),
    *(
        frozenset({script})
        for script in (
            "LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "GEORGIAN", "DEVANAGARI", "BENGALI", "GURMUKHI", "GUJARATI",
            "TAMIL", "TELUGU", "KANNADA", "MALAYALAM", "SINHALA", "THAI", "LAO", "KHMER", "MYANMAR", "ETHIOPIC",
        )
    ),
)  # fmt: skip
# Of Latin the letters of languages: what else bears its name are phonetic signs that look like letters of ASCII.
_LATIN = frozenset({*range(0xDF, 0x131), *range(0x132, 0x138), *range(0x139, 0x180), *range(0x1EA0, 0x1F00)})
_MORE_LATIN = frozenset("ơưșț")
# Letters that look like Latin ones; a label of these alone is taken for another.
_LOOKALIKES = {
    "CYRILLIC": frozenset("абвгеѕһіјӏкмнопрсԁтухъьѡԛԝгҽпѵыԍԗзэё"),
    "GREEK": frozenset("αβγεζηικνοπρστυχωϲ"),
    "ARMENIAN": frozenset("եզիխծհղոսսցւքօյոռչզցթտ"),
}
_COMMON = frozenset("-0123456789")


def readable(text: str) -> str:
    """The text with each name in it as people write it."""
    return _NAME.sub(lambda found: readable_host(found[0]), text) if _PREFIX in text.lower() else text


@lru_cache(maxsize=4096)
def readable_host(host: str) -> str:
    """A name as people write it; each label that may be taken for another stays in the DNS's letters."""
    return ".".join(map(_label, host.split(".")))


def _label(label: str) -> str:
    if not label.lower().startswith(_PREFIX) or len(label) > _MAX_LABEL_CHARS:
        return label
    # Here, since few names need it and commands begin quicker without.
    import idna  # noqa: PLC0415

    try:
        letters = idna.decode(label.lower())
        is_it = idna.encode(letters).decode() == label.lower()
    except UnicodeError:
        return label
    return letters if is_it and _is_unmistakable(letters) else label


def _is_unmistakable(letters: str) -> bool:
    scripts = {_script(char) for char in letters if char not in _COMMON}
    if not any(scripts <= together for together in _TOGETHER):
        return False
    if scripts == {"LATIN"}:
        return all(char.isascii() or ord(char) in _LATIN or char in _MORE_LATIN for char in letters)
    (script, *more) = scripts
    alike = _LOOKALIKES.get(script, frozenset()) if not more else frozenset[str]()
    return not all(char in alike or char in _COMMON for char in letters)


def _script(char: str) -> str:
    """The first word of its name; nothing for what is no letter of a script, such as a joiner or an emoji."""
    if unicodedata.category(char)[0] not in "LMN" or unicodedata.bidirectional(char) in ("R", "AL"):
        return ""
    return unicodedata.name(char, "").partition(" ")[0]
