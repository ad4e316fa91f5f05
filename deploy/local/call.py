"""What a call of ./dev asks for, and which function does it."""

import argparse
import os
import sys
from pathlib import Path

from deploy.local import commands, handover, rights, root
from deploy.local.bench import PARTS, PEERS
from deploy.local.places import Places
from deploy.local.process import StepError

_CHECKOUT = Path(__file__).resolve().parents[2]
# Their arguments are another program's.
_PASSED_ON = {
    "test": commands.test,
    "firstbyte": commands.firstbyte,
    "manage": commands.manage,
    "python": commands.python,
}
_LONG = ", ".join(name for name, part in PARTS.items() if part.long)


def main(arguments: list[str]) -> int:
    """Runs one command; the exit code. What went wrong is one sentence on standard error."""
    os.umask(0o077)
    name, rest = arguments[0], arguments[1:]
    # Whoever asks what a command does, or is wrong, is told so before root makes or removes anything for it.
    options = None if name in _PASSED_ON else _parser().parse_args(arguments)
    if name == handover.COMMAND:
        rest = handover.absolute(rest, Path(os.environ.get("FIRSTBYTE_FROM", ".")).absolute())
    try:
        if os.geteuid() == 0:
            root.step_down(_CHECKOUT, name, rest)
        # Becomes a measurement, with what rights root left it; tests and benches hand theirs on to whom they choose.
        if name != handover.COMMAND:
            rights.put_away()
        places = Places(code=_CHECKOUT)
        return int(options.run(places, options) if options else _PASSED_ON[name](places, rest))
    except StepError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except PermissionError as error:
        print(f"\n{error.filename} belongs to another user: use ./dev as the one who ran ./dev up.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./dev", epilog="./dev --help says what each is for.")
    known = parser.add_subparsers(required=True, metavar="COMMAND")
    start = known.add_parser("up", help="set up and start everything")
    start.add_argument("--port", type=_port, help="the web port; by default the first free one from 8800")
    start.add_argument("--no-demo", action="store_true", help="without the demo sites' first runs")
    start.add_argument("--no-apt", action="store_true", help="never install Debian packages")
    start.add_argument("--foreground", action="store_true", help="stay until interrupted, then stop everything")
    start.set_defaults(run=commands.up)
    known.add_parser("down", help="stop everything").set_defaults(run=commands.down)
    known.add_parser("status", help="what runs").set_defaults(run=commands.status)
    known.add_parser("doctor", help="what could be wrong").set_defaults(run=commands.doctor)
    known.add_parser("check", help="the static checks").set_defaults(run=commands.check)
    limits = known.add_parser(
        "bench",
        help="speed and memory beside their limits",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=_about_benches(),
    )
    limits.add_argument("parts", nargs="*", metavar="PART", help=f"by default all but the long ones: {_LONG}")
    limits.set_defaults(run=commands.bench)
    logs = known.add_parser("logs", help="what the services say")
    logs.add_argument("name", nargs="?", help="one service; all of them when absent")
    logs.add_argument("-f", "--follow", action="store_true", help="go on until interrupted")
    logs.set_defaults(run=commands.logs)
    pace = known.add_parser("demo", help="make the demo shop slower, to see what happens then")
    pace.add_argument("pace", choices=["slower", "normal"], metavar="{slower,normal}")
    pace.add_argument("--by", type=_per_cent, default=20, metavar="PERCENT", help="how much longer it works (20)")
    pace.set_defaults(run=commands.demo)
    known.add_parser("screens", help="pictures of every page").set_defaults(run=commands.screens)
    clear = known.add_parser("reset", help="remove everything that up made")
    clear.add_argument("--yes", action="store_true", help="do not ask")
    clear.set_defaults(run=commands.reset)
    return parser


def _about_benches() -> str:
    parts = "\n".join(f"  {name:<15}{part.about}" for name, part in PARTS.items())
    peers = "\n".join(f"  {name}=PROGRAM" for name in PEERS)
    return f"parts:\n{parts}\n\nwhom `pages` is held against, where they are installed:\n{peers}"


def _port(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError("a port is a number from 1 to 65535")
    return int(text)


def _per_cent(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError("a number of per cent from 1 to 1000")
    return int(text)
