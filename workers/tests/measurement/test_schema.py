"""The schema files say what the messages say."""

import json
from pathlib import Path

import pytest

from workers.measurement import schema, wire
from workers.tests.builders import EXAMPLES

DIRECTORY = Path(schema.__file__).parent


def test_the_files_are_what_the_messages_say() -> None:
    assert schema.stale(DIRECTORY) == []


def test_writing_mends_what_checking_complains_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert schema.main(["--check"], tmp_path) == 1
    assert "run python -m workers.measurement.schema" in capsys.readouterr().err
    assert schema.main([], tmp_path) == 0
    (tmp_path / "forgotten.9.json").write_text("{}")
    (tmp_path / "progress.1.json").write_text("{}")
    assert schema.stale(tmp_path) == ["forgotten.9.json", "progress.1.json"]
    schema.main([], tmp_path)
    assert schema.main(["--check"], tmp_path) == 0


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_a_golden_message_has_the_fields_of_its_schema(name: str) -> None:
    envelope = json.loads(wire.encode(EXAMPLES[name]))
    described = json.loads((DIRECTORY / f"{envelope['kind']}.{envelope['version']}.json").read_text())
    assert set(described["required"]) <= set(envelope["body"]) <= set(described["properties"])
