"""Files that `./dev firstbyte` is told to read or to write, which are the caller's and not the checkout's.

`./dev` goes to the checkout, so what is named relative to the caller's folder is named absolutely first. Root's work is
done by the service user, who can neither read what only root may, such as a log that root's Chrome wrote, nor write
beside it: so root copies what is to be read to where that user can, and what was written to where it was asked for.
"""

import os
import pwd
import shutil
import signal
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

COMMAND = "firstbyte"
Become = Callable[[], None]
_STDIN = "-"
# The shell's number for what a signal ended.
_SIGNALLED = 128


class Use(Enum):
    """What becomes of a path."""

    READ = "read"
    WRITTEN = "written"
    FOLDER = "folder"


_OPTIONS = {
    "--cacert": Use.READ,
    "--script": Use.READ,
    "--har": Use.WRITTEN,
    "--netlog": Use.WRITTEN,
    "--screenshot": Use.WRITTEN,
    "--markdown": Use.WRITTEN,
    "--junit": Use.WRITTEN,
    "--filmstrip": Use.FOLDER,
}
# These commands are given one file without an option before it; the values of other options are none.
_READERS = (("netlog",), ("cdp",), ("import",), ("sites", "plan"), ("sites", "apply"))
_VALUED = frozenset({"--limit", "--url", "--token", "--site", *_OPTIONS})


@dataclass(frozen=True, slots=True)
class Named:
    """A path among the words of a command: at which place, behind which part of its word."""

    at: int
    before: str
    path: Path
    use: Use


def named_in(words: Sequence[str]) -> Iterator[Named]:
    """Every path that a command names, but standard input."""
    file_from = next((len(reader) for reader in _READERS if tuple(words[: len(reader)]) == reader), len(words))
    for at, word in enumerate(words[1:], 1):
        option, sign, value = word.partition("=")
        last = words[at - 1]
        found = None
        if last in _OPTIONS:
            found = Named(at, "", Path(word), _OPTIONS[last])
        elif sign and option in _OPTIONS:
            found = Named(at, f"{option}=", Path(value), _OPTIONS[option])
        elif at >= file_from and not word.startswith("-") and last not in _VALUED:
            found = Named(at, "", Path(word), Use.READ)
        if found is not None and str(found.path) != _STDIN:
            yield found


def absolute(words: Sequence[str], folder: Path) -> list[str]:
    """The same command, whatever folder it is carried out in."""
    return _with(words, {one.at: one.before + str(folder / one.path) for one in named_in(words)})


def out_of_reach(words: Sequence[str], become: Become) -> list[Named]:
    """Those which a user could not read or write who may do what is left after `become`."""
    return [one for one in named_in(words) if not _is_reached(one, become)]


def run(
    program: Sequence[str],
    words: Sequence[str],
    private: Sequence[Named],
    user: pwd.struct_passwd,
    *,
    become: Become,
    env: Mapping[str, str],
) -> int:
    """Carries out `program` with the words of a command, as `user` with root's `private` files; its exit code."""
    with tempfile.TemporaryDirectory(prefix="firstbyte-", dir="/tmp") as folder:
        Path(folder).chmod(0o711)
        lent = {one: _lend(one, Path(folder, str(one.at)), user) for one in private}
        handed = {one.at: one.before + str(path) for one, path in lent.items()}
        code = _carry_out([*program, *_with(words, handed)], become, env)
        for one, path in lent.items():
            if one.use is not Use.READ:
                _give_back(path, one.path)
    return code


def _with(words: Sequence[str], changed: Mapping[int, str]) -> list[str]:
    return [changed.get(at, word) for at, word in enumerate(words)]


def _is_reached(one: Named, become: Become) -> bool:
    """What is there and of another kind, such as a folder for a file, is left for the command to refuse."""
    if one.use is Use.READ:
        return _may(become, "-r", one.path) or (not one.path.exists() and _may(become, "-x", one.path.parent))
    place = next(path for path in (one.path, *one.path.parents) if path.exists())
    is_right = place.is_dir() == (one.use is Use.FOLDER or place != one.path)
    is_near = one.use is Use.FOLDER or place in (one.path, one.path.parent)
    return _may(become, "-w", place) or not (is_right and is_near)


def _may(become: Become, what: str, path: Path) -> bool:
    return subprocess.run(["/usr/bin/test", what, path], preexec_fn=become, cwd="/").returncode == 0


def _lend(one: Named, folder: Path, user: pwd.struct_passwd) -> Path:
    """Where the user finds a file, or may make it. Of one to read that is none there is none there either."""
    folder.mkdir()
    lent = folder / one.path.name
    if one.use is not Use.READ:
        os.chown(folder, user.pw_uid, user.pw_gid)
        return lent
    folder.chmod(0o711)
    if one.path.is_dir():
        lent.mkdir()
    elif one.path.exists():
        # A pipe too, as a shell makes of <(command).
        with one.path.open("rb") as file, lent.open("wb") as copy:
            shutil.copyfileobj(file, copy)
    if lent.exists():
        os.chown(lent, user.pw_uid, user.pw_gid)
    return lent


def _carry_out(command: Sequence[str], become: Become, env: Mapping[str, str]) -> int:
    """What interrupts a terminal's programs reaches the command too, and it is waited for."""
    child = subprocess.Popen(command, env=env, preexec_fn=become)
    before = {signal.SIGINT: signal.signal(signal.SIGINT, signal.SIG_IGN)}
    for number in (signal.SIGTERM, signal.SIGHUP):
        before[number] = signal.signal(number, lambda number, _frame: child.send_signal(number))
    try:
        code = exit_code(child.wait())
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code


def exit_code(returned: int) -> int:
    """Of what Python says of a child that ended, as a shell says it."""
    return _SIGNALLED - returned if returned < 0 else returned


def _give_back(made: Path, wanted: Path) -> None:
    """What the user made, and nothing that it only points to."""
    if made.is_dir() and not made.is_symlink():
        wanted.mkdir(parents=True, exist_ok=True)
        for one in made.iterdir():
            _give_back(one, wanted / one.name)
        return
    try:
        opened = os.open(made, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return
    with open(opened, "rb") as file:
        if stat.S_ISREG(os.fstat(opened).st_mode):
            with wanted.open("wb") as copy:
                shutil.copyfileobj(file, copy)
