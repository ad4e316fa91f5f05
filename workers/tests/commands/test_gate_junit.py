"""`firstbyte gate --junit`: what pipelines show beside other tests says what the exit code says."""

from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from workers.cli import main
from workers.commands import pipeline_api
from workers.commands.pipeline_junit import junit_of, junit_of_no_gate
from workers.tests.commands.pipeline_stub import Stub, begun, gate, problem

PASS, FAIL, OPEN, ERROR = "pass", "fail", "inconclusive", "error"


def rule(verdict: str | None = PASS, *, level: str = "fail", **more: object) -> dict[str, Any]:
    usual = {"metric": "ttfb_ms", "kind": "probe", "limit_pct": 10.0, "min_change": 5.0, "max_value": None}
    return {**usual, "level": level, "verdict": verdict, "sentence": "First byte +12.0 %, limit +10 %.", **more}


def answer(code: int | None, *rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    verdict = {0: PASS, 1: FAIL, 3: OPEN, 4: ERROR, None: None}[code]
    runs = {"planned": 12, "completed": 12, "looks": 1, "planned_looks": 3, "duration_s": 48}
    told = gate("done", verdict, code, site_name="shop", rules=rules, runs=runs, **more).body
    assert isinstance(told, dict)
    return told


def suite_of(text: str) -> ElementTree.Element:
    suites = ElementTree.fromstring(text)
    (suite,) = suites
    assert suite.tag == "testsuite"
    # What is skipped is counted by suite: files with more are refused by the schema of Jenkins' xUnit plugin.
    assert {**suites.attrib, "name": suite.get("name"), "skipped": suite.get("skipped")} == suite.attrib
    assert "skipped" not in suites.attrib
    return suite


def marks_of(text: str) -> list[tuple[str | None, str | None]]:
    return [(case.get("name"), case[0].tag if len(case) else None) for case in suite_of(text).iter("testcase")]


def test_each_rule_is_a_case_with_its_sentence() -> None:
    lcp = rule(
        FAIL, metric="lcp_ms", kind="page", limit_pct=None, max_value=2500.0, min_change=0.0, sentence="LCP 3 s."
    )
    text = junit_of(answer(1, rule(), lcp, warnings=["Few runs."]))

    assert marks_of(text) == [("probe ttfb<=+10%,5ms", None), ("page lcp<=2500ms", "failure")]
    suite = suite_of(text)
    assert {name: suite.get(name) for name in ("name", "tests", "failures", "errors", "skipped", "time")} == {
        "name": "firstbyte gate: shop",
        "tests": "2",
        "failures": "1",
        "errors": "0",
        "skipped": "0",
        "time": "48",
    }
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert (failure.get("message"), failure.text) == ("LCP 3 s.", "LCP 3 s.")
    assert {case.get("classname") for case in suite.iter("testcase")} == {"firstbyte.shop"}
    out = suite.findtext("system-out") or ""
    assert "note: Few runs." in out
    assert "https://monitor.example/gates/" in out


@pytest.mark.parametrize(
    ("verdict", "level", "code", "mark"),
    [
        (PASS, "fail", 0, None),
        (FAIL, "fail", 1, "failure"),
        (OPEN, "fail", 3, "skipped"),
        (ERROR, "fail", 4, "error"),
        (None, "fail", 4, "error"),
        (None, "fail", 0, "skipped"),
        (None, "fail", None, "skipped"),
        (PASS, "warn", 0, None),
        (FAIL, "warn", 0, "skipped"),
        (ERROR, "warn", 0, "skipped"),
    ],
)
def test_a_case_is_marked_by_what_its_rule_came_to(verdict: str, level: str, code: int | None, mark: str) -> None:
    ((name, found),) = marks_of(junit_of(answer(code, rule(verdict, level=level))))

    assert found == mark
    assert name == "probe ttfb<=+10%,5ms" + (" (warning)" if level == "warn" else "")


def marked(gate: dict[str, Any]) -> list[str | None]:
    """What is said of cases that did not pass."""
    return [case[0].get("message") for case in suite_of(junit_of(gate)).iter("testcase") if len(case)]


def test_what_is_said_of_all_of_it_stands_above_the_notes() -> None:
    out = suite_of(junit_of(answer(0, rule(), summary="All is well.", warnings=["Few runs."]))).findtext("system-out")
    assert (out or "").startswith("All is well.\nnote: Few runs.\n")


def test_what_was_never_begun_took_no_time() -> None:
    assert suite_of(junit_of_no_gate("shop", "No service.")).get("time") == "0"


def test_what_ended_the_gate_is_a_case_where_no_rule_says_it() -> None:
    """Undecided rules fail a gate that is told to, and a gate that was cancelled could not be measured."""
    assert marks_of(junit_of(answer(1, rule(OPEN))))[1:] == [("verdict", "failure")]
    assert "Too few runs." in marked(answer(1, rule(OPEN), summary="Too few runs."))
    cancelled = answer(4, rule(OPEN), summary="") | {"status": "cancelled"}
    assert marks_of(junit_of(cancelled))[1:] == [("verdict", "error")]
    assert "The gate is cancelled." in junit_of(cancelled)


def test_the_file_never_contradicts_the_exit_code() -> None:
    verdicts, levels = (PASS, FAIL, OPEN, ERROR, None), ("fail", "warn")
    for first, second in product(product(verdicts, levels), repeat=2):
        deciding = {verdict for verdict, level in (first, second) if level == "fail"}
        codes = [1] if FAIL in deciding else [4] if ERROR in deciding else [0, 1, 3, 4] if deciding - {PASS} else [0, 4]
        for code in codes:
            told = answer(code, *(rule(verdict, level=level) for verdict, level in (first, second)))
            marks = {mark for _, mark in marks_of(junit_of(told))}
            assert ("failure" in marks) is (code == 1), (first, second, code)
            assert ("error" in marks) >= (code == 4), (first, second, code)
            assert code in (1, 4) or "error" not in marks, (first, second, code)


def test_no_text_of_others_breaks_the_file() -> None:
    odd = '<b> & "shop"\x00\x1b[31m\ud800\ufffe]]>\nnext'
    for text in (
        junit_of(answer(1, rule(FAIL, sentence=odd), summary=odd, warnings=[odd]) | {"site_name": odd}),
        junit_of_no_gate(odd, odd),
    ):
        assert text.encode().isascii() is False
        (case,) = suite_of(text).iter("testcase")
        assert (case[0].text or "").startswith('<b> & "shop"\ufffd\ufffd[31m\ufffd\ufffd]]>\nnext')
        assert (case.get("classname") or "").startswith('firstbyte.<b> & "shop"')


@pytest.fixture(autouse=True)
def _quick_and_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline_api, "_PAUSES_S", (0.01,))
    monkeypatch.setenv("FIRSTBYTE_TOKEN", "fb_api_secret")


def ask(stub: Stub, file: Path) -> int:
    return main(["gate", "--url", stub.url, "--site", "shop", "--junit", str(file)])


def test_the_command_writes_the_file_and_keeps_its_exit_code(tmp_path: Path) -> None:
    file = tmp_path / "gate.xml"
    with Stub([begun(), gate(**answer(1, rule(FAIL)))]) as stub:
        assert ask(stub, file) == 1
    assert marks_of(file.read_text("utf-8")) == [("probe ttfb<=+10%,5ms", "failure")]
    with Stub([begun(), gate(**answer(1, rule(FAIL)))]) as stub:
        assert ask(stub, tmp_path / "no" / "folder") == 1


@pytest.mark.parametrize("status", [503, 409])
def test_a_service_that_cannot_be_asked_is_an_error_in_the_file(tmp_path: Path, status: int) -> None:
    file = tmp_path / "gate.xml"
    with Stub([problem(status, "The site rests.")]) as stub:
        assert ask(stub, file) == 4
    assert marks_of(file.read_text("utf-8")) == [("verdict", "error")]
    assert "The site rests." in file.read_text("utf-8")
