"""How the descriptions of commands fit a terminal: sentences are filled, examples broken where a shell allows it."""

import re
from collections.abc import Iterator
from itertools import groupby
from textwrap import TextWrapper

_COMMAND = "firstbyte "
_REMARK = "# "
# What stands behind several spaces is another column, and what is quoted is one word.
_COLUMNS = re.compile(r"\s{2,}")
_WORDS = re.compile(r"(?:'[^']*'|\"[^\"]*\"|\S)+")
_DEEPER = "    "
_APART = "   "
# A column that leaves less for words is no column.
_MIN_WORDS = 30


def laid_out(text: str, width: int) -> list[str]:
    """Lines of at most `width` columns, where their words allow it. Those that are indented stay lines of their own."""
    lines: list[str] = []
    for is_prose, block in groupby(text.splitlines(), key=lambda line: line[:1].strip() != ""):
        told = list(block)
        if is_prose:
            lines += _wrapped(" ".join(told), width)
        else:
            lines += [part for line in told for part in _indented(line, width)]
    return lines


def _indented(line: str, width: int) -> Iterator[str]:
    words = line.lstrip()
    indent = line[: len(line) - len(words)]
    if len(line) <= width:
        yield line
        return
    first, *more = _COLUMNS.split(words)
    if words.startswith(_COMMAND):
        yield from _command(first, indent, width)
        yield from (part for note in more for part in _filled(note, indent + _DEEPER, width))
    elif words.startswith(_REMARK):
        # In a file that is copied from here, each line of a remark has to be one.
        yield from _wrapped(words.removeprefix(_REMARK), width, indent + _REMARK, indent + _REMARK)
    elif len(more) == 1:
        yield from _pair(indent + first, more[0], line.index(more[0], len(indent + first)), width)
    else:
        yield from _packed([first, *more], indent, width)


def _command(text: str, indent: str, width: int) -> Iterator[str]:
    line = indent
    for word in _units(_WORDS.findall(text), width - len(indent + _DEEPER) - len(" \\")):
        if line.strip() and len(line) + len(word) + len(" \\") > width:
            yield f"{line}\\"
            line = indent + _DEEPER
        line += f"{word} "
    yield line.rstrip()


def _units(words: list[str], room: int) -> Iterator[str]:
    """What a line is not broken within: an option with its value, where a line has room for both."""
    left = iter(words)
    for word in left:
        value = next(left, None) if word.startswith("--") else None
        if value is None:
            yield word
        elif value.startswith("-") or len(word) + 1 + len(value) > room:
            yield from (word, *_units([value, *left], room))
        else:
            yield f"{word} {value}"


def _pair(name: str, words: str, column: int, width: int) -> Iterator[str]:
    """A name and what is said of it, in a column of its own where there is room."""
    if width - column < _MIN_WORDS:
        yield name
        yield from _filled(words, f"{name[: len(name) - len(name.lstrip())]}{_DEEPER}", width)
        return
    yield from _wrapped(words, width, name.ljust(column), " " * column)


def _packed(parts: list[str], indent: str, width: int) -> Iterator[str]:
    """As many in a line as fit."""
    line = parts[0]
    for part in parts[1:]:
        if len(indent + line + _APART + part) > width:
            yield from _filled(line, indent, width)
            line = part
        else:
            line += _APART + part
    yield from _filled(line, indent, width)


def _filled(words: str, indent: str, width: int) -> list[str]:
    if len(indent + words) <= width:
        return [indent + words]
    return _wrapped(words, width, indent, indent + _DEEPER)


def _wrapped(words: str, width: int, first: str = "", others: str = "") -> list[str]:
    """Behind what the first line and all others begin with. Options and headers have hyphens, and stay whole."""
    filler = TextWrapper(width, initial_indent=first, subsequent_indent=others, break_on_hyphens=False)
    return filler.wrap(words)
