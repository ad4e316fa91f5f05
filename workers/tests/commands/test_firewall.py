"""`firstbyte firewall`: which rules an agent's environment makes, and what it says of one that makes none."""

import getpass
import os

import pytest

from workers.cli import main

_ENVIRONMENT = {
    "REGION": "eu",
    "SERVICE_URL": "https://10.0.0.7",
    "AGENT_TOKEN": "t",
    "BROKER_URL": "rediss://eu:secret@10.0.0.8:7000/0",
    "SPOOL_DIR": "/tmp",
    "PRIVATE_TARGETS": "10.3.0.0/16, fd12::/64",
}


@pytest.fixture(autouse=True)
def agent(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name, value in _ENVIRONMENT.items():
        monkeypatch.setenv(f"FIRSTBYTE_{name}", value)
    return monkeypatch


def told(capsys: pytest.CaptureFixture[str], *options: str) -> list[str]:
    assert main(["firewall", *options]) == 0
    return [line.strip() for line in capsys.readouterr().out.splitlines()]


def test_targets_broker_and_service_are_open_before_anything_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    rules = told(capsys)
    refusal = rules.index("ip daddr 10.0.0.0/8 jump refuse")
    for opened in (
        "ip daddr 10.3.0.0/16 accept",
        "ip6 daddr fd12::/64 accept",
        "ip daddr 10.0.0.7/32 tcp dport 443 accept",
        "ip daddr 10.0.0.8/32 tcp dport 7000 accept",
    ):
        assert rules.index(opened) < refusal
    assert "ct state new jump judge" in rules


def test_no_secret_is_in_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert not [line for line in told(capsys) if "secret" in line]


def test_a_broker_on_a_socket_and_a_public_service_need_no_rule(
    agent: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    agent.setenv("FIRSTBYTE_BROKER_URL", "unix://eu:secret@/run/redis.sock")
    agent.setenv("FIRSTBYTE_SERVICE_URL", "http://1.1.1.1:8080")
    assert not [line for line in told(capsys) if "tcp dport" in line and "127.0.0.0/8" not in line]


def test_a_user_is_held_by_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert f"meta skuid {os.getuid()} ct state new jump judge" in told(capsys, "--user", getpass.getuser())


@pytest.mark.parametrize(
    ("name", "value", "options", "sentence"),
    [
        ("REGION", "", (), "FIRSTBYTE_REGION: is missing"),
        (
            "SERVICE_URL",
            "https://nowhere.invalid",
            (),
            "nowhere.invalid of this agent's environment leads to no address",
        ),
        ("REGION", "eu", ("--user", "no-such-user"), "there is no user no-such-user on this machine"),
    ],
)
def test_what_makes_no_rules_is_said(
    agent: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    value: str,
    options: tuple[str, ...],
    sentence: str,
) -> None:
    agent.setenv(f"FIRSTBYTE_{name}", value)
    assert main(["firewall", *options]) == 2
    heard = capsys.readouterr()
    assert sentence in heard.err
    assert heard.out == ""
