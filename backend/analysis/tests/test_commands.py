"""`python -m backend.analysis`: one document in, one out, and plain words about what is wrong with one."""

import json
import os
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.analysis.__main__ import COMMANDS, main
from backend.analysis.detect_command import answer
from backend.analysis.settings import DAY_S
from backend.analysis.simulation import START, Step, World, simulate


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str, text: str) -> Any:
    """What the command prints, read, or (exit code, stderr) when it refuses."""
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(text.encode())))
    code = main([command])
    printed = capsys.readouterr()
    if code:
        assert printed.out == ""
        return code, printed.err
    assert printed.err == ""
    return json.loads(printed.out)


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    return lambda command, text: run(monkeypatch, capsys, command, text)


def detect_document(**changes: Any) -> str:
    document = {"metric": "ttfb_ms", "interval_s": 300, "regions": {"fra": [[START, 200.5], [START + 300, None]]}}
    return json.dumps(document | {"deploys": []} | changes)


def test_a_month_with_a_slow_deploy_gives_one_regression(ask: Any) -> None:
    at = 7 * DAY_S
    regions = simulate(World(cv=0.15, days=10, regions=3), 1, [Step(at=at, factor=1.3)])
    (alert,) = ask("detect", detect_document(regions=regions, deploys=[START + at - 30]))["alerts"]
    assert alert["class"] == "regression"
    assert alert["regions"] == ["region-0", "region-1", "region-2"]
    assert abs(alert["change_at"] - START - at) <= 1500
    assert alert["at"] - START - at < 3 * 3600
    assert abs(alert["change_pct"] - 30) < 6
    assert alert["level"] == pytest.approx(alert["baseline"] * (1 + alert["change_pct"] / 100), rel=0.001)
    assert alert["deploy_at"] == START + at - 30
    assert alert["resolved_at"] is None
    assert 0.99 < alert["confidence"] <= 1


def test_the_order_of_the_samples_does_not_matter(ask: Any) -> None:
    regions = simulate(World(cv=0.1, days=4, regions=2), 2, [Step(at=3 * DAY_S, factor=1.6)])
    there = ask("detect", detect_document(regions=regions))
    back = ask("detect", detect_document(regions={name: part[::-1] for name, part in regions.items()}))
    assert there == back
    assert len(there["alerts"]) == 1


def test_without_deploys_and_with_little_to_go_by_there_is_an_answer(ask: Any) -> None:
    document = json.loads(detect_document())
    del document["deploys"]
    assert ask("detect", json.dumps(document)) == {"alerts": []}
    assert ask("detect", detect_document(regions={"fra": []})) == {"alerts": []}


Value = st.one_of(st.none(), st.floats(min_value=0, max_value=1e300), st.sampled_from([0.0, 1.0, 200.0]))


@settings(max_examples=settings().max_examples // 4)
@given(
    st.lists(st.lists(Value, min_size=1, max_size=12), min_size=1, max_size=3),
    st.sampled_from([30.0, 300.0, 3600.0, 86_400.0]),
    st.floats(min_value=1, max_value=1e6),
)
def test_whatever_is_measured_is_answered(patterns: list[list[float | None]], interval_s: float, change: float) -> None:
    """Each region repeats a pattern for 400 rounds, the later half of them times `change`."""
    regions = {}
    for index, pattern in enumerate(patterns):
        values = [pattern[round_ % len(pattern)] for round_ in range(400)]
        values[200:] = [None if value is None else min(value * change, 1e308) for value in values[200:]]
        regions[f"r{index}"] = [[START + round_ * interval_s, value] for round_, value in enumerate(values)]
    document = {"metric": "ttfb_ms", "interval_s": interval_s, "regions": regions}
    for alert in answer(json.dumps(document).encode())["alerts"]:
        json.dumps(alert, allow_nan=False)
        assert alert["change_between"][0] <= alert["change_at"] <= alert["change_between"][1]
        assert alert["change_at"] <= alert["at"]
        assert (alert["class"] == "improvement") == (alert["level"] < alert["baseline"])
        assert set(alert["regions"]) <= regions.keys()


def test_change_points_are_indexes(ask: Any) -> None:
    document = json.dumps({"values": [10, 11] * 6 + [None] + [30, 31] * 6})
    assert ask("changepoints", document) == {"changepoints": [13]}


@pytest.mark.parametrize(
    ("command", "text", "told"),
    [
        ("detect", "", "document: "),
        ("detect", "[]", "document: "),
        ("detect", "{}", "metric: "),
        ("detect", detect_document(metric=""), "metric: "),
        ("detect", detect_document(interval_s=0), "interval_s: "),
        ("detect", detect_document(interval_s="300"), "interval_s: "),
        ("detect", detect_document(regions={}), "regions: "),
        ("detect", detect_document(regions={"fra": [[START]]}), "regions.fra[0][1]: "),
        ("detect", detect_document(regions={"fra": [[START, 1], [START + 300, "fast"]]}), "regions.fra[1][1]: "),
        ("detect", detect_document(regions={"fra": [[START, -4]]}), "regions.fra[0][1]: "),
        ("detect", detect_document(regions={"fra": [[START, True]]}), "regions.fra[0][1]: "),
        ("detect", detect_document(regions={"fra": [["2026-01-01", 4]]}), "regions.fra[0][0]: "),
        ("detect", detect_document(deploys=[None]), "deploys[0]: "),
        ("detect", '{"metric":"ttfb_ms","interval_s":300,"regions":{"fra":[[1,NaN]]}}', "regions.fra[0][1]: "),
        ("changepoints", '{"values": 3}', "values: "),
        ("changepoints", '{"values": [1, "2"]}', "values[1]: "),
        ("changepoints", '{"values": [1, Infinity]}', "values[1]: "),
        ("changepoints", "{}", "values: "),
    ],
)
def test_a_wrong_document_is_refused_by_the_name_of_its_field(ask: Any, command: str, text: str, told: str) -> None:
    code, said = ask(command, text)
    assert code == 2
    assert said.startswith(f"{command}: {told}"), said


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches_the_document(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert "stdin" in printed
    assert "stdout" in printed


def test_an_unknown_command_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["divine"])
    assert ended.value.code == 2
    assert "divine" in capsys.readouterr().err


def test_the_command_needs_neither_django_nor_a_database() -> None:
    program = (
        "import sys, runpy; sys.modules['django'] = None; sys.argv = ['analysis', 'changepoints']; "
        "runpy.run_module('backend.analysis', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=b'{"values": [1, 2, 3]}',
        capture_output=True,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"changepoints": []}
