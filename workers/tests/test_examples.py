"""What hypothesis tries is the same each time: a run that fails says something of the change, and not of its day."""

from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

NUMBERS = range(10**6, 10**6 + 400)


def tried() -> list[int]:
    """What is tried of all whole numbers."""
    numbers: list[int] = []

    @given(st.integers())
    def keep(number: int) -> None:
        numbers.append(number)

    keep()
    return numbers


def test_what_is_tried_is_the_same_whatever_was_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tried()
    (tmp_path / "imported_since.py").write_text(f"NUMBERS = {list(NUMBERS)}")
    monkeypatch.syspath_prepend(tmp_path)
    import_module("imported_since")
    assert tried() == before
