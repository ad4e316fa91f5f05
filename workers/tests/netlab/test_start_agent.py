"""How an agent's container starts: with its rules first, and then without root's rights."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from workers.shaping.namespace import Namespace

SCRIPT = Path(__file__).resolve().parents[3] / "deploy" / "compose" / "start-agent"
ROOT, SOMEBODY = 0, 10002
RULES = "table inet firstbyte {}"
# They stand in for what only a container has: its users, its first process, and the agent, which tells what it finds.
STANDINS = {
    "id": "echo {user}",
    "setpriv": 'echo "as $2, groups $5" >&2; while [ "$1" != -- ]; do shift; done; shift; exec "$@"',
    "tini": '[ "$1" = -- ] && shift && exec "$@"',
    "firstbyte": f"""\
case "$*" in
  'firewall --user firstbyte') echo '{RULES}' ;;
  agent) echo "agent among: $(nft list tables)" ;;
esac""",
}


@pytest.fixture
def container() -> Iterator[Namespace]:
    with Namespace("container") as network:
        yield network


def started(container: Namespace, folder: Path, user: int, **others: str) -> tuple[int, str, str]:
    """The exit code, and what was told and complained of."""
    for name, body in (STANDINS | others).items():
        (folder / name).write_text(f"#!/bin/sh\n{body.replace('{user}', str(user))}\n")
        (folder / name).chmod(0o755)
    path = {"PATH": f"{folder}:{os.environ['PATH']}:/usr/sbin"}
    done = container.call(
        lambda: subprocess.run([SCRIPT], env=path, capture_output=True, text=True, timeout=120, check=False)
    )
    return done.returncode, done.stdout.strip(), done.stderr


def test_the_agent_starts_behind_its_rules_and_without_roots_rights(container: Namespace, tmp_path: Path) -> None:
    code, told, complained = started(container, tmp_path, ROOT)
    assert (code, told) == (0, "agent among: table inet firstbyte")
    assert complained.splitlines() == ["as firstbyte, groups --clear-groups"] * 2


def test_a_container_that_may_not_make_rules_says_so_and_starts_nothing(container: Namespace, tmp_path: Path) -> None:
    code, told, complained = started(container, tmp_path, ROOT, nft="exit 1")
    assert (code, told) == (1, "")
    assert "give the container the capability NET_ADMIN" in complained


def test_an_environment_that_makes_no_agent_starts_nothing(container: Namespace, tmp_path: Path) -> None:
    code, told, complained = started(container, tmp_path, ROOT, firstbyte="echo 'no agent' >&2; exit 2")
    assert (code, told) == (2, "")
    assert "no agent" in complained


def test_who_is_not_root_starts_without_rules_and_is_told(container: Namespace, tmp_path: Path) -> None:
    code, told, complained = started(container, tmp_path, SOMEBODY)
    assert (code, told) == (0, "agent among:")
    assert "Nothing but Chromium itself keeps pages off private networks" in complained
