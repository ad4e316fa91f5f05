"""Records golden captures anew: `python -m workers.tests.shapes.record [NAME…]`, all without a name.

It makes networks, so it needs the rights of the test lab. A machine that is busy delays a page by more than its table
allows, so each is tried several times; where the last is still not what the table says, the difference is told.
"""

import argparse
import sys

from workers.browser.faults import BrowserError
from workers.measurement.compute.page.page import compute_page
from workers.tests.shapes import golden
from workers.tests.shapes.browsing import ShapeLab, shape_lab
from workers.tests.shapes.catalogue import SHAPES
from workers.tests.shapes.table import differences

_TRIES = 10


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m workers.tests.shapes.record", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SHAPES)}")
    options = parser.parse_args()
    with shape_lab() as lab:
        # The first handshake of a process costs it more than any other.
        lab.load(SHAPES["plain-h1"])
        return sum(not _record(lab, name) for name in options.names or SHAPES)


def _record(lab: ShapeLab, name: str) -> bool:
    """Whether what was kept is what its table says."""
    told = [name]
    for _ in range(_TRIES):
        try:
            capture = lab.load(SHAPES[name])
        except BrowserError as error:
            told = [f"{name}: {error}"]
            continue
        apart = differences(SHAPES[name], compute_page(capture).measurement)
        told = [f"{name}: {golden.save(name, capture)} bytes", *apart]
        if not apart:
            break
    print("\n    ".join(told), flush=True)
    return len(told) == 1


if __name__ == "__main__":
    sys.exit(main())
