"""Rights over networks: kept by root for a few commands, handed to nobody by accident."""

import subprocess
from pathlib import Path

from deploy.local import rights

_AMBIENT = "grep CapAmb /proc/self/status"


def ambient() -> int:
    done = subprocess.run(["sh", "-c", _AMBIENT], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[1], 16)


def test_whoever_steps_down_without_rights_has_none_to_hand_on() -> None:
    done = subprocess.run(["sh", "-c", _AMBIENT], capture_output=True, text=True, preexec_fn=rights.put_away)
    assert int(done.stdout.split()[1], 16) == 0


def test_what_is_permitted_is_read_as_bits() -> None:
    text = Path("/proc/self/status").read_text()
    assert f"CapPrm:\t{rights.permitted():016x}" in text


def test_a_user_namespace_gives_what_a_network_needs_or_says_that_it_does_not() -> None:
    if rights.user_namespaces_work():
        command = [*rights.USER_NAMESPACE, "sh", "-c", _AMBIENT]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert int(done.stdout.split()[1], 16) & rights._NEEDED == rights._NEEDED
    else:
        assert subprocess.run([*rights.USER_NAMESPACE, "unshare", "--net", "true"], capture_output=True).returncode
