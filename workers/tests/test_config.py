"""What the operator sets, and what he is told when it is wrong."""

from ipaddress import ip_network
from pathlib import Path

import pytest
import trustme

from workers.config import AgentConfig, ConfigError, load_config

GOOD = {
    "REGION": "eu-west",
    "SERVICE_URL": "https://firstbyte.example.org",
    "AGENT_TOKEN": "fb_agent_secret",
    "BROKER_URL": "rediss://eu:hidden@broker.example.org:6380/0",
    "SPOOL_DIR": "/var/lib/firstbyte/spool",
}


def load(monkeypatch: pytest.MonkeyPatch, **changes: str | None) -> AgentConfig:
    for name, value in (GOOD | changes).items():
        if value is not None:
            monkeypatch.setenv(f"FIRSTBYTE_{name}", value)
    return load_config()


def test_five_variables_make_an_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    config = load(monkeypatch)
    assert (config.region, config.browsers, config.probes_in_flight) == ("eu-west", 1, 200)
    assert (config.private_targets, config.extra_ports, config.chromium) == ((), frozenset(), None)
    assert config.agent_name
    assert not config.allow_unsandboxed


def test_all_others_have_their_types(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    authority = tmp_path / "ca.pem"
    trustme.CA().cert_pem.write_to_path(str(authority))
    config = load(
        monkeypatch,
        BROWSERS="3",
        PROBES_IN_FLIGHT="500",
        CHROMIUM="/opt/chromium",
        CA_FILE=str(authority),
        PRIVATE_TARGETS="127.0.0.0/8, ::1/128",
        EXTRA_PORTS="8444, 9000",
        AGENT_NAME="eu-1",
        ALLOW_UNSANDBOXED="1",
    )
    assert config.private_targets == (ip_network("127.0.0.0/8"), ip_network("::1/128"))
    assert config.extra_ports == {8444, 9000}
    assert (config.chromium, config.ca_file) == (Path("/opt/chromium"), authority)
    assert (config.browsers, config.probes_in_flight, config.agent_name) == (3, 500, "eu-1")
    assert config.allow_unsandboxed


def test_an_empty_variable_is_an_absent_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load(monkeypatch, BROWSERS="", EXTRA_PORTS="").browsers == 1


def test_a_secret_may_come_from_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("from the file\n")
    config = load(monkeypatch, AGENT_TOKEN=None, AGENT_TOKEN_FILE=str(secret))
    assert config.agent_token.get_secret_value() == "from the file"


def test_a_file_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"FIRSTBYTE_AGENT_TOKEN_FILE: .*nothing cannot be read"):
        load(monkeypatch, AGENT_TOKEN=None, AGENT_TOKEN_FILE=str(tmp_path / "nothing"))


def test_everything_that_is_missing_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in GOOD:
        monkeypatch.delenv(f"FIRSTBYTE_{name}", raising=False)
    with pytest.raises(ConfigError) as caught:
        load_config()
    lines = str(caught.value).splitlines()
    assert lines[0] == "This agent is not configured:"
    assert lines[1:] == [f"  FIRSTBYTE_{name}: is missing; set it, or the same name with _FILE" for name in GOOD]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("REGION", "EU West", "must be the region's code: 2 to 20 lower-case letters"),
        ("REGION", "eu-", "must be the region's code: 2 to 20 lower-case letters"),
        ("SERVICE_URL", "firstbyte.example.org", "must be the service's address, with https:// and its host"),
        ("BROKER_URL", "amqp://eu:hidden@host/", "must begin with unix://, redis:// or rediss://, not amqp"),
        ("BROWSERS", "many", "integer"),
        ("BROWSERS", "99", "16"),
        ("EXTRA_PORTS", "80,http", "ports from 1 to 65535"),
        ("EXTRA_PORTS", "0", "ports from 1 to 65535"),
        ("EXTRA_PORTS", "9" * 5000, "ports from 1 to 65535"),
        ("PRIVATE_TARGETS", "10.0.0.1/8", "host bits"),
        ("CA_FILE", "/nowhere/ca.pem", "/nowhere/ca.pem cannot be read: No such file or directory"),
        ("CA_FILE", "/", "/ cannot be read: "),
        ("CA_FILE", "/etc/passwd", "/etc/passwd holds no certificates"),
    ],
)
def test_a_wrong_value_is_named_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    with pytest.raises(ConfigError, match=rf"(?m)^  FIRSTBYTE_{name}: .*{said}") as caught:
        load(monkeypatch, **{name: value})
    assert "hidden" not in str(caught.value)


def test_secrets_are_in_no_repr(monkeypatch: pytest.MonkeyPatch) -> None:
    text = repr(load(monkeypatch)) + str(load(monkeypatch))
    assert "fb_agent_secret" not in text
    assert "hidden" not in text
