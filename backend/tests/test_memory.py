"""What each process of the service holds in memory for good."""

import os
import subprocess
import sys

PAGES = "import django; django.setup(); import backend.urls; from django.urls import get_resolver; get_resolver()"
SCHEDULER = "import django; django.setup(); import backend.runs.management.commands.scheduler"
SWEEPER = "import django; django.setup(); import backend.runs.management.commands.sweeper"
# What all processes of the service are forks of.
PARENT = f"{PAGES}; import backend.processes.management.commands.service"


def _modules_of(beginning: str) -> set[str]:
    told = f"{beginning}; import sys; print(*{{name.partition('.')[0] for name in sys.modules}})"
    return set(
        subprocess.run(
            [sys.executable, "-c", told], env=os.environ, capture_output=True, text=True, check=True
        ).stdout.split()
    )


def test_only_who_judges_has_the_arithmetic_of_whole_histories_in_memory() -> None:
    for beginning in (PAGES, SCHEDULER, SWEEPER, PARENT):
        modules = _modules_of(beginning)
        assert "django" in modules
        assert "numpy" not in modules
