"""What an image holds is enough for what it runs: the files that its Dockerfile copies, the packages that it locks."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from workers.measurement.routes import HEARTBEAT_INTERVAL_S

ROOT = Path(__file__).resolve().parents[2]
# Stands in for the image's own packages: whatever this test's environment has besides cannot be imported.
SITE = """\
import re, sys
from importlib.metadata import packages_distributions

locked = set(re.findall(r"^([A-Za-z0-9._-]+)==", open({lock!r}).read(), re.M))
locked = {{re.sub(r"[-_.]+", "-", name).lower() for name in locked}}
foreign = {{
    module
    for module, names in packages_distributions().items()
    if not any(re.sub(r"[-_.]+", "-", name).lower() in locked for name in names)
}}


class Lock:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in foreign:
            raise ModuleNotFoundError(f"{{name}} is not in the image's requirements", name=name)


sys.meta_path.insert(0, Lock)
"""
# Every module of a package, as nobody knows which of them a command imports late.
WHOLE = """\
import importlib, pkgutil, {package}

for module in pkgutil.walk_packages({package}.__path__, "{package}."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""
BACKEND = ("backend.Dockerfile", "requirements.txt")
AGENT = ("agent.Dockerfile", "workers/requirements.txt")
COMMANDS = [
    (BACKEND, "import django\n\ndjango.setup()\n" + WHOLE.format(package="backend")),
    (AGENT, WHOLE.format(package="workers")),
]


@pytest.mark.parametrize(("image", "code"), COMMANDS)
def test_an_image_holds_all_that_it_runs(image: tuple[str, str], code: str, tmp_path: Path) -> None:
    dockerfile, lock = image
    ended = run_in(staged(ROOT / "deploy" / dockerfile, tmp_path), ROOT / lock, code)
    assert ended.returncode == 0, ended.stderr


def test_an_image_holds_neither_tests_nor_what_it_does_not_lock(tmp_path: Path) -> None:
    folder = staged(ROOT / "deploy" / "backend.Dockerfile", tmp_path)
    assert not list(folder.rglob("tests"))
    ended = run_in(folder, ROOT / "requirements.txt", "import playwright")
    assert "not in the image's requirements" in ended.stderr


def test_an_agent_s_container_has_the_command_line_in_whatever_folder(tmp_path: Path) -> None:
    workdir = "/srv/firstbyte"
    dockerfile = ROOT / "deploy" / "agent.Dockerfile"
    assert f"WORKDIR {workdir}\n" in dockerfile.read_text()
    command = tmp_path / "firstbyte"
    command.write_text(
        (ROOT / "deploy/compose/firstbyte").read_text().replace(workdir, str(staged(dockerfile, tmp_path)))
    )
    command.chmod(0o755)
    environment = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "workers").mkdir(parents=True)
    (elsewhere / "workers" / "__init__.py").touch()
    told = subprocess.run(
        [command, "probe", "--help"], cwd=elsewhere, env=environment, capture_output=True, text=True, timeout=240
    )
    assert told.stdout.startswith("usage: firstbyte probe"), told.stderr


def test_the_web_process_loads_the_service_behind_the_fork() -> None:
    """Loading it begins a thread with a connection: of one that began before it, a child inherits broken halves."""
    assert "preload" not in (ROOT / "deploy" / "backend.Dockerfile").read_text().rpartition("CMD")[2]


@pytest.mark.parametrize("file", ["backend.Dockerfile", "local/plan.py"])
def test_the_web_process_keeps_an_agent_s_connection_between_heartbeats(file: str) -> None:
    """What closes it after a while closes it now and then under a result that is on its way."""
    (kept_s,) = re.findall(r'"--keep-alive=(\d+)"', (ROOT / "deploy" / file).read_text()) or ["2"]
    assert int(kept_s) > HEARTBEAT_INTERVAL_S


@pytest.mark.parametrize("dockerfile", sorted((ROOT / "deploy").glob("*.Dockerfile")), ids=lambda path: path.stem)
def test_an_image_s_user_may_read_what_a_checkout_keeps_from_others(dockerfile: Path) -> None:
    """Files are copied with the rights that they have, and who backs up or joins a region has a umask of 077."""
    below, copied, opened = Path("/"), set[Path](), set[Path]()
    final = dockerfile.read_text().replace("\\\n", " ").rpartition("\nFROM ")[2]
    for instruction, _, rest in (line.partition(" ") for line in final.partition("\nUSER ")[0].splitlines()):
        match instruction:
            case "WORKDIR":
                below = Path(rest)
            case "COPY" if not rest.startswith("--from="):
                *sources, target = rest.split()
                into = [Path(source).name for source in sources] if target.endswith("/") else [""]
                copied |= {below / target / name for name in into}
            case "RUN":
                for places in re.findall(r"chmod (?:-R )?a\+rX ([^&]+)", rest):
                    opened |= {below / place for place in places.split()}
    assert copied
    assert not [place for place in copied if not any(place.is_relative_to(one) for one in opened)]


def staged(dockerfile: Path, folder: Path) -> Path:
    """A folder with what the image gets from the project, without what `.dockerignore` leaves out."""
    left_out = [line.removeprefix("**/") for line in (ROOT / ".dockerignore").read_text().split()]
    image = folder / "image"
    image.mkdir()
    for source, target in re.findall(r"^COPY (?!--)([^\n]+) (\S+)$", dockerfile.read_text(), re.MULTILINE):
        for name in source.split():
            if target.startswith("/"):
                continue
            place = image / target / Path(name).name if target.endswith("/") else image / target
            copy(ROOT / name, place, left_out)
    return image


def copy(source: Path, place: Path, left_out: list[str]) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, place, ignore=shutil.ignore_patterns(*left_out))
    else:
        shutil.copy(source, place)


def run_in(folder: Path, lock: Path, code: str) -> "subprocess.CompletedProcess[str]":
    site = folder.parent / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(SITE.format(lock=str(lock)))
    environment = os.environ | {
        "PYTHONPATH": f"{site}:{folder}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "DJANGO_SETTINGS_MODULE": "backend.settings",
        "FIRSTBYTE_SECRET_KEY": "x" * 50,
        "FIRSTBYTE_FERNET_KEYS": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
    }
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
