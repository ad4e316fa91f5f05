"""The gate with curl and jq, as deploy/README.md shows it, against a service that is a stand-in."""

import re
import subprocess
from pathlib import Path

import pytest

from workers.tests.commands.pipeline_stub import Said, Stub, begun, gate, problem

RUNNING = Path(__file__).resolve().parents[1] / "README.md"


def run_shown(url: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    (shown,) = re.findall(r"```sh\n(api\(\).*?)```", RUNNING.read_text(), re.DOTALL)
    environment = {
        "PATH": "/usr/bin:/bin",
        "FIRSTBYTE_URL": url,
        "FIRSTBYTE_TOKEN": "fb_api_secret",
        "BUILD_ID": "b-1",
    }
    return subprocess.run(
        ["bash", "-c", shown], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=240
    )


@pytest.mark.parametrize(("verdict", "code"), [("pass", 0), ("fail", 1), ("inconclusive", 3), ("error", 4)])
def test_it_waits_for_the_verdict_and_ends_as_the_gate_does(tmp_path: Path, verdict: str, code: int) -> None:
    with Stub([begun(), begun(), gate("done", verdict, code)]) as stub:
        done = run_shown(stub.url, tmp_path)
    assert (done.returncode, done.stdout) == (code, "First byte +1.0 % (0.5 to +4.0 %), limit +10 %.\n"), done.stderr
    first = stub.asked[0]
    assert (first.body["site"], first.headers["Idempotency-Key"]) == ("shop", "b-1")
    assert [asked.method for asked in stub.asked] == ["POST", "GET", "GET"]


@pytest.mark.parametrize(("status", "code"), [(422, 2), (401, 2), (409, 4)])
def test_a_refusal_is_asked_once_and_its_reason_shown(tmp_path: Path, status: int, code: int) -> None:
    with Stub([problem(status, "No", ("#/site", "There is no such site."))]) as stub:
        done = run_shown(stub.url, tmp_path)
    assert done.returncode == code
    assert "There is no such site." in done.stderr
    assert len(stub.asked) == 1


def test_a_service_that_is_away_for_a_moment_is_asked_again(tmp_path: Path) -> None:
    """What it answered meanwhile is not taken for a part of the gate."""
    with Stub([Said(503, {"id": "none"}), begun(), Said(502, "<html>"), gate("done", "fail", 1)]) as stub:
        done = run_shown(stub.url, tmp_path)
    assert done.returncode == 1, done.stderr
    assert {asked.headers.get("Idempotency-Key") for asked in stub.asked[:2]} == {"b-1"}


def test_what_a_service_does_not_answer_could_not_be_measured(tmp_path: Path) -> None:
    with Stub([Said(body=None)]) as stub:
        done = run_shown(stub.url, tmp_path)
    assert (done.returncode, done.stdout) == (4, "")
    assert "Empty reply from server" in done.stderr
