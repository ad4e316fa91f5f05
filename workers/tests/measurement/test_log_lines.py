"""A log says what we logged: nobody whose words are in it writes a line of it, or speaks to a terminal."""

import io
import logging
from collections.abc import Iterator

import pytest

from workers.measurement.log_lines import LogLine

HOSTILE = "bad\n2026-11-27 INFO django.server all is well\r\x1b]0;owned\x07\u202e"


@pytest.fixture
def lines() -> Iterator[tuple[logging.Logger, io.StringIO]]:
    log, text = logging.Logger("lab"), io.StringIO()
    handler = logging.StreamHandler(text)
    handler.setFormatter(LogLine("%(levelname)s %(name)s %(message)s"))
    log.addHandler(handler)
    yield log, text
    handler.close()


def test_a_message_is_one_line_whatever_is_in_it(lines: tuple[logging.Logger, io.StringIO]) -> None:
    log, text = lines
    log.warning("a result cannot be read: %s", HOSTILE)
    assert text.getvalue() == (
        "WARNING lab a result cannot be read: bad\\n2026-11-27 INFO django.server all is well"
        "\\r\\x1b]0;owned\\x07\\u202e\n"
    )


def test_a_traceback_keeps_its_lines_and_none_of_them_looks_like_one_of_ours(
    lines: tuple[logging.Logger, io.StringIO],
) -> None:
    log, text = lines
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        log.exception("it failed")
    first, *rest = text.getvalue().splitlines()
    assert first == "ERROR lab it failed"
    assert rest[0] == "  Traceback (most recent call last):"
    assert all(line.startswith("  ") for line in rest)
    assert any("all is well" in line for line in rest)
    assert text.getvalue().replace("\n", "").isprintable()


def test_letters_of_all_scripts_stay_as_they_are(lines: tuple[logging.Logger, io.StringIO]) -> None:
    log, text = lines
    log.info("Größe, 大きさ, 🔴")
    assert text.getvalue() == "INFO lab Größe, 大きさ, 🔴\n"
