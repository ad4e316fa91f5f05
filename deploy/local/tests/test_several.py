import json
import os
import subprocess
import sys

from deploy.local.tests.rig import CODE

# Nothing here touches a database: the settings only have to be readable.
ENV = {
    "PATH": os.environ["PATH"],
    "DJANGO_SETTINGS_MODULE": "backend.settings",
    "FIRSTBYTE_SECRET_KEY": "only-for-tests-" * 5,
}


def several(*commands: list[str]) -> "subprocess.CompletedProcess[str]":
    program = [sys.executable, "-B", "-m", "deploy.local.several", json.dumps(commands)]
    return subprocess.run(program, cwd=CODE, env=ENV, capture_output=True, text=True, timeout=120)


def test_each_command_says_its_own() -> None:
    done = several(["diffsettings"], ["diffsettings", "--output", "unified"])
    first, second = json.loads(done.stdout)
    assert "\nROOT_URLCONF = 'backend.urls'" in first
    assert "\n+ ROOT_URLCONF = 'backend.urls'" in second


def test_the_first_that_fails_is_named_and_ends_the_rest() -> None:
    done = several(["no_such_command"], ["diffsettings"])
    assert done.returncode == 1
    assert "no_such_command: Unknown command" in done.stderr
    assert done.stdout == ""
