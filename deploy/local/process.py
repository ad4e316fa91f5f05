"""Children: how they are born (a session of their own, dying with their parent) and how they are found again."""

import ctypes
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

# <linux/prctl.h>
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LIBC = ctypes.CDLL(None, use_errno=True)

Check = Callable[[], bool]
Prepare = Callable[[], object]
# How much of a failed step's output is shown.
_TAIL_LINES = 15
_TAIL_BYTES = 16 * 1024
_POLL_S = 0.05


class StepError(Exception):
    """A step of the set-up did not work; the text is a sentence, perhaps with the end of the step's output."""


def run_step(command: Sequence[object], *, env: Mapping[str, str], cwd: Path, what: str, timeout_s: float = 900) -> str:
    """The output of a command that must work. Raises StepError that begins with `what`."""
    try:
        done = subprocess.run(
            [str(part) for part in command],
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            preexec_fn=_unblock_signals,
            timeout=timeout_s,
        )
    except subprocess.TimeoutExpired as error:
        raise StepError(f"{what} did not end within {timeout_s:.0f} s.") from error
    if done.returncode:
        said = (done.stderr or done.stdout).decode(errors="replace")
        raise StepError(f"{what} failed ({exit_words(done.returncode)}):\n{last_lines(said)}")
    return done.stdout.decode(errors="replace")


def fault_of(command: Sequence[str], *, env: Mapping[str, str], cwd: Path, timeout_s: float) -> str:
    """What is wrong: how a command ended and the last of what it said; empty when it ended with 0."""
    try:
        done = subprocess.run(
            command,
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout_s,
        )
    except subprocess.TimeoutExpired:
        return f"did not end within {timeout_s:.0f} s"
    said = done.stdout.decode(errors="replace")[-_TAIL_BYTES:].strip()
    return f"{exit_words(done.returncode)}\n{said}" if done.returncode else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A command that speaks through our own output. `prepare` is called in its process before it becomes that."""

    command: Sequence[str]
    env: Mapping[str, str]
    cwd: Path
    prepare: Prepare | None = None

    def start(self) -> subprocess.Popen[bytes]:
        env = dict(self.env)
        return subprocess.Popen(self.command, env=env, cwd=self.cwd, stdin=subprocess.DEVNULL, preexec_fn=self.prepare)


def run_to_the_end(*jobs: Job, timeout_s: float) -> list[int | None]:
    """The exit codes of commands that run side by side; None of one that did not end in time.

    What they leave behind is ended with the last of them, and buried meanwhile: we may be the first process of a
    container, and somebody waits for a process to be gone.
    """
    adopt_orphans()
    deadline = monotonic() + timeout_s
    running: list[subprocess.Popen[bytes]] = []
    try:
        running += (job.start() for job in jobs)
        while (left := [one for one in running if one.returncode is None]) and monotonic() < deadline:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                sleep(_POLL_S)
            for one in left:
                if one.pid == pid:
                    one.returncode = os.waitstatus_to_exitcode(status)
        return [one.returncode for one in running]
    finally:
        end_children()


def end_children() -> None:
    """Kills and buries every child of this process, adopted ones too, until there is none."""
    while left := children(os.getpid()):
        for pid in left:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def spawn(
    command: Sequence[str], *, env: Mapping[str, str], cwd: Path, log: Path, death_signal: int
) -> subprocess.Popen[bytes]:
    """A child in a session of its own that writes to `log` and gets `death_signal` should this process die."""
    parent = os.getpid()

    def prepare() -> None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, death_signal, 0, 0, 0)
        # It died before it could be watched.
        if os.getppid() != parent:
            os._exit(os.EX_TEMPFAIL)
        _unblock_signals()

    with log.open("ab") as out:
        return subprocess.Popen(
            command,
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=prepare,
        )


def adopt_orphans() -> None:
    """From now on a descendant whose parent dies becomes our child, so that none is lost from sight."""
    if _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "the kernel refuses PR_SET_CHILD_SUBREAPER")


def children(pid: int) -> list[int]:
    """The living children of a process."""
    return [child for child, parent, state in _processes() if parent == pid and state != "Z"]


def descendants(pid: int) -> list[int]:
    """All living processes below a process, parents before their children."""
    table = [(child, parent) for child, parent, state in _processes() if state != "Z"]
    found = [pid]
    for ancestor in found:
        found.extend(child for child, parent in table if parent == ancestor)
    return found[1:]


def exit_words(code: int) -> str:
    """An exit code as people say it: `exit code 3`, `killed by SIGKILL`."""
    return f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"


def last_lines(text: str) -> str:
    """The end of an output, indented, to stand under a sentence."""
    return "\n".join(f"    {line}" for line in text[-_TAIL_BYTES:].rstrip().splitlines()[-_TAIL_LINES:])


def tail(path: Path) -> str:
    """The end of a log, indented; empty when there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            return last_lines(file.read().decode(errors="replace"))
    except FileNotFoundError:
        return ""


def _unblock_signals() -> None:
    # The supervisor waits for signals by blocking them, and a mask is inherited through exec.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _processes() -> list[tuple[int, int, str]]:
    """(pid, parent, state) of every process; those that end while we look are left out."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                # The command's name stands in brackets and may hold anything, spaces and brackets too.
                state, parent = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
            except (FileNotFoundError, ProcessLookupError):
                continue
            found.append((int(entry.name), int(parent), state))
    return found
