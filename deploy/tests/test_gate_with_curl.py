"""The gate with curl and jq, as deploy/README.md shows it, against a service that is a stand-in."""

import re
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from workers.tests.commands.pipeline_stub import Said, Stub, begun, gate, problem

RUNNING = Path(__file__).resolve().parents[1] / "README.md"


# By hand, and as pipelines start their shells.
SHELLS = [["bash"], ["sh", "-e"], ["bash", "-euo", "pipefail"]]


def run_shown(url: str, folder: Path, shell: Sequence[str] = ("bash",)) -> "subprocess.CompletedProcess[str]":
    (shown,) = re.findall(r"```sh\n(answer=.*?)```", RUNNING.read_text(), re.DOTALL)
    environment = {
        "PATH": "/usr/bin:/bin",
        "FIRSTBYTE_URL": url,
        "FIRSTBYTE_TOKEN": "fb_api_secret",
        "BUILD_ID": "b-1",
        "HOME": str(folder),
    }
    return subprocess.run(
        [*shell, "-c", shown], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60
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


def test_a_service_that_starts_again_is_asked_again(tmp_path: Path) -> None:
    """It ends with connections that it has not read from yet."""
    with Stub([Said(body=None), begun(), Said(body=None), gate("done", "fail", 1)]) as stub:
        done = run_shown(stub.url, tmp_path)
    assert done.returncode == 1, done.stderr


def test_what_a_service_does_not_answer_could_not_be_measured(tmp_path: Path) -> None:
    (tmp_path / ".curlrc").write_text("retry-max-time = 1")
    with Stub([Said(body=None)]) as stub:
        done = run_shown(stub.url, tmp_path)
    assert (done.returncode, done.stdout) == (4, "")
    assert "Empty reply from server" in done.stderr


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
@pytest.mark.parametrize(
    "said", [Said(200, b"<html>Log in"), Said(301, b"", {"Location": "https://elsewhere.example/"}), Said(200, {})]
)
def test_what_is_no_answer_of_the_service_could_not_be_measured(
    tmp_path: Path, said: Said, shell: Sequence[str]
) -> None:
    """A page where one has to log in, an address that has moved: neither says that the pipeline is wrong."""
    for before in ([], [begun()]):
        with Stub([*before, said]) as stub:
            done = run_shown(stub.url, tmp_path, shell)
        assert (done.returncode, done.stdout, len(stub.asked)) == (4, "", len(before) + 1), done.stderr
        assert f"HTTP {said.status}: " in done.stderr


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_any_shell_ends_as_the_gate_does(tmp_path: Path, shell: Sequence[str]) -> None:
    with Stub([begun(), gate("done", "fail", 1)]) as stub:
        assert run_shown(stub.url, tmp_path, shell).returncode == 1
    with Stub([problem(422, "No", ("#/site", "There is no such site."))]) as stub:
        assert run_shown(stub.url, tmp_path, shell).returncode == 2


def test_a_service_that_has_too_much_to_do_for_good_could_not_be_measured(tmp_path: Path) -> None:
    with Stub([problem(429, "Too many requests.", **{"Retry_After": "1"})]) as stub:
        done = run_shown(stub.url, tmp_path)
    assert (done.returncode, len(stub.asked)) == (4, 6), done.stderr


def test_two_jobs_in_one_folder_read_each_its_own_answer_and_leave_nothing(tmp_path: Path) -> None:
    kept = tmp_path / "answer.json"
    kept.write_text("of the release")
    with Stub([gate("done", "fail", 1)]) as stub:
        run_shown(stub.url, tmp_path)
    assert (kept.read_text(), list(tmp_path.iterdir())) == ("of the release", [kept])


def test_a_service_that_grants_no_wait_is_not_asked_without_a_pause(tmp_path: Path) -> None:
    """Where too many wait already it answers at once."""
    began_s = time.monotonic()
    with Stub([begun(), begun(), begun(), gate()]) as stub:
        run_shown(stub.url, tmp_path)
    assert len(stub.asked) == 4
    assert time.monotonic() - began_s >= 2
