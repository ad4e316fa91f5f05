"""`firstbyte gate` on a bad network, behind proxies, and with a service in trouble."""

from pathlib import Path

import pytest

from workers.cli import main
from workers.commands import gate as commands_gate
from workers.commands.pipeline_api import IN_PROGRESS
from workers.tests.commands.pipeline_stub import GATE_ID, Said, Stub, ask, begun, gate, problem
from workers.tests.ports import closed_port

pytestmark = pytest.mark.usefixtures("pipeline")
HANGS_UP = Said()


def cut(said: Said) -> Said:
    return said._replace(is_cut=True)


def test_a_bad_network_is_outlived_with_one_key_for_one_gate() -> None:
    away = problem(503, "Away", Retry_After="0")
    # The first try, whose answer got lost, is still being carried out.
    busy = Said(409, {"type": f"/api/v1/problems{IN_PROGRESS}", "title": "Busy"}, {"Retry-After": "0"})
    with Stub([HANGS_UP, away, busy, cut(begun()), begun(), HANGS_UP, cut(gate()), gate()]) as stub:
        assert ask(stub) == 0
    keys = {request.headers["Idempotency-Key"] for request in stub.asked if request.method == "POST"}
    assert len(keys) == 1
    assert [request.method for request in stub.asked] == ["POST"] * 5 + ["GET"] * 3


@pytest.mark.parametrize("trouble", [HANGS_UP, Said(502, b"<html>"), problem(503, "Away", Retry_After="0")])
def test_a_service_that_is_away_for_longer_is_waited_for_as_long_as_the_gate_may_take(
    trouble: Said, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Stub([begun(), *[trouble] * 11, gate()]) as stub:
        assert ask(stub) == 0
    assert capsys.readouterr().err.count("; asking on\n") == 2
    monkeypatch.setattr(commands_gate, "_GRACE_S", -599.9)
    with Stub([begun(), trouble]) as stub:
        assert ask(stub) == 4


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 521])
def test_a_service_in_trouble_and_a_proxy_without_it_are_asked_again(status: int) -> None:
    with Stub([begun(), Said(status, b"<html>"), gate()]) as stub:
        assert ask(stub) == 0


@pytest.mark.parametrize(
    ("written", "asked_s"),
    [
        ("7", 7),
        ("0", 0),
        ("600", 60),
        ("Thu, 01 Jan 1970 00:01:47 GMT", 7),
        # A clock that is ahead takes what is asked for to be over: five tries at once are none.
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.5),
        ("soon", 0.5),
    ],
)
def test_how_long_to_wait_is_read_however_a_proxy_writes_it(
    monkeypatch: pytest.MonkeyPatch, written: str, asked_s: float
) -> None:
    paused: list[float] = []
    monkeypatch.setattr("workers.commands.pipeline_api._PAUSES_S", (0.5,))
    monkeypatch.setattr("workers.commands.pipeline_api.time.sleep", paused.append)
    monkeypatch.setattr("workers.commands.pipeline_api.time.time", lambda: 100.0)
    with Stub([begun(), Said(429, b"", {"retry-after": written}), gate()]) as stub:
        assert ask(stub) == 0
    assert asked_s in paused


@pytest.mark.parametrize("status", [401, 404])
def test_what_is_refused_once_a_gate_goes_on_is_no_wrong_usage(
    status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Stub([begun(), gate("running", None, None), problem(status, "This token is not valid.")]) as stub:
        assert ask(stub, "--junit", str(tmp_path / "junit.xml")) == 4
    assert "gate: This token is not valid.\n" in capsys.readouterr().err
    assert '<error message="This token is not valid.">' in (tmp_path / "junit.xml").read_text("utf-8")


def test_a_gate_that_is_not_ended_in_time_is_given_up_and_cancelled(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(commands_gate, "_GRACE_S", -3_600.0)
    with Stub([begun(), gate("cancelled", None, 4)]) as stub:
        assert ask(stub) == 4
    assert stub.asked[-1].path == f"/api/v1/gates/{GATE_ID}/cancel"
    assert "is its judge running?" in capsys.readouterr().err


def test_a_service_that_is_gone_could_not_measure(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gate", "--url", f"http://127.0.0.1:{closed_port()}", "--site", "shop"]) == 4
    assert "does not answer" in capsys.readouterr().err


@pytest.mark.parametrize(
    "said",
    [
        Said(200, b"<html>A proxy</html>"),
        Said(200, {}),
        Said(200, {"ok": True}),
        Said(200, b"[" * 100_000),
        Said(404, b"Not here"),
        Said(500, b"Oops"),
    ],
)
def test_something_else_at_the_address_is_told(said: Said, capsys: pytest.CaptureFixture[str]) -> None:
    with Stub([said]) as stub:
        assert ask(stub) == 4
    assert "is this" in capsys.readouterr().err


def test_what_a_proxy_finds_too_large_is_told_as_that(capsys: pytest.CaptureFixture[str]) -> None:
    with Stub([Said(413, b"<html>")]) as stub:
        assert ask(stub) == 4
    assert "answers 413: what was sent is too large for a proxy before it\n" in capsys.readouterr().err


def test_a_redirect_gets_no_token(capsys: pytest.CaptureFixture[str]) -> None:
    with Stub([gate()]) as other, Stub([Said(302, b"", {"Location": f"{other.url}/api/v1/gates"})]) as stub:
        assert ask(stub) == 4
        assert other.asked == []
    assert f"points to {other.url}" in capsys.readouterr().err


def test_a_pause_that_is_no_number_is_passed_over() -> None:
    with Stub([problem(503, "Away", Retry_After="\u00b2"), begun(), gate()]) as stub:
        assert ask(stub) == 0


@pytest.mark.parametrize(("status", "code"), [(401, 2), (403, 2), (404, 2), (409, 4), (500, 4)])
def test_a_refusal_is_usage_or_trouble(status: int, code: int) -> None:
    with Stub([problem(status, "No")]) as stub:
        assert ask(stub) == code
