"""How an agent's container starts: what it makes as root, and that it is nobody of consequence afterwards."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "compose" / "start-agent"
# Stands in for the agent: it tells who it is, and tries to get out.
PYTHON = """\
#!/bin/sh
case "$*" in
  *'firewall --user firstbyte') echo 'table inet firstbyte {}' ;;
  *agent) echo "agent of $(id -u)"; nft flush ruleset 2>/dev/null && echo 'changed the rules' ;;
esac
true
"""
UID = 10002
# In a network and with users of its own, with no more rights than the container has.
CONTAINER = """\
mount --bind "$0/passwd" /etc/passwd && mount --bind "$0/group" /etc/group
PATH="$0:$PATH" setpriv --bounding-set "$1" --inh-caps=-all --no-new-privs -- start-agent
echo "ended with $?"
nft list tables
"""

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="making a network needs root")


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that other users may look into."""
    folder = Path(tempfile.mkdtemp(prefix="firstbyte-start-"))
    folder.chmod(0o755)
    for name, line in (("passwd", f"firstbyte:x:{UID}:{UID}::/:/bin/sh"), ("group", f"firstbyte:x:{UID}:")):
        others = [one for one in Path("/etc", name).read_text().splitlines() if not one.startswith("firstbyte:")]
        (folder / name).write_text("\n".join([*others, line, ""]))
    (folder / "python").write_text(PYTHON)
    (folder / "python").chmod(0o755)
    shutil.copy(SCRIPT, folder)
    yield folder
    shutil.rmtree(folder)


def started(place: Path, rights: str) -> "subprocess.CompletedProcess[str]":
    command = ["unshare", "--net", "--mount", "sh", "-c", CONTAINER, str(place), rights]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


def test_the_agent_runs_behind_its_rules_without_the_right_to_change_them(place: Path) -> None:
    told = started(place, "-all,+net_admin,+setuid,+setgid").stdout.splitlines()
    assert told == [f"agent of {UID}", "ended with 0", "table inet firstbyte"]


def test_a_container_that_may_not_make_rules_says_so_and_starts_nothing(place: Path) -> None:
    ended = started(place, "-all,+setuid,+setgid")
    assert ended.stdout.splitlines() == ["ended with 1"]
    assert "give the container the capability NET_ADMIN" in ended.stderr


def test_who_is_not_root_starts_without_rules_and_is_told(place: Path) -> None:
    command = ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups", "start-agent"]
    environment = {"PATH": f"{place}:{os.environ['PATH']}"}
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True, env=environment)
    assert ended.stdout == f"agent of {UID}\n"
    assert "Nothing but Chromium itself keeps pages off private networks" in ended.stderr
