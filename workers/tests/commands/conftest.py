"""What the tests of the command line have in common."""

import os

import pytest

from workers.commands import pipeline_api


@pytest.fixture(autouse=True)
def _no_size_of_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs these tests has a terminal of their own size; what is told into a pipe is as wide as ever."""
    for name in ("COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def pipeline(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipeline that has a token and says nothing of itself; what is tried again is tried at once."""
    monkeypatch.setattr(pipeline_api, "_PAUSES_S", (0.01, 0.01, 0.01, 0.01))
    for name in list(os.environ):
        if name.startswith(("GITHUB_", "CI_", "FIRSTBYTE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("FIRSTBYTE_TOKEN", "fb_api_secret")
