"""`python -m workers.measurement.schema [--check]`."""

import sys
from pathlib import Path

from workers.measurement.schema import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path(__file__).parent))
