"""The GitHub action as a runner carries it out, against a service and a `gh` that are stand-ins."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from workers.tests.commands.pipeline_stub import Stub, begun, gate, problem

ACTION = Path(__file__).resolve().parents[1] / "github-action"
GH = """\
#!/bin/sh
echo "$@" >>"$CALLS"
case "$*" in *--paginate*) echo "$KNOWN" ;; esac
"""
# A runner's Python has no package but its own library.
PYTHON = f"""\
#!/bin/sh
exec {sys.base_prefix}/bin/python3 -S "$@"
"""


def run_gate(stub: Stub, folder: Path, **inputs: str) -> "subprocess.CompletedProcess[str]":
    usual = {
        "FIRSTBYTE_URL": stub.url,
        "FIRSTBYTE_TOKEN": "fb_api_secret",
        "FIRSTBYTE_CA_FILE": "",
        "SITE": "shop",
        "RULES": "ttfb<=+10%\n",
        "WARNINGS": "",
        "REGIONS": "",
        "DEPLOY_ID": "",
        "RELEASE_URL": "",
        "BASELINE_URL": "",
        "CONFIDENCE": "0.95",
        "ON_INCONCLUSIVE": "pass",
        "ON_ERROR": "fail",
        "TIMEOUT": "600",
        "RUNNER_TEMP": str(folder),
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
        "GITHUB_OUTPUT": str(folder / "output"),
    }
    python = folder / "bin" / "python3"
    python.parent.mkdir(exist_ok=True)
    python.write_text(PYTHON)
    python.chmod(0o755)
    environment = os.environ | {"PATH": f"{python.parent}:{os.environ['PATH']}"} | usual | inputs
    return subprocess.run(
        [ACTION / "gate.sh"], env=environment, cwd=folder, capture_output=True, text=True, check=False, timeout=240
    )


def test_the_inputs_become_one_gate_and_its_verdict_the_jobs(tmp_path: Path) -> None:
    hostile = "$(touch owned); `touch owned`"
    with Stub([begun(), gate("done", "fail", 1)]) as stub:
        rules = "ttfb<=+10%,5ms\n\n  lcp<=2500ms\n"
        done = run_gate(stub, tmp_path, SITE=hostile, RULES=rules, WARNINGS="tls<=+25%", REGIONS="fra iad")
    assert done.returncode == 1, done.stderr
    asked = stub.asked[0].body
    assert asked["site"] == hostile
    assert not (tmp_path / "owned").exists()
    assert [(rule["metric"], rule["level"]) for rule in asked["rules"]] == [
        ("ttfb", "fail"),
        ("lcp", "fail"),
        ("tls", "warn"),
    ]
    assert asked["runs"]["regions"] == ["fra", "iad"]
    assert "verdict=fail" in (tmp_path / "output").read_text()
    assert (tmp_path / "summary").read_text().startswith("### ")
    assert (tmp_path / "firstbyte-gate.md").exists()


def test_modules_of_the_repository_that_is_released_are_none_of_the_action_s(tmp_path: Path) -> None:
    (tmp_path / "workers").mkdir()
    for module in ("workers/__init__.py", "workers/cli.py", "argparse.py"):
        (tmp_path / module).write_text("open('owned', 'w')\n")
    with Stub([begun(), gate("done", "pass", 0)]) as stub:
        done = run_gate(stub, tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(stub.asked) == 2
    assert not (tmp_path / "owned").exists()


def test_regions_may_stand_on_lines_of_their_own_as_rules_do(tmp_path: Path) -> None:
    with Stub([begun(), gate("done", "pass", 0)]) as stub:
        done = run_gate(stub, tmp_path, REGIONS="fra iad\n  sin\n")
    assert done.returncode == 0, done.stderr
    assert stub.asked[0].body["runs"]["regions"] == ["fra", "iad", "sin"]


def test_what_could_not_be_measured_may_pass_if_the_job_says_so(tmp_path: Path) -> None:
    with Stub([begun(), gate("done", "error", 4)]) as stub:
        assert run_gate(stub, tmp_path).returncode == 4
    with Stub([begun(), gate("done", "error", 4)]) as stub:
        done = run_gate(stub, tmp_path, ON_ERROR="pass")
    assert done.returncode == 0
    assert "::warning" in done.stdout


def test_a_report_of_an_earlier_gate_is_not_taken_for_this_ones(tmp_path: Path) -> None:
    (tmp_path / "firstbyte-gate.md").write_text("old")
    with Stub([problem(422, "No", ("#/site", "There is no such site."))]) as stub:
        assert run_gate(stub, tmp_path).returncode == 2
    assert not (tmp_path / "firstbyte-gate.md").exists()


@pytest.mark.parametrize(("known", "method"), [("", "POST repos/a/b/issues/7/comments"), ("91", "PATCH")])
def test_one_comment_is_kept_and_changed(tmp_path: Path, known: str, method: str) -> None:
    calls = run_comment(tmp_path, known=known, report="### pass")
    assert len(calls.split("api ")) == 3
    assert method in calls
    assert "<!-- firstbyte-gate " in calls
    # Nobody else's comment is changed, who could change what it says.
    assert 'select(.user.type == "Bot" or (.author_association | IN("OWNER", "MEMBER", "COLLABORATOR")))' in calls
    assert "### pass" in calls


def test_without_a_verdict_nothing_is_commented(tmp_path: Path) -> None:
    assert run_comment(tmp_path, known="", report="") == ""


def test_every_input_reaches_the_script() -> None:
    text = (ACTION / "action.yml").read_text()
    inputs = re.findall(r"^  ([a-z-]+):\n    description", text.partition("outputs:")[0], re.MULTILINE)
    assert len(inputs) >= 14
    for name in inputs:
        assert f"inputs.{name}" in text, name


def run_comment(folder: Path, *, known: str, report: str) -> str:
    gh, calls, file = folder / "gh", folder / "calls", folder / "report.md"
    gh.write_text(GH)
    gh.chmod(0o755)
    calls.write_text("")
    file.write_text(report)
    environment = {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "CALLS": str(calls),
        "KNOWN": known,
        "REPORT": str(file),
        "SITE": "shop --> <script>",
        "PULL_REQUEST": "7",
        "GITHUB_REPOSITORY": "a/b",
        "GH_TOKEN": "x",
    }
    subprocess.run([ACTION / "comment.sh"], env=environment, check=True, timeout=240)
    return calls.read_text()


def test_of_several_comments_on_several_pages_the_first_is_changed(tmp_path: Path) -> None:
    # More than a pipe holds of what nobody reads.
    known = "\n".join(map(str, range(41, 15_000)))
    assert "issues/comments/41 " in run_comment(tmp_path, known=known, report="### pass")
