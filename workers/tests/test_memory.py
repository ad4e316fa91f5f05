"""What the processes of an agent share."""

import subprocess
import sys
from pathlib import Path

# As in the processes that measure, up to where the broker is asked.
STARTS_A_WORKER = """
import sys
from workers import agent, toolbox
from workers.config import load_config
from workers.tasks import import_ahead, make_app, register, worker_of

config = load_config()
import_ahead()
before = set(sys.modules)
app = make_app(config)
register(app, None)
worker = worker_of(app, name="page@here", queues=("page",), slots=1)
worker.consumer.update_strategies()
print(*sorted(set(sys.modules) - before))
"""


def test_a_worker_imports_nothing_at_its_start_that_its_parent_has_not_imported_for_all(tmp_path: Path) -> None:
    # Nothing of whoever runs the tests: where Django's settings are named, Celery imports Django.
    environment = {
        "FIRSTBYTE_REGION": "eu",
        "FIRSTBYTE_SERVICE_URL": "http://127.0.0.1:9",
        "FIRSTBYTE_AGENT_TOKEN": "token",
        "FIRSTBYTE_BROKER_URL": "redis://127.0.0.1:9/0",
        "FIRSTBYTE_SPOOL_DIR": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-c", STARTS_A_WORKER], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []
