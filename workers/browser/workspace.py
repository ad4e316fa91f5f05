"""The private directory of one browser: its home, its log. Nothing of it outlives the browser."""

import contextlib
import os
import re
import shutil
import tempfile
import time
from pathlib import Path

from workers.browser.trust import trust_in_home

PREFIX = "firstbyte-browser-"
# Of what the driver makes for a browser, in the folder for temporary files.
_PROFILE = re.compile(rb"--user-data-dir=([^\0]*/playwright_\w+_profile-\w+)")
# A killed browser's other processes may write a moment longer.
_TRIES, _PAUSE_S = 40, 0.05
_NAME = re.compile(rf"{PREFIX}(\d+)-.*")


class Workspace:
    """Made for one browser of this process; `remove` takes it away. Raises BrowserError when `ca_file` is of no use."""

    def __init__(self, ca_file: Path | None) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
        self._profile: Path | None = None
        self.home = self.path / "home"
        self.netlog = self.path / "netlog.json"
        self.home.mkdir(mode=0o700)
        if ca_file is not None:
            try:
                trust_in_home(self.home, ca_file)
            except Exception:
                self.remove()
                raise

    @property
    def environment(self) -> dict[str, str | float | bool]:
        """What the browser gets to see of ours: no secret is in it."""
        return {
            "HOME": str(self.home),
            "TMPDIR": str(self.path),
            "PATH": os.defpath,
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "DBUS_SESSION_BUS_ADDRESS": "disabled:",
        }

    def adopt_profile(self, browser: int) -> None:
        """To remove the profile of this process too: the driver, which made it, may end before it is done with that."""
        with contextlib.suppress(OSError):
            found = _PROFILE.search(Path(f"/proc/{browser}/cmdline").read_bytes())
            self._profile = None if found is None else Path(os.fsdecode(found[1]))

    def remove(self) -> None:
        for place in (self._profile, self.path):
            if place is not None:
                _remove(place)


def _remove(place: Path) -> None:
    for _ in range(_TRIES):
        shutil.rmtree(place, ignore_errors=True)
        if not place.exists():
            return
        time.sleep(_PAUSE_S)


def sweep() -> None:
    """Removes what processes that were killed have left. Of others' directories the system refuses the removal."""
    for entry in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        owner = _NAME.fullmatch(entry.name)
        if owner is not None and not _is_alive(int(owner[1])):
            shutil.rmtree(entry, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        try:
            os.kill(pid, 0)
        except PermissionError:
            return True
        return True
    return False
