"""Rights over networks, which root keeps when it steps down for what makes networks of its own: nothing over files.

The test lab and shaped measurements need them. Where root was not there to keep any, a user namespace gives the same
rights over what is made inside it. <linux/capability.h>, capabilities(7).
"""

import ctypes
import os
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

# CAP_NET_ADMIN, CAP_NET_RAW and CAP_SYS_ADMIN make and enter networks; CAP_SYS_NICE keeps a delay link punctual.
_NEEDED = 1 << 12 | 1 << 13 | 1 << 21
_WANTED = _NEEDED | 1 << 23
_VERSION_3 = 0x20080522
_PR_SET_KEEPCAPS, _PR_CAP_AMBIENT, _AMBIENT_RAISE, _AMBIENT_CLEAR = 8, 47, 2, 4
_LIBC = ctypes.CDLL(None, use_errno=True)
USER_NAMESPACE = ("unshare", "--user", "--map-current-user", "--keep-caps")


def permitted() -> int:
    """The capabilities of this process as bits."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1], 16) for line in lines if line.startswith("CapPrm:"))


def keep_through_change_of_user() -> int:
    """To be called before root becomes another user: what `take_up` may have of it afterwards."""
    _LIBC.prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0)
    return permitted() & _WANTED


def take_up(rights: int) -> None:
    """After the change of user: these rights and no others, for this process and what it becomes."""
    low, high = rights & 0xFFFFFFFF, rights >> 32
    header, data = struct.pack("=Ii", _VERSION_3, 0), struct.pack("=6I", low, low, low, high, high, high)
    if _LIBC.capset(header, data):
        raise OSError(ctypes.get_errno(), "the kernel refuses to keep rights over networks")
    hand_on()


def put_away() -> None:
    """What this process starts from now on has none of its rights, unless `hand_on` is called in the child."""
    _LIBC.prctl(_PR_CAP_AMBIENT, _AMBIENT_CLEAR, 0, 0, 0)


def hand_on() -> None:
    """What this process becomes has its rights over networks; for `preexec_fn`."""
    for bit in range(64):
        if permitted() & _WANTED & 1 << bit:
            _LIBC.prctl(_PR_CAP_AMBIENT, _AMBIENT_RAISE, bit, 0, 0)


def held() -> bool:
    """Whether this process is no root and may make networks by its own rights."""
    return os.geteuid() != 0 and permitted() & _NEEDED == _NEEDED and _works(())


def user_namespaces_work() -> bool:
    """Whether a user without any rights may have them in a user namespace, and a network in there."""
    return _works(USER_NAMESPACE)


def _works(prefix: Sequence[str]) -> bool:
    done = subprocess.run([*prefix, "unshare", "--net", "true"], capture_output=True, preexec_fn=hand_on)
    return done.returncode == 0
