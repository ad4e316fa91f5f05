"""The `firstbyte` command: from the words of a call to its exit code, however it ends."""

import importlib
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from workers.commands import EXIT_NOT_MEASURED, EXIT_USAGE, UsageError
from workers.commands.output import OutputError, ReaderGoneError, flush, give_up_stdout, make_streams_sound, say

Handler = Callable[[int, FrameType | None], Any] | signal.Handlers

_MAIN = threading.main_thread()
_LACKS = "this needs the package {package}, which is not here; install firstbyte with its part [worker]."
# What a shell says of a program that a signal ended.
_SIGNALLED = 128
# It has processes of its own to end, in its own order.
_MINDS_SIGNALS_ITSELF = "agent"


def main(arguments: Sequence[str] | None = None) -> int:
    """Carries out one command and gives its exit code."""
    make_streams_sound()
    try:
        try:
            return _carry_out(sys.argv[1:] if arguments is None else arguments)
        finally:
            flush()
    except ReaderGoneError:
        give_up_stdout()
        return _SIGNALLED + signal.SIGPIPE
    except OutputError as error:
        give_up_stdout()
        say(f"firstbyte: {error}")
        return EXIT_NOT_MEASURED
    except KeyboardInterrupt:
        return _SIGNALLED + signal.SIGINT


def _carry_out(words: Sequence[str]) -> int:
    # Who interrupts a command that only begins ends it at once and is told nothing of its insides.
    with _handling(signal.SIG_DFL, signal.SIGINT):
        # `./dev` holds interrupts back while Python itself starts.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        asked = importlib.import_module("workers.commands.parser").parse(words)
        try:
            module = _module_of(asked.command)
        except ModuleNotFoundError as error:
            say(f"firstbyte {asked.command}: {_LACKS.format(package=error.name)}")
            return EXIT_NOT_MEASURED
    # Who is asked to end, or loses its terminal, ends its browsers and removes its files as after Ctrl+C.
    with _handling(_end, *(() if asked.command == _MINDS_SIGNALS_ITSELF else (signal.SIGTERM, signal.SIGHUP))):
        try:
            return int(module.run(asked))
        except UsageError as error:
            say(f"firstbyte {asked.command}: {error}")
            return EXIT_USAGE
        except OutputError:
            raise
        except OSError as error:
            what = f"{error.filename}: " if error.filename else ""
            say(f"firstbyte {asked.command}: this machine refuses: {what}{error.strerror or error}")
            return EXIT_NOT_MEASURED
        except Exception:
            # Not Python's own exit code 1, which says that a target failed its check.
            say(traceback.format_exc().rstrip())
            return EXIT_NOT_MEASURED


def _module_of(command: str) -> Any:
    """The module of a command; import is a word of Python's own."""
    return importlib.import_module(f"workers.commands.{'importing' if command == 'import' else command}")


@contextmanager
def _handling(handler: Handler, *numbers: signal.Signals) -> Iterator[None]:
    """How signals are met, but for those that the caller has ignored. Outside the main thread nothing changes."""
    usual = (signal.SIG_DFL, signal.default_int_handler)
    before = {number: signal.getsignal(number) for number in numbers if threading.current_thread() is _MAIN}
    heeded = {number: met for number, met in before.items() if met in usual}
    for number in heeded:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, met in heeded.items():
            signal.signal(number, met)


def _end(number: int, _frame: FrameType | None) -> None:
    sys.exit(_SIGNALLED + number)


if __name__ == "__main__":
    sys.exit(main())
