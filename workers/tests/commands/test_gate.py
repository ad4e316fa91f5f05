"""`firstbyte gate` and `firstbyte deploys` against a service that answers, fails and hangs up as told."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from workers.cli import main
from workers.commands.pipeline_faults import place_of
from workers.tests.commands.pipeline_stub import GATE_ID, Said, Stub, ask, begun, gate, problem

pytestmark = pytest.mark.usefixtures("pipeline")
ROOT = Path(__file__).resolve().parents[3]
# What a bare install has not, or what only agents need.
ABSENT = (
    "django",
    "playwright",
    "celery",
    "pydantic",
    "urllib3",
    "requests",
    "numpy",
    "dns",
    "OpenSSL",
    "cryptography",
)


@pytest.mark.parametrize(("verdict", "code"), [("pass", 0), ("fail", 1), ("inconclusive", 3), ("error", 4)])
def test_the_verdict_is_the_exit_code(verdict: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    with Stub([begun(), gate("running", None, None), gate("done", verdict, code)]) as stub:
        assert ask(stub, "--rule", "ttfb<=+10%,5ms") == code
    out, err = capsys.readouterr()
    assert out.startswith(f"{verdict.upper()}: First byte +1.0 %")
    assert "running: 4 of 12 runs, look 1 of 3" in err
    first, *others = stub.asked
    assert (first.method, first.path) == ("POST", "/api/v1/gates")
    assert first.headers["Authorization"] == "Bearer fb_api_secret"
    assert first.body["site"] == "shop"
    assert first.body["rules"] == [{"metric": "ttfb", "level": "fail", "max_change_pct": 10.0, "min_change_ms": 5.0}]
    assert {request.path for request in others} == {f"/api/v1/gates/{GATE_ID}?wait=45"}


def test_the_sentence_of_an_only_rule_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    sentence = "First byte +12.0 % (+10.5 to +13.4 %), limit +10 %."
    alone = [{"verdict": "fail", "sentence": sentence}]
    for rules, lines in ((alone, []), ([*alone, {"verdict": "pass", "sentence": "lcp +1 %."}], ["  pass: lcp +1 %."])):
        with Stub([begun(), gate("done", "fail", 1, summary=sentence, rules=rules)]) as stub:
            ask(stub)
        told = capsys.readouterr().out.splitlines()
        assert told[: 1 + len(lines)] == [f"FAIL: {sentence}", *lines]
        assert sum(sentence in line for line in told) == 1


def test_the_rule_that_decided_is_not_told_again_without_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    sentence = "First byte: 4 of 4 runs failed; at most 30 % may."
    rules = [{"verdict": "error", "sentence": sentence}]
    with Stub([begun(), gate("done", "error", 4, summary=f"{sentence} The reason: 500.", rules=rules)]) as stub:
        ask(stub)
    assert capsys.readouterr().out.count("4 of 4 runs failed") == 1


def test_no_look_is_told_beyond_the_last(capsys: pytest.CaptureFixture[str]) -> None:
    runs = {"planned": 13, "completed": 8, "looks": 3, "planned_looks": 3}
    with Stub([begun(), gate("running", None, None, runs=runs), gate()]) as stub:
        ask(stub)
    assert "running: 8 of 13 runs, look 3 of 3" in capsys.readouterr().err


def test_warnings_alone_do_not_replace_the_usual_rule() -> None:
    with Stub([begun(), gate()]) as stub:
        ask(stub, "--warn", "total<=9s")
    assert [(rule["metric"], rule["level"]) for rule in stub.asked[0].body["rules"]] == [
        ("ttfb", "fail"),
        ("total", "warn"),
    ]


def test_two_addresses_are_compared_without_history() -> None:
    with Stub([begun(), gate()]) as stub:
        ask(
            stub,
            "--against-url",
            "https://old.example/?a=b",
            "--release-url",
            "page=https://pr-7.example/start?a=b",
            "--release-url",
            "pr-7.example",
        )
    body = stub.asked[0].body
    assert body["baseline"] == {"mode": "url", "url": "https://old.example/?a=b"}
    assert body["release"] == {
        "url": "pr-7.example",
        "urls": [{"monitor": "page", "url": "https://pr-7.example/start?a=b"}],
    }


def test_a_preview_is_compared_with_what_is_measured() -> None:
    with Stub([begun(), gate()]) as stub:
        ask(stub, "--release-url", "https://pr-7.example")
    body = stub.asked[0].body
    assert (body["baseline"], body["release"]) == ({"mode": "url"}, {"url": "https://pr-7.example"})


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--against-url", "https://a.example", "--before"], "compare two addresses within one gate"),
        (["--release-url", "https://a.example", "--against", "g"], "compare two addresses within one gate"),
        (["--release-url", "https://a.example", "--release-url", "https://b.example"], "one address for all monitors"),
    ],
)
def test_addresses_that_contradict_are_refused(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with Stub([]) as stub:
        assert ask(stub, *arguments) == 2
    assert said in capsys.readouterr().err


def test_json_is_one_document_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    with Stub([begun(), gate()]) as stub:
        assert ask(stub, "--json") == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["verdict"] == "pass"
    assert GATE_ID in err


def test_without_waiting_it_only_begins(capsys: pytest.CaptureFixture[str]) -> None:
    with Stub([begun()]) as stub:
        assert ask(stub, "--no-wait") == 0
    assert len(stub.asked) == 1
    assert GATE_ID in capsys.readouterr().out


def test_reports_go_to_files_and_to_github(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summary, output, report = tmp_path / "summary", tmp_path / "output", tmp_path / "report.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    monkeypatch.setenv("GITHUB_OUTPUT", str(output))
    with Stub([begun(), gate("done", "fail", 1)]) as stub:
        assert ask(stub, "--markdown", str(report)) == 1
    assert report.read_text() == "### ✅ pass: Shop\n"
    assert summary.read_text() == "before\n### ✅ pass: Shop\n\n"
    assert "verdict=fail\n" in output.read_text()
    assert f"gate-id={GATE_ID}\n" in output.read_text()


def test_a_report_that_cannot_be_written_changes_no_verdict(tmp_path: Path) -> None:
    with Stub([begun(), gate("done", "fail", 1)]) as stub:
        assert ask(stub, "--markdown", str(tmp_path / "no" / "folder")) == 1


def test_the_release_is_named_by_the_pipeline(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = {"GITHUB_SERVER_URL": "https://github.example", "GITHUB_REPOSITORY": "a/b", "GITHUB_RUN_ID": "7"}
    for name, value in {**parts, "GITHUB_SHA": "9f3c2e1"}.items():
        monkeypatch.setenv(name, value)
    with Stub([begun(), gate()]) as stub:
        ask(stub, "--deploy-id", "r1")
    page = "https://github.example/a/b/actions/runs/7"
    assert stub.asked[0].body["deploy"] == {"id": "r1", "version": "9f3c2e1", "url": page, "note": ""}


@pytest.mark.parametrize(
    "url",
    ["http://[::1", "http://127.0.0.1:99999", "http://a b", "https://", "x", "https://u:p@a.test", "https://a.test?x"],
)
def test_an_address_that_is_none_is_wrong_usage(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gate", "--url", url, "--token", "x", "--site", "shop"]) == 2
    assert "is no address of a service" in capsys.readouterr().err


@pytest.mark.parametrize("token", ["a\nb", "a\x00b", "t\u00f6ken"])
def test_a_token_that_cannot_be_sent_is_wrong_usage(token: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gate", "--url", "http://127.0.0.1:1", "--token", token, "--site", "shop"]) == 2
    assert "copy it again" in capsys.readouterr().err


def test_what_the_service_refuses_is_wrong_usage_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    with Stub([problem(422, "Invalid", ("#/rules/0/metric", "'beauty' cannot be gated."))]) as stub:
        assert ask(stub, "--rule", "beauty<=+10%") == 2
    assert capsys.readouterr().err == "firstbyte gate: the metric of the first rule: 'beauty' cannot be gated.\n"


@pytest.mark.parametrize("errors", [{"site": ["Unknown."]}, ["Unknown."], None])
def test_a_refusal_that_tells_its_faults_in_another_way_is_told_by_its_title(
    errors: object, capsys: pytest.CaptureFixture[str]
) -> None:
    with Stub([Said(400, {"title": "Not as it should be", "errors": errors})]) as stub:
        assert ask(stub) == 2
    assert capsys.readouterr().err == "firstbyte gate: Not as it should be\n"


@pytest.mark.parametrize(
    ("pointer", "place"),
    [
        ("#/site", "--site"),
        ("?site", "--site"),
        ("#/rules/1/max_change_pct", "the limit of the second rule"),
        ("#/rules/11/monitors", "the monitors of rule 12"),
        ("#/rules/0/monitors/1", "the second monitor of the first rule"),
        ("#/baseline/urls/page", "--against-url"),
        ("#/runs/discard_first", "the discard first of the runs"),
        ("#/monitors/2", "--monitor"),
        ("#/rules", "the rules"),
        ("Idempotency-Key", "Idempotency-Key"),
        ("#", ""),
        ("", ""),
    ],
)
def test_faults_are_placed_in_words(pointer: str, place: str) -> None:
    assert place_of(pointer) == place


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--site", "shop"], "where is the service"),
        (["--site", "shop", "--url", "monitor.example"], "no address of a service"),
        (["--site", "shop", "--url", "https://monitor.example/gates"], "no address of a service"),
        (["--site", "shop", "--url", "http://127.0.0.1:1", "--rule", "faster please"], "is no rule"),
        (["--site", "shop", "--url", "http://127.0.0.1:1", "--before", "--against", "x"], "two gates"),
    ],
)
def test_wrong_usage_says_what_to_change(
    arguments: Sequence[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["gate", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_without_a_token_nothing_is_sent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("FIRSTBYTE_TOKEN")
    with Stub([begun(), gate()]) as stub:
        assert ask(stub) == 2
        assert stub.asked == []
        (tmp_path / "token").write_text("from-a-file\n")
        monkeypatch.setenv("FIRSTBYTE_TOKEN_FILE", str(tmp_path / "token"))
        assert ask(stub) == 0
    assert stub.asked[0].headers["Authorization"] == "Bearer from-a-file"


def test_a_token_file_that_is_none_is_wrong_usage(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("FIRSTBYTE_TOKEN")
    (tmp_path / "token").write_bytes(b"\x7fELF\xd0")
    monkeypatch.setenv("FIRSTBYTE_TOKEN_FILE", str(tmp_path / "token"))
    with Stub([begun(), gate()]) as stub:
        assert ask(stub) == 2
    assert "the token holds what no token has" in capsys.readouterr().err


def test_before_and_after_are_two_gates() -> None:
    with Stub([begun(), gate(), begun(), gate()]) as stub:
        ask(stub, "--before")
        ask(stub, "--against", GATE_ID)
    first, second = (request.body for request in stub.asked if request.method == "POST")
    assert first["phase"] == "before"
    assert second["baseline"] == {"min_samples": 60, "mode": "gate", "gate": GATE_ID}


def test_it_runs_where_neither_django_nor_playwright_is() -> None:
    """A process in which importing any of them fails."""
    script = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {ABSENT!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
from workers.cli import main
sys.exit(main(sys.argv[1:]))
"""
    with Stub([begun(), gate(), Said(201, {"id": "d1", "at": "2026-11-21T10:00:00Z"})]) as stub:
        environment = os.environ | {"FIRSTBYTE_TOKEN": "fb_api_secret", "FIRSTBYTE_URL": stub.url}
        for arguments in (["gate", "--site", "shop"], ["deploys", "create", "--site", "shop"]):
            command = [sys.executable, "-c", script, *arguments]
            done = subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=240
            )
            assert done.returncode == 0, done.stderr


def test_a_deploy_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with Stub([Said(201, {"id": "d1", "at": "2026-11-21T10:00:00Z"})]) as stub:
        arguments = ["deploys", "create", "--url", stub.url, "--deploy-version", "1.2.3", "--note", "Basket"]
        assert main(arguments) == 0
    assert "deploy d1 of all sites" in capsys.readouterr().out
    assert stub.asked[0].body == {"id": "", "version": "1.2.3", "url": "", "note": "Basket", "site": None}


def test_a_deploy_that_nobody_hears_of_is_an_error() -> None:
    with Stub([problem(503, "Away")]) as stub:
        assert main(["deploys", "create", "--url", stub.url]) == 4
    with Stub([problem(422, "No", ("#/site", "There is no such site."))]) as stub:
        assert main(["deploys", "create", "--url", stub.url, "--site", "x"]) == 2
