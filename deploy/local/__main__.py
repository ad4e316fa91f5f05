"""`python -m deploy.local COMMAND`, which ./dev calls once Debian's packages are there."""

import importlib
import signal
import sys

if __name__ == "__main__":
    # Who interrupts a command that only begins ends it at once and is told nothing of its insides.
    heeded = signal.getsignal(signal.SIGINT)
    if heeded is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Whoever started this held interrupts back while Python itself began.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    call = importlib.import_module("deploy.local.call")
    signal.signal(signal.SIGINT, heeded)
    sys.exit(call.main(sys.argv[1:]))
