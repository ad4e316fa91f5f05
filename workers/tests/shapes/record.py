"""Records golden captures anew: `python -m workers.tests.shapes.record [NAME…]`, all without a name.

It makes networks, so it needs the rights of the test lab. The tests then say whether what was recorded is what the
tables say that it must be: a machine that is busy delays it by more than they allow.
"""

import argparse
import sys

from workers.tests.shapes import golden
from workers.tests.shapes.browsing import shape_lab
from workers.tests.shapes.catalogue import SHAPES


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m workers.tests.shapes.record", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SHAPES)}")
    options = parser.parse_args()
    with shape_lab() as lab:
        # The first handshake of a process costs it more than any other.
        lab.load(SHAPES["plain-h1"])
        for name in options.names or SHAPES:
            print(f"{name}: {golden.save(name, lab.load(SHAPES[name]))} bytes", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
