from pathlib import Path

import pytest

from backend.web import contract


def test_the_committed_types_are_those_of_the_service() -> None:
    assert (contract.SOURCES / "contract.ts").read_text() == contract.typescript()
    assert (contract.SOURCES / "styles" / "shapes.css").read_text() == contract.style_sheet()


def test_the_check_says_what_to_do_when_they_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(contract, "SOURCES", tmp_path)
    (tmp_path / "styles").mkdir()
    assert contract.main(["--check"]) == 1
    assert "python -m backend.web.contract" in capsys.readouterr().err
    assert contract.main([]) == 0
    assert contract.main(["--check"]) == 0
    (tmp_path / "styles" / "shapes.css").write_text("")
    assert contract.main(["--check"]) == 1
    assert "shapes.css" in capsys.readouterr().err
