"""The compose files say the same of what they share, and ask for all that an agent needs."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from workers.config import AgentConfig

ROOT = Path(__file__).resolve().parents[2]
ALONE = ROOT / "deploy" / "agent" / "docker-compose.yml"
WHOLE = ROOT / "docker-compose.yml"
PUBLIC = ROOT / "deploy" / "public.compose.yml"
JOINED = {
    "FIRSTBYTE_REGION": "paris",
    "FIRSTBYTE_SERVICE_URL": "https://monitor.example.org",
    "FIRSTBYTE_AGENT_TOKEN": "secret",
    "FIRSTBYTE_BROKER_URL": "rediss://region-paris:secret@monitor.example.org:6380/0",
}


def services(path: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load(path.read_text())["services"]
    return found


def filled(values: dict[str, str], given: dict[str, str]) -> dict[str, str]:
    """An environment as compose fills it in. Raises KeyError for what must be given."""
    return {
        name: re.sub(r"\$\{(\w+):([-?])([^}]*)\}", lambda found: _given(found, given), value)
        for name, value in values.items()
    }


def _given(found: "re.Match[str]", given: dict[str, str]) -> str:
    name, sign, default = found.groups()
    return given[name] if sign == "?" else given.get(name, default)


def test_an_agent_has_the_same_rights_alone_as_beside_the_service() -> None:
    (alone,), beside = services(ALONE).values(), services(WHOLE)["agent-a"]
    names = ("image", "user", "init", "read_only", "tmpfs", "cap_drop", "cap_add", "shm_size", "restart")
    assert {name: alone[name] for name in names} == {name: beside[name] for name in names}


@pytest.mark.parametrize(("path", "service"), [(ALONE, "agent"), (WHOLE, "agent-a")])
def test_files_that_a_compose_file_names_are_there(path: Path, service: str) -> None:
    asked = services(path)[service]
    (profile,) = [word.partition("=")[2] for word in asked["security_opt"] if word.startswith("seccomp=")]
    context = path.parent / asked["build"]["context"]
    assert (path.parent / profile).is_file()
    assert (context / asked["build"]["dockerfile"]).is_file()


def test_what_joining_gives_is_enough_for_an_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    (alone,) = services(ALONE).values()
    image = re.findall(r"(FIRSTBYTE_\w+)=(\S+)", (ROOT / "deploy" / "agent.Dockerfile").read_text())
    for name, value in (*image, *filled(alone["environment"], JOINED).items()):
        monkeypatch.setenv(name, value)
    assert AgentConfig().region == "paris"


@pytest.mark.parametrize("lacking", JOINED)
def test_an_agent_that_lacks_what_joining_gives_is_not_started(lacking: str) -> None:
    (alone,) = services(ALONE).values()
    with pytest.raises(KeyError, match=lacking):
        filled(alone["environment"], {name: value for name, value in JOINED.items() if name != lacking})


def test_the_public_service_adds_to_what_is_there() -> None:
    whole, public = services(WHOLE), services(PUBLIC)
    assert public.keys() <= whole.keys()
    for service in public.values():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
