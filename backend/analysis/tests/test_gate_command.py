"""The gate as a command: a document in, a document out."""

import json
import subprocess
import sys
from typing import Any

import pytest

from backend.analysis.document import DocumentError
from backend.analysis.gate_command import answer

VALUES = [200.0, 208, 195, 203, 199, 210, 190, 204, 201, 198] * 6
DOCUMENT: dict[str, Any] = {
    "rules": [{"metric": "ttfb_ms", "max_change_pct": 10, "min_change_ms": 5}],
    "confidence": 0.99,
    "history": {"ttfb_ms": {"fra": VALUES, "iad": VALUES}},
    "fresh": {"ttfb_ms": {"fra": VALUES[:12], "iad": VALUES[:12]}},
    "looks": 1,
    "planned_looks": 3,
}


def ask(**changes: object) -> dict[str, Any]:
    return answer(json.dumps(DOCUMENT | changes).encode())


def test_a_process_reads_and_writes_one_document() -> None:
    command = [sys.executable, "-m", "backend.analysis", "gate"]
    done = subprocess.run(command, input=json.dumps(DOCUMENT), capture_output=True, text=True, check=True, timeout=300)
    told = json.loads(done.stdout)
    (rule,) = told["rules"]
    assert (told["verdict"], rule["metric"], rule["verdict"]) == ("pass", "ttfb_ms", "pass")
    low, high = rule["change"]["ci_pct"]
    assert low < rule["change"]["pct"] < high < 10
    assert rule["baseline"]["n"] == 120
    assert [part["region"] for part in rule["regions"]] == ["fra", "iad"]


def test_a_wrong_document_ends_with_2_and_names_the_field() -> None:
    command = [sys.executable, "-m", "backend.analysis", "gate"]
    wrong = json.dumps(DOCUMENT | {"confidence": "high"})
    done = subprocess.run(command, input=wrong, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout) == (2, "")
    assert "confidence" in done.stderr


def test_both_names_of_a_metric_mean_the_same() -> None:
    assert ask(rules=[{"metric": "ttfb", "max_change_pct": 10}])["verdict"] == "pass"


def test_a_warning_is_told_and_changes_nothing() -> None:
    warning = {"metric": "ttfb_ms", "max_value_ms": 50, "level": "warn"}
    told = ask(rules=[*DOCUMENT["rules"], warning])
    assert told["verdict"] == "pass"
    assert told["rules"][1]["verdict"] == "fail"


def test_nulls_are_runs_that_failed() -> None:
    told = ask(fresh={"ttfb_ms": {"fra": [200, 201, 199, None, None], "iad": [200, 202, 198]}})
    middle = pytest.approx(201, abs=3)
    assert told["rules"][0]["after"] == {"n": 6, "median": middle, "median_ms": middle, "failed": 2}
    told = ask(fresh={"ttfb_ms": {"fra": [None, None, None], "iad": [200, 202, 198]}})
    assert (told["verdict"], told["rules"][0]["reason"]) == ("error", "3 of 6 runs failed; at most 30 % may.")


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"rules": []}, "rules"),
        ({"rules": [{"metric": "ttfb_ms"}]}, r"rules\[0\]"),
        ({"rules": [{"metric": "ttfb_ms", "max_change_pct": 10, "max_value_ms": 3}]}, r"rules\[0\]"),
        ({"rules": [{"metric": "ttfb_ms", "max_change_pct": 10, "max_value": 3}]}, r"rules\[0\]"),
        ({"rules": [{"metric": "ttfb", "max_value": 3, "max_value_ms": 3}]}, r"rules\[0\]\.max_value_ms"),
        ({"rules": [{"metric": "bytes", "max_value_ms": 3}]}, r"rules\[0\]\.max_value_ms: 'bytes' is no time"),
        (
            {"rules": [{"metric": "queue", "max_change_pct": 9, "min_change_ms": 3}]},
            r"rules\[0\]\.min_change_ms: 'queue' is no time: give min_change, in its own unit",
        ),
        (
            {"rules": [{"metric": "ttfb_ms", "max_value_ms": 900, "min_change_ms": 50}]},
            r"rules\[0\]\.min_change: belongs to max_change_pct",
        ),
        ({"rules": [{"metric": "ttfb_ms", "max_change_pct": -1}]}, r"rules\[0\]\.max_change_pct"),
        ({"rules": [{"metric": "lcp_ms", "max_change_pct": 10}]}, r"history\.lcp_ms"),
        ({"confidence": 1.2}, "confidence"),
        ({"looks": 4}, "looks"),
        ({"planned_looks": 40}, "planned_looks"),
        ({"fresh": {"ttfb_ms": {"fra": [-1]}}}, r"fresh\.ttfb_ms\.fra\[0\]"),
        ({"fresh": {"ttfb_ms": {"fra": "many"}}}, r"fresh\.ttfb_ms\.fra"),
        ({"fresh": {"ttfb_ms": 7}}, r"fresh\.ttfb_ms"),
        ({"history": None}, "history"),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, object], named: str) -> None:
    with pytest.raises(DocumentError, match=named):
        ask(**changes)


def test_an_unknown_metric_is_compared_too_but_not_from_nothing() -> None:
    own = {"history": {"queue_ms": {"fra": VALUES}}, "fresh": {"queue_ms": {"fra": VALUES[:12]}}}
    rules = [{"metric": "queue_ms", "max_change_pct": 50}]
    assert ask(rules=rules, **own)["verdict"] == "pass"
    with pytest.raises(DocumentError, match="a value of 0"):
        ask(rules=rules, **own | {"fresh": {"queue_ms": {"fra": [0, 0, 0]}}})


SIZES = {"history": {"bytes": {"fra": VALUES}}, "fresh": {"bytes": {"fra": VALUES[:12]}}}


def test_limits_of_what_is_no_time_are_in_its_own_unit_and_so_is_what_is_told() -> None:
    (rule,) = ask(rules=[{"metric": "bytes", "max_change_pct": 10, "min_change": 100}], **SIZES)["rules"]
    assert rule["verdict"] == "pass"
    assert rule["baseline"]["median"] == pytest.approx(200, abs=1)
    assert rule["after"]["median"] == pytest.approx(200, abs=3)
    assert rule["change"]["change"] == pytest.approx(rule["after"]["median"] - rule["baseline"]["median"], abs=0.01)
    assert (rule["baseline"]["median_ms"], rule["after"]["median_ms"], rule["change"]["ms"]) == (None, None, None)
    # So many do not count.
    assert rule["effective_limit_pct"] == pytest.approx(50, abs=1)
    assert ask(rules=[{"metric": "bytes", "max_value": 150}], **SIZES)["rules"][0]["verdict"] == "fail"


@pytest.mark.parametrize("metric", ["ttfb", "ttfb_ms", "speed_index", "queue_ms"])
@pytest.mark.parametrize("unit", ["", "_ms"])
def test_of_times_both_names_of_a_limit_are_milliseconds(metric: str, unit: str) -> None:
    side = {"history": {metric: {"fra": VALUES}}, "fresh": {metric: {"fra": VALUES[:12]}}}
    (rule,) = ask(rules=[{"metric": metric, "max_change_pct": 10, f"min_change{unit}": 100}], **side)["rules"]
    assert rule["effective_limit_pct"] == pytest.approx(50, abs=1)
    assert rule["baseline"]["median_ms"] == rule["baseline"]["median"]
    assert rule["change"]["ms"] == rule["change"]["change"]
    (rule,) = ask(rules=[{"metric": metric, f"max_value{unit}": 150}], **side)["rules"]
    assert (rule["verdict"], rule["max_value"]) == ("fail", 150)


def test_a_rule_that_is_left_open_says_why() -> None:
    """One run in ten misses the cache, and now all three in one of the regions."""
    before = [200.0 * (2 if place % 10 == 0 else 1) + place % 7 for place in range(60)]
    fresh = {"fra": [400.0, 401.0, 399.0], "iad": [201.0, 203.0, 204.0]}
    history = {"fra": before, "iad": before}
    rule = ask(history={"ttfb_ms": history}, fresh={"ttfb_ms": fresh}, confidence=0.95)["rules"][0]
    assert (rule["verdict"], rule["extra_runs_to_decide"]) == ("inconclusive", None)
    assert rule["reason"].startswith("So many of the earlier runs were as high")
