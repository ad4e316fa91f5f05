"""./dev itself: what it says before it changes anything, on machines made up as folders."""

import os
import signal
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from deploy.local.bench import PARTS

DEV = Path(__file__).resolve().parents[3] / "dev"
PRESENT = {
    "python3": "usr/bin/python3",
    "python3-venv": "usr/lib/python3.11/ensurepip/__main__.py",
    "postgresql": "usr/lib/postgresql/15/bin/initdb",
    "redis-server": "usr/bin/redis-server",
    "nginx": "usr/sbin/nginx",
    "libnginx-mod-http-js": "usr/lib/nginx/modules/ngx_http_js_module.so",
    "chromium": "usr/lib/chromium/chromium",
    "chromium-headless-shell": "usr/lib/chromium/chromium-headless-shell",
    "fonts-dejavu-core": "usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
    "fonts-liberation": "usr/share/fonts/truetype/liberation/x.ttf",
    "fonts-noto-color-emoji": "usr/share/fonts/truetype/noto/NotoColorEmoji.ttf",
    "ca-certificates": "etc/ssl/certs/ca-certificates.crt",
    "openssl": "usr/bin/openssl",
}

Dev = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A Debian with every package, as far as ./dev can see."""
    for path in (*PRESENT.values(), "etc/os-release", "proc/meminfo"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    (tmp_path / "etc/os-release").write_text('PRETTY_NAME="Debian"\nID=debian\n')
    (tmp_path / "proc/meminfo").write_text("MemTotal:       4000000 kB\n")
    return tmp_path


@pytest.fixture
def dev(machine: Path) -> Dev:
    def run(script: str) -> "subprocess.CompletedProcess[str]":
        env = {"PATH": os.environ["PATH"], "FIRSTBYTE_DEV_ROOT": str(machine), "TMPDIR": str(machine)}
        command = ["bash", "-c", f"source {DEV}; {script}"]
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)

    return run


def test_its_bash_can_be_read() -> None:
    assert subprocess.run(["bash", "-n", DEV], capture_output=True).stderr == b""


def test_help_names_every_command_and_needs_nothing() -> None:
    done = subprocess.run([DEV, "--help"], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
    assert done.returncode == 0
    for command in (
        "up",
        "down",
        "status",
        "logs",
        "doctor",
        "reset",
        "test",
        "check",
        "firstbyte",
        "manage",
        "python",
    ):
        assert f"\n  {command} " in done.stdout


@pytest.mark.parametrize("command", ["up", "check", "bench"])
def test_who_asks_what_a_command_does_is_told_before_anything_is_installed(tmp_path: Path, command: str) -> None:
    env = {"PATH": "/usr/bin:/bin", "FIRSTBYTE_DEV_ROOT": str(tmp_path)}
    done = subprocess.run([DEV, command, "--help"], env=env, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: ./dev {command}")


def test_every_bench_is_told_with_what_it_is_about() -> None:
    done = subprocess.run([DEV, "bench", "--help"], capture_output=True, text=True, timeout=120)
    for name, part in PARTS.items():
        assert f"{name:<15}{part.about}" in done.stdout
    assert f"all but the long ones: {', '.join(name for name, part in PARTS.items() if part.long)}" in done.stdout


def test_who_asks_where_there_is_no_python_is_told_what_there_is(dev: Dev) -> None:
    done = dev("find_python() { die none; }; main bench --help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("./dev COMMAND")


def test_an_unknown_command_is_named_and_is_wrong_usage() -> None:
    done = subprocess.run([DEV, "start"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "no command 'start'" in done.stderr


_INTERRUPTED = """
import os, signal, sys
if sys.orig_argv[1:3] == ["-m", "deploy.local"]:
    os.kill(os.getpid(), signal.SIGINT)
"""


def test_who_interrupts_it_while_python_starts_is_told_nothing_of_its_insides(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(_INTERRUPTED)
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [DEV, "status"],
        env=env,
        capture_output=True,
        timeout=120,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    assert (done.returncode, done.stderr) == (-signal.SIGINT, b"")


def test_a_machine_with_everything_passes_and_lacks_nothing(dev: Dev) -> None:
    done = dev('preflight; missing "${RUN_PACKAGES[@]}"')
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("package", PRESENT)
def test_a_package_whose_file_is_gone_is_missing(dev: Dev, machine: Path, package: str) -> None:
    (machine / PRESENT[package]).unlink()
    if package == "fonts-liberation":
        (machine / PRESENT[package]).parent.rmdir()
    assert dev('missing "${RUN_PACKAGES[@]}"').stdout.split() == [package]


def test_another_distribution_is_sent_to_docker(dev: Dev, machine: Path) -> None:
    (machine / "etc/os-release").write_text("ID=fedora\n")
    done = dev("preflight")
    assert done.returncode == 1
    assert "Debian 12 or 13" in done.stderr
    assert "'fedora'" in done.stderr
    assert "docker compose" in done.stderr


def test_what_descends_from_debian_is_welcome(dev: Dev, machine: Path) -> None:
    (machine / "etc/os-release").write_text('ID=linuxmint\nID_LIKE="ubuntu debian"\n')
    assert dev("preflight").returncode == 0


def test_too_little_memory_is_said_with_both_numbers(dev: Dev, machine: Path) -> None:
    (machine / "proc/meminfo").write_text("MemTotal:        900000 kB\n")
    done = dev("preflight")
    assert done.returncode == 1
    assert "need 1500 MB of memory; this machine has 878 MB" in done.stderr


def test_too_little_disk_is_said_with_both_numbers(dev: Dev) -> None:
    done = dev("df() { printf 'head\\ndisk 100 90 10 90%% /\\n'; }; preflight")
    assert done.returncode == 1
    assert "2048 MB of free disk" in done.stderr
    assert "has 10 MB" in done.stderr


def test_without_permission_to_install_it_prints_the_line_to_run_and_changes_nothing(dev: Dev) -> None:
    done = dev("no_apt=yes; sudo() { echo changed; }; install nginx openssl")
    assert done.returncode == 1
    assert "apt-get install --no-install-recommends nginx openssl" in done.stderr
    assert "changed" not in done.stdout


def test_a_failed_installation_shows_the_end_of_its_output(dev: Dev) -> None:
    done = dev("no_apt=no; INSTALL='echo Unable to locate package; exit 100'; sudo() { shift; \"$@\"; }; install nginx")
    assert done.returncode == 1
    assert "Unable to locate package" in done.stderr
    assert "whole output is in" in done.stderr
