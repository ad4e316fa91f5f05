"""What the doctor finds, on this machine and against a real broker and service."""

import argparse
import json
from datetime import timedelta
from pathlib import Path

import pytest

from workers.commands import doctor
from workers.config import load_config
from workers.spool import Spool
from workers.tests.commands.published import must_fit
from workers.tests.ports import closed_port
from workers.tests.rig import Broker
from workers.tests.servers import Authority, Server, finish
from workers.tests.stub_service import TOKEN, StubService


@pytest.fixture(autouse=True)
def _a_quiet_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The resolver and the browser are not asked here: what is under test is an agent's own set-up."""
    fine = doctor.Finding(check="elsewhere", ok=True, detail="not asked")
    monkeypatch.setattr(doctor, "_resolver", lambda _: fine)
    monkeypatch.setattr(doctor, "_chromium", lambda: fine)


@pytest.fixture
def set_up(monkeypatch: pytest.MonkeyPatch, broker: Broker, service: StubService, tmp_path: Path) -> pytest.MonkeyPatch:
    """An agent's environment in which everything is right."""
    settings = {
        "REGION": "eu",
        "SERVICE_URL": service.url,
        "AGENT_TOKEN": TOKEN,
        "BROKER_URL": broker.agent_url,
        "SPOOL_DIR": str(tmp_path / "spool"),
    }
    for name, value in settings.items():
        monkeypatch.setenv(f"FIRSTBYTE_{name}", value)
    return monkeypatch


def sick() -> set[str]:
    return {finding.check for finding in doctor.examine() if not finding.ok}


def test_a_machine_without_an_agent_is_only_asked_what_it_can_measure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("REGION", "BROKER_URL"):
        monkeypatch.delenv(f"FIRSTBYTE_{name}", raising=False)
    assert doctor.run(argparse.Namespace(json=True)) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "firstbyte.doctor/1"
    must_fit(document)
    assert [finding["check"] for finding in document["findings"]][:5] == [
        "python",
        "openssl",
        "aioquic",
        "kombu",
        "clock",
    ]
    assert "broker" not in str(document)


@pytest.mark.usefixtures("set_up")
def test_an_agent_that_is_set_up_right_is_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor.run(argparse.Namespace(json=False)) == 0
    text = capsys.readouterr().out
    assert "ok   broker: redis+socket://eu:**@" in text
    assert "ok   service:" in text
    assert "ok   spool:" in text
    assert "FAIL" not in text


def test_what_is_wrong_is_named_with_advice(
    set_up: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], broker: Broker
) -> None:
    set_up.setenv("FIRSTBYTE_AGENT_TOKEN", "stale")
    set_up.setenv("FIRSTBYTE_BROKER_URL", f"redis://eu:secret@127.0.0.1:{closed_port()}/0")
    assert doctor.run(argparse.Namespace(json=False)) == 4
    text = capsys.readouterr().out
    assert "FAIL broker:" in text
    assert "FAIL service:" in text
    assert "is FIRSTBYTE_SERVICE_URL right" in text
    assert "secret" not in text


_DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("names", "days", "said", "advice"),
    [
        ((), (-9, -1), "certificate has expired", "renew the certificate there, unless this machine's clock is wrong"),
        ((), (1, 9), "certificate is not yet valid", "is this machine's clock right? it says 20"),
        (("elsewhere.example",), (-1, 9), "IP address mismatch", "must have a name that the certificate there is for"),
    ],
)
def test_what_is_wrong_with_a_certificate_is_said_and_what_to_do(
    set_up: pytest.MonkeyPatch, tmp_path: Path, names: tuple[str, ...], days: tuple[int, int], said: str, advice: str
) -> None:
    authority = Authority.make(tmp_path)
    context = authority.context(*names, starts_in=days[0] * _DAY, ends_in=days[1] * _DAY)
    with Server(finish, context=context) as server:
        set_up.setenv("FIRSTBYTE_CA_FILE", str(authority.ca_file))
        set_up.setenv("FIRSTBYTE_SERVICE_URL", server.url())
        set_up.setenv("FIRSTBYTE_BROKER_URL", f"rediss://eu:secret@127.0.0.1:{server.port}/0")
        config = load_config()
        found = [doctor._broker(config), doctor._service(config)]
    for finding in found:
        assert not finding.ok
        assert said in finding.detail
        assert advice in (finding.advice or "")


def test_an_authority_that_nobody_trusts_is_told_where_to_be_named(set_up: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with Server(finish, context=Authority.make(tmp_path).context()) as server:
        set_up.setenv("FIRSTBYTE_BROKER_URL", f"rediss://eu:secret@127.0.0.1:{server.port}/0")
        finding = doctor._broker(load_config())
    assert "FIRSTBYTE_CA_FILE names" in (finding.advice or "")


def test_another_regions_account_is_noticed(set_up: pytest.MonkeyPatch) -> None:
    set_up.setenv("FIRSTBYTE_REGION", "us")
    assert sick() == {"broker"}


def test_a_spool_that_cannot_be_written_is_noticed(set_up: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    set_up.setenv("FIRSTBYTE_SPOOL_DIR", str(tmp_path / "file" / "spool"))
    assert sick() == {"spool"}


def test_a_spool_without_room_is_noticed(set_up: pytest.MonkeyPatch) -> None:
    set_up.setattr(Spool, "fault", lambda _: "No space left on device")
    assert sick() == {"spool"}


def test_half_an_environment_is_told_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRSTBYTE_REGION", "eu")
    assert sick() == {"configuration"}
