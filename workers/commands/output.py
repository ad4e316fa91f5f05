"""What a command tells: its result on standard output, everything else on standard error. Imports next to nothing."""

import codecs
import json
import os
import sys
from collections.abc import Callable
from io import TextIOWrapper
from typing import Any, TextIO

# Characters of our drawings for terminals that do not know them, each as wide as what it stands for.
_STAND_INS = {
    **dict.fromkeys("█▉▊▋▌", "#"),
    **dict.fromkeys("▍▎▏┤├│", "|"),
    **dict.fromkeys("─━\N{EN DASH}\N{MINUS SIGN}", "-"),
    # The shades of phases, and what is in none, stay apart.
    "╴": "_",
    "·": ".",
    "░": "%",
    "▒": ":",
    "▓": "=",
    "▶": ">",
    "→": ">",
    "◀": "<",
    "●": "*",
    "◐": "*",
    "○": "o",
    "✗": "x",
    "…": "~",
}
_PLAINER = "firstbyte.plainer"


class OutputError(Exception):
    """What was measured cannot be told where it should be; the text says where and why."""


class ReaderGoneError(OutputError):
    """Whoever reads standard output has seen enough, as `head` has."""


def make_streams_sound() -> None:
    """What the caller closed leads nowhere, so that no socket takes its number; what a terminal cannot show is told in
    what it can.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 (as long as the process lives)
    codecs.register_error(_PLAINER, _in_plainer_letters)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=_PLAINER)


def write(text: str) -> None:
    """Text to standard output with a line break. Raises OutputError."""
    _to_stdout(lambda: sys.stdout.write(f"{text}\n"))


def write_json(document: Any) -> None:
    """One document in one line; escaped where the locale is not that of JSON, and what a terminal might obey anywhere.
    Raises OutputError.
    """
    text = json.dumps(document, ensure_ascii=not takes_all_letters(sys.stdout))
    write(text.translate({ord(char): json.dumps(char)[1:-1] for char in set(text) if not char.isprintable()}))


def takes_all_letters(stream: TextIO) -> bool:
    """Whether what is written there may hold letters of any script."""
    return (stream.encoding or "").lower().replace("-", "") == "utf8"


def flush() -> None:
    """Sees to it that all was told. Raises OutputError."""
    _to_stdout(lambda: None)


def give_up_stdout() -> None:
    """What is left is not tried again when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(text: str) -> None:
    """Lines for people on standard error, at once. Nobody need hear it. What a file's name or a server says moves no
    cursor.
    """
    try:
        sys.stderr.write(f"{harmless(text)}\n")
        sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def harmless(text: str) -> str:
    """Lines in which nothing is left that a terminal might obey."""
    return "".join(char if char.isprintable() or char == "\n" else "\N{REPLACEMENT CHARACTER}" for char in text)


def _to_stdout(put: Callable[[], object]) -> None:
    try:
        put()
        sys.stdout.flush()
    except BrokenPipeError as error:
        raise ReaderGoneError("nobody reads standard output any more") from error
    except OSError as error:
        raise OutputError(
            f"standard output cannot be written ({error.strerror}); make room, or send it elsewhere"
        ) from error


def _in_plainer_letters(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return "".join(_STAND_INS.get(char, "?") for char in error.object[error.start : error.end]), error.end
