"""Whoever waits for news never keeps the web server from ending."""

import os
import signal
from collections.abc import Iterator
from threading import Timer
from time import monotonic

import pytest

from backend.api.v1 import waiting
from workers.stopping import Stop


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """What the server's own answer to SIGTERM was called with."""
    numbers: list[int] = []
    monkeypatch.setattr(waiting, "_ENDING", Stop())
    before = signal.signal(signal.SIGTERM, lambda number, _: numbers.append(number))
    yield numbers
    signal.signal(signal.SIGTERM, before)


def test_who_waits_is_answered_at_once_when_the_server_is_told_to_end(
    heard: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "give_back", lambda: None)
    waiting.answer_before_the_end()
    began = monotonic()
    Timer(0.05, os.kill, (os.getpid(), signal.SIGTERM)).start()
    assert waiting.wait_for(lambda: "not yet", lambda _: False, wait_s=30) == "not yet"
    assert monotonic() - began < 10
    assert heard == [signal.SIGTERM]
