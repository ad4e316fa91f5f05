"""What the tests of the command line have in common."""

import pytest


@pytest.fixture(autouse=True)
def _no_size_of_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs these tests has a terminal of their own size; what is told into a pipe is as wide as ever."""
    for name in ("COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
