from pathlib import Path

import pytest

from backend.web import contract


def test_the_committed_types_are_those_of_the_service() -> None:
    assert contract.TARGET.read_text() == contract.typescript()


def test_the_check_says_what_to_do_when_they_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(contract, "TARGET", tmp_path / "contract.ts")
    assert contract.main(["--check"]) == 1
    assert "python -m backend.web.contract" in capsys.readouterr().err
    assert contract.main([]) == 0
    assert contract.main(["--check"]) == 0
