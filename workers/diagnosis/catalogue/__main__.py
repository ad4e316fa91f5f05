"""Prints the catalogue as docs/findings.md has it."""

import sys

from workers.diagnosis.catalogue.page import page

sys.stdout.write(page())
