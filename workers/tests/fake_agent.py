"""A whole agent with fake instruments, as a process: `python -m workers.tests.fake_agent`, set up by FIRSTBYTE_… ."""

import os
import sys
from unittest import mock

from workers import agent, courier, ledger, page_turns, room, tasks
from workers.config import load_config
from workers.spool import Spool
from workers.tests.fakes import FakeToolbox

# What takes an operator's patience is shorter in tests: FIRSTBYTE_TEST_<NAME> is a constant of the product.
CONSTANTS = {
    "FINISH_S": tasks,
    "PATIENCE_S": agent,
    "GRACE_S": ledger,
    "HEARTBEAT_INTERVAL_S": courier,
    "HURRIED_WAIT_S": page_turns,
    "LONGEST_WAIT_S": page_turns,
    "LOOK_S": room,
}


def _fault_while(full: str) -> str | None:
    """No result finds room while this file is there."""
    return "No space left on device" if os.path.exists(full) else None


if __name__ == "__main__":
    agent.log_as("agent")
    for name, module in CONSTANTS.items():
        mock.patch.object(module, name, float(os.environ[f"FIRSTBYTE_TEST_{name}"])).start()
    if os.environ.get("FIRSTBYTE_TEST_SCRIPTS"):
        # As kombu does by itself, and agents of earlier versions did.
        mock.patch.object(tasks, "take_turns").start()
    if full := os.environ.get("FIRSTBYTE_TEST_FULL"):
        mock.patch.object(Spool, "fault", side_effect=lambda: _fault_while(full)).start()
    sys.exit(agent.run_agent(load_config(), FakeToolbox()))
