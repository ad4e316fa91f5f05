"""The test lab's own pytest run: its tests make networks, so that it runs with rights that no other test has.

It comes when nothing else runs but what makes way at once, since it measures to the tenth of a millisecond.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from deploy.local import rights

FOLDER = "workers/tests/netlab"
# Tests that compute, or ask a database, and time nothing: they have the processors while the lab waits for packets.
BESIDE = ("workers/tests/measurement", "workers/tests/diagnosis", "backend/analysis", "backend/api")
NO_TESTS = 5
CANNOT_RUN = f"""\
The test lab ({FOLDER}) CANNOT RUN here, and with it what says whether measurements and findings are right.
It makes networks of its own. Run ./dev test as root (in a container: with CAP_SYS_ADMIN and CAP_NET_ADMIN, as
`docker run --privileged` gives), or let users make namespaces: sysctl user.max_user_namespaces=10000, and, where
there is AppArmor, kernel.apparmor_restrict_unprivileged_userns=0."""

# What comes before a command, and what its process must do before it becomes that.
Way = tuple[tuple[str, ...], Callable[[], None]]


def way() -> Way | None:
    """What to put before a command so that it may make networks; None where there is no way."""
    if os.geteuid() == 0:
        return (), lambda: None
    if rights.held():
        return (), rights.hand_on
    if rights.user_namespaces_work():
        return rights.USER_NAMESPACE, lambda: None
    return None


def share(arguments: Sequence[str], code: Path) -> tuple[list[str] | None, list[str] | None]:
    """What pytest's arguments ask of all other tests, and what of the lab's; None for nothing.

    Without a path both are asked for.
    """
    paths = [word for word in arguments if (code / word.partition("::")[0]).exists()]
    rest = [word for word in arguments if word not in paths]
    inside = [word for word in paths if _is_inside(word)]
    # A folder above the lab's holds both.
    above = any(Path(FOLDER).is_relative_to(word) for word in paths)
    outside = [word for word in paths if word not in inside]
    others = None if paths and not outside else [*rest, *outside, f"--ignore={FOLDER}"]
    lab = [*rest, *(inside or [FOLDER])] if not paths or inside or above else None
    return others, lab


def _is_inside(word: str) -> bool:
    return Path(word.partition("::")[0]).is_relative_to(FOLDER)
