"""What a log is told, in lines that nobody else can write: texts of others are in many of them. Pure."""

import logging
from typing import Any


class LogLine(logging.Formatter):
    """One line for each message, whatever it holds, and indented ones for the traceback behind it.

    So no line is there that was not logged, and no terminal obeys what somebody had us log.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  # as logging calls it
        return shown(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802  # as logging calls it
        text = super().formatException(ei)
        return "\n".join(f"  {shown(line)}" for line in text.splitlines())


def shown(text: str) -> str:
    """The text on one line, with what is not to be seen in Python's own spelling."""
    return text if text.isprintable() else "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
