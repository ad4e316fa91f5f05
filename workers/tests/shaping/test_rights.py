"""What is said to who may not make networks."""

import subprocess
import sys

_MAKE = """
from workers.measurement.profile import PROFILES
from workers.shaping.faults import NotPermittedError
from workers.shaping.place import ShapedPlace
try:
    ShapedPlace(PROFILES["3g"])
except NotPermittedError as error:
    print(error)
"""


def test_who_may_not_make_a_network_is_told_what_is_missing() -> None:
    bare = ["setpriv", "--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all", "--no-new-privs", "--"]
    done = subprocess.run([*bare, sys.executable, "-c", _MAKE], capture_output=True, text=True)
    assert "CAP_SYS_ADMIN" in done.stdout, done.stderr
    assert "native" in done.stdout
