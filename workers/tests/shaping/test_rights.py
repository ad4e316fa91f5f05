"""What is said to who may not make networks."""

import os
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
    bare = ["setpriv", "--inh-caps=-all", "--ambient-caps=-all", "--no-new-privs"]
    # Root alone may give that up, and gets everything back otherwise.
    bound = ["--bounding-set=-all"] if os.geteuid() == 0 else []
    done = subprocess.run([*bare, *bound, "--", sys.executable, "-c", _MAKE], capture_output=True, text=True)
    assert "CAP_SYS_ADMIN" in done.stdout, done.stderr
    assert "native" in done.stdout
