"""A whole agent with fake instruments, as a process: `python -m workers.tests.fake_agent`, set up by FIRSTBYTE_… ."""

import os
import sys
from unittest import mock

from workers import agent, courier, ledger, page_turns, tasks
from workers.config import load_config
from workers.tests.fakes import FakeToolbox

# What takes an operator's patience is shorter in tests: FIRSTBYTE_TEST_<NAME> is a constant of the product.
CONSTANTS = {
    "FINISH_S": tasks,
    "PATIENCE_S": agent,
    "GRACE_S": ledger,
    "HEARTBEAT_INTERVAL_S": courier,
    "HURRIED_WAIT_S": page_turns,
    "LONGEST_WAIT_S": page_turns,
}

if __name__ == "__main__":
    agent.log_as("agent")
    for name, module in CONSTANTS.items():
        mock.patch.object(module, name, float(os.environ[f"FIRSTBYTE_TEST_{name}"])).start()
    if os.environ.get("FIRSTBYTE_TEST_SCRIPTS"):
        # As kombu does by itself, and agents of earlier versions did.
        mock.patch.object(tasks, "take_turns").start()
    sys.exit(agent.run_agent(load_config(), FakeToolbox()))
