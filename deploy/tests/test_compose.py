"""The compose files say the same of what they share, and ask for all that an agent needs."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from backend.config import Config
from workers.config import AgentConfig
from workers.page_turns import usual_folder
from workers.supervisor import DRAIN_S, LAST_DRAIN_S

ROOT = Path(__file__).resolve().parents[2]
ALONE = ROOT / "deploy" / "agent" / "docker-compose.yml"
WHOLE = ROOT / "docker-compose.yml"
START_AGENT = ROOT / "deploy" / "compose" / "start-agent"
START_DEMO = ROOT / "deploy" / "compose" / "start-demo"
RUNNING = ROOT / "deploy" / "README.md"
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


def filled(values: dict[str, str | None], given: dict[str, str]) -> dict[str, str]:
    """An environment as compose fills it in. Raises KeyError for what must be given."""
    return {
        name: re.sub(r"\$\{(\w+):([-?])([^}]*)\}", lambda found: _given(found, given), value)
        for name, value in (values | {name: given.get(name) for name, value in values.items() if value is None}).items()
        if value is not None
    }


def settable(service: dict[str, Any]) -> set[str]:
    """The settings of a service that `.env` beside its compose file may hold."""
    return {name for name, value in service["environment"].items() if value is None or f"${{{name}:" in str(value)}


def _given(found: "re.Match[str]", given: dict[str, str]) -> str:
    name, sign, default = found.groups()
    return given[name] if sign == "?" else given.get(name, default)


def volumes_of_images() -> dict[str, set[str]]:
    """The folders that an image keeps outside itself, by the image's name."""
    return {
        service["image"]: {
            folder
            for line in re.findall(r"^VOLUME (.+)", (ROOT / service["build"]["dockerfile"]).read_text(), re.MULTILINE)
            for folder in line.split()
        }
        for service in services(WHOLE).values()
        if "build" in service
    }


def test_an_agent_has_the_same_rights_alone_as_beside_the_service() -> None:
    (alone,), beside = services(ALONE).values(), services(WHOLE)["agent-a"]
    names = ("image", "user", "read_only", "tmpfs", "cap_drop", "cap_add", "shm_size", "restart", "stop_grace_period")
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


@pytest.mark.parametrize("path", [WHOLE, PUBLIC, ALONE])
def test_a_compose_file_starts_without_a_warning_of_its_version(path: Path) -> None:
    assert "version" not in yaml.safe_load(path.read_text())


@pytest.mark.parametrize("path", [WHOLE, ALONE])
def test_what_an_image_keeps_lies_in_a_volume_with_a_name(path: Path) -> None:
    """Other folders get a volume without a name, which stays behind whenever the composition is taken down."""
    kept = volumes_of_images()
    for name, service in services(path).items():
        mounted = {volume.split(":")[1] for volume in service.get("volumes", ())}
        assert kept[service["image"]] <= mounted, name


def test_agents_of_one_composition_meet_in_a_folder_of_their_own_user_s() -> None:
    """Where pages are loaded in turns; a volume that is new gets its owner from the image."""
    image = (ROOT / "deploy" / "agent.Dockerfile").read_text()
    (user,) = re.findall(r"useradd .*--uid (\d+)", image)
    folder = f"/tmp/{usual_folder().name}".replace(str(os.geteuid()), user)
    assert re.search(rf"install -d -o firstbyte -g firstbyte -m 0700 .*{folder}$", image, re.MULTILINE)
    agents = [service for service in services(WHOLE).values() if service["image"] == "firstbyte-agent"]
    shared = set[str].intersection(*(set(agent["volumes"]) for agent in agents))
    assert [volume.split(":")[1:] for volume in shared if not volume.endswith(":ro")] == [[folder]]


def test_an_agent_keeps_its_name_when_its_container_is_made_anew() -> None:
    agents = [service for service in services(WHOLE).values() if service["image"] == "firstbyte-agent"]
    assert [agent["hostname"] for agent in agents] == [agent["environment"]["FIRSTBYTE_REGION"] for agent in agents]


def test_the_demo_s_network_is_the_one_that_may_be_measured() -> None:
    whole = yaml.safe_load(WHOLE.read_text())
    (network,) = whole["networks"]["default"]["ipam"]["config"]
    assert whole["x-private-targets"].partition(",")[0] == network["subnet"]


@pytest.mark.parametrize("path", [WHOLE, ALONE])
def test_what_the_settings_table_has_for_agents_may_stand_in_env(path: Path) -> None:
    agent = next(service for service in services(path).values() if service["image"] == "firstbyte-agent")
    wanted = {"BROWSERS", "PROBES_IN_FLIGHT", "PRIVATE_TARGETS", "EXTRA_PORTS", "ALLOW_UNSANDBOXED"}
    assert {f"FIRSTBYTE_{name}" for name in wanted} <= settable(agent)


def test_every_setting_of_the_service_is_made_by_the_composition_or_may_stand_in_env() -> None:
    whole, public = services(WHOLE)["web"]["environment"], services(PUBLIC)["web"]["environment"]
    known = {name.removesuffix("_FILE") for name in (whole | public)}
    # The composition's own database, its own volume, and what is for the project's own tests.
    fixed = {"DB_PORT", "DB_NAME", "DB_USER", "MEDIA_ROOT", "DEBUG", "CA_FILE"}
    assert {f"FIRSTBYTE_{name.upper()}" for name in Config.model_fields if name.upper() not in fixed} <= known


@pytest.mark.parametrize("path", [WHOLE, ALONE])
def test_an_agent_hears_that_it_is_to_end(path: Path) -> None:
    """Docker's own init is root without the right to signal another user: it dies of trying, and the agent with it."""
    for service in services(path).values():
        assert service["image"] != "firstbyte-agent" or "init" not in service
    started = [line for line in START_AGENT.read_text().splitlines() if "firstbyte agent" in line]
    assert started
    assert all("tini -- firstbyte agent" in line for line in started)


@pytest.mark.parametrize("path", [WHOLE, ALONE])
def test_an_agent_may_finish_what_it_measures(path: Path) -> None:
    for service in services(path).values():
        if service["image"] == "firstbyte-agent":
            assert int(service["stop_grace_period"].removesuffix("s")) > DRAIN_S + LAST_DRAIN_S


def test_no_agent_shares_a_network_with_the_database() -> None:
    """What may be measured is open to pages that agents load, and the demo's network may be measured."""
    whole = services(WHOLE)
    (inside,) = whole["db"]["networks"]
    assert yaml.safe_load(WHOLE.read_text())["networks"][inside]["internal"]
    assert {name for name, service in whole.items() if inside in service.get("networks", ())} == {
        "db", "set-up", "web", "scheduler", "sweeper", "judge"
    }  # fmt: skip


def test_the_demo_keeps_its_certificates_when_its_container_starts_anew() -> None:
    """Agents read its authority once, at their start: by another one its sites would be down."""
    folder = Path(re.findall(r'folder=Path\("([^"]+)"\)', START_DEMO.read_text())[0])
    mounted = {volume.split(":")[1]: volume.split(":")[0] for volume in services(WHOLE)["demo"]["volumes"]}
    (kept,) = [name for target, name in mounted.items() if folder.is_relative_to(target)]
    others = [service for name, service in services(WHOLE).items() if name != "demo"]
    assert not [volume for service in others for volume in service["volumes"] if volume.startswith(f"{kept}:")]


def test_a_file_of_one_s_own_is_given_as_the_document_shows_it() -> None:
    """Its services are the composition's, its settings ours, and each file that it names is in what it mounts."""
    (shown,) = re.findall(r"```yaml\n(services:\n  agent-a.*?)```", RUNNING.read_text(), re.DOTALL)
    own, whole = yaml.safe_load(shown)["services"], services(WHOLE)
    assert own.keys() <= whole.keys()
    settings = {f"FIRSTBYTE_{name.upper()}" for config in (Config, AgentConfig) for name in config.model_fields}
    for name, service in own.items():
        (volume,) = service["volumes"]
        source, folder, right = volume.split(":")
        assert (source.startswith("./"), right) == (True, "ro"), name
        assert set(service["environment"]) <= settings
        assert all(Path(path).is_relative_to(folder) for path in service["environment"].values())


def test_files_of_one_s_own_are_not_part_of_the_repository() -> None:
    """A newer version is pulled into a checkout that has some, and a backup's secrets are for nobody else."""
    backup = re.findall(r"^docker compose .*[^<]>(\S+)$|^  pg_dump .*>(\S+)$", RUNNING.read_text(), re.MULTILINE)
    written = {name for names in backup for name in names if name}
    assert len(written) == 3
    assert written | {"docker-compose.override.yml", ".env"} <= set((ROOT / ".gitignore").read_text().splitlines())


def test_a_newer_version_migrates_before_it_ends_the_older_processes() -> None:
    """`up` ends all that it makes anew before it starts the first of them."""
    (told,) = re.findall(r"^### A newer version\n\n```\n(.*?)```", RUNNING.read_text(), re.DOTALL | re.MULTILINE)
    build, migrate, start = (line.split()[2:] for line in told.splitlines() if line.startswith("docker compose"))
    assert (build, start) == (["build"], ["up", "--detach"])
    # Those that it needs are the older version's, and stay.
    assert migrate == ["run", "--rm", "--no-deps", "set-up"]
    assert services(WHOLE)["set-up"]["command"].endswith("/set-up")
