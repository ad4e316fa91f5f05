"""JSON Schema of every message, generated: `python -m workers.measurement.schema` writes the files beside this one.

With `--check` nothing is written; the exit code is 1 when a file differs from what the messages say.
"""

import json
import sys
from pathlib import Path

from workers.measurement import wire


def generated() -> dict[str, str]:
    """File name to content of every schema."""
    return {f"{name}.json": json.dumps(schema, indent=1) + "\n" for name, schema in wire.schemas().items()}


def stale(directory: Path) -> list[str]:
    """Files that are missing, differ from what is generated, or are no longer generated."""
    files = generated()
    present = {path.name for path in directory.glob("*.json")}
    differing = [name for name, text in files.items() if name not in present or (directory / name).read_text() != text]
    return sorted([*differing, *(present - set(files))])


def main(arguments: list[str], directory: Path) -> int:
    """Writes or checks; gives the exit code."""
    outdated = stale(directory)
    if "--check" in arguments:
        for name in outdated:
            sys.stderr.write(f"{directory / name} is stale: run python -m workers.measurement.schema\n")
        return 1 if outdated else 0
    files = generated()
    for name in outdated:
        path = directory / name
        if name in files:
            path.write_text(files[name])
        else:
            path.unlink()
    return 0
