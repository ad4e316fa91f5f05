"""What root does before anything else: nothing but to find or make a service user and to become it.

The user must be able to read the code. A checkout that it cannot read (below /root, say) is copied to
/var/lib/firstbyte, and the copy is what runs.
"""

import os
import pwd
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from deploy.local import handover, rights
from deploy.local.places import Places, digest, mirror
from deploy.local.process import StepError

SERVICE_USER = "firstbyte"
VAR = Path("/var/lib/firstbyte")
# Commands that run code as it is now; the others speak to what already runs.
FRESH_CODE = frozenset({"up", "test", "check", "bench"})
# The test lab and a shaped measurement make networks of their own; everything else gets by without any right of root's.
_MAKE_NETWORKS = frozenset({"test", "bench"})
_SHAPED = "--profile"


def step_down(checkout: Path, command: str, arguments: Sequence[str]) -> None:
    """Goes on as the service user; does not return, but after `reset`, when root removes what it made itself.

    Files that only root reaches it hands over to `firstbyte`, and takes back. Interrupts are held back until the user's
    process has begun, so that none comes while Python starts and would be told with its insides.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    user = _service_user()
    places = Places(code=_readable_code(user, checkout, fresh=command in FRESH_CODE))
    _give(places.state, user)
    os.chdir(places.code)
    environment = {**os.environ, "HOME": str(places.home), "USER": user.pw_name, "LOGNAME": user.pw_name}
    again = [sys.executable, "-m", "deploy.local", command, *arguments]
    makes_networks = command in _MAKE_NETWORKS or any(word.startswith(_SHAPED) for word in arguments)
    as_user = partial(become, user, keep_networks=makes_networks)
    if command == handover.COMMAND and (private := handover.out_of_reach(arguments, as_user)):
        sys.exit(handover.run(again[:4], arguments, private, user, become=as_user, env=environment))
    if command != "reset":
        as_user()
        os.execve(again[0], again, environment)
    done = subprocess.run(again, env=environment, preexec_fn=lambda: become(user))
    if done.returncode == 0:
        _clear(places, checkout)
    sys.exit(handover.exit_code(done.returncode))


def _service_user() -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(SERVICE_USER)
    except KeyError:
        command = ["useradd", "--system", "--user-group", "--home-dir", str(VAR), *["--shell", "/usr/sbin/nologin"]]
        done = subprocess.run([*command, SERVICE_USER], capture_output=True, text=True)
    if done.returncode:
        raise StepError(f"The service user {SERVICE_USER} cannot be made: {done.stderr.strip()}")
    return pwd.getpwnam(SERVICE_USER)


def _readable_code(user: pwd.struct_passwd, checkout: Path, *, fresh: bool) -> Path:
    if _can_read(user, checkout / "deploy" / "local" / "root.py"):
        return checkout
    copy = VAR / digest(checkout)
    if fresh or not copy.exists():
        os.umask(0o022)
        VAR.mkdir(mode=0o755, exist_ok=True)
        mirror(checkout, copy)
        _open_to_readers(copy)
    return copy


def _can_read(user: pwd.struct_passwd, path: Path) -> bool:
    done = subprocess.run(["/bin/cat", path], preexec_fn=lambda: become(user), cwd="/", capture_output=True)
    return done.returncode == 0


def _open_to_readers(copy: Path) -> None:
    """What a strict umask made unreadable stays so when copied. The copy is for everybody: it holds no secrets."""
    for folder, folders, files in os.walk(copy):
        folders[:] = [name for name in folders if name != ".run"]
        Path(folder).chmod(0o755)
        for name in files:
            path = Path(folder, name)
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)


def become(user: pwd.struct_passwd, *, keep_networks: bool = False) -> None:
    """Drops root for good, perhaps but for its rights over networks."""
    kept = rights.keep_through_change_of_user() if keep_networks else 0
    os.initgroups(user.pw_name, user.pw_gid)
    os.setresgid(user.pw_gid, user.pw_gid, user.pw_gid)
    os.setresuid(user.pw_uid, user.pw_uid, user.pw_uid)
    if kept:
        rights.take_up(kept)


def _give(state: Path, user: pwd.struct_passwd) -> None:
    """Only the folder itself: what is in it, its owner makes."""
    state.mkdir(mode=0o700, exist_ok=True)
    os.chown(state, user.pw_uid, user.pw_gid, follow_symlinks=False)


def _clear(places: Places, checkout: Path) -> None:
    places.state.rmdir()
    if places.code != checkout:
        shutil.rmtree(places.code)
        if not any(VAR.iterdir()):
            VAR.rmdir()
