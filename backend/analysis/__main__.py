"""`python -m backend.analysis COMMAND`: one JSON document on stdin, what it means on stdout. Needs no database."""

import argparse
import json
import sys
from collections.abc import Sequence
from importlib import import_module

from backend.analysis.document import MAX_DOCUMENT_BYTES, DocumentError

# Name to module and line of help. A module has `ABOUT`, a text that teaches the document, and `answer(text)`, which
# gives the answer as what JSON can hold and raises DocumentError.
COMMANDS = {
    "detect": ("backend.analysis.detect_command", "find regressions in series of measurements, as they would be told"),
    "gate": ("backend.analysis.gate_command", "judge fresh runs against history, as a deploy gate does"),
    "changepoints": ("backend.analysis.changepoints_command", "find where the level of a series changed"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    module = import_module(COMMANDS[options.command][0])
    try:
        answer = module.answer(sys.stdin.buffer.read(MAX_DOCUMENT_BYTES + 1))
    except DocumentError as error:
        print(f"{options.command}: {error}", file=sys.stderr)  # noqa: T201 (a command's own output)
        return 2
    json.dump(answer, sys.stdout, indent=2, allow_nan=False)
    sys.stdout.write("\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m backend.analysis", description=__doc__.split(":", 1)[1].strip())
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (module, line) in COMMANDS.items():
        commands.add_parser(
            name,
            help=line,
            description=import_module(module).ABOUT,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
    return parser


if __name__ == "__main__":
    sys.exit(main())
