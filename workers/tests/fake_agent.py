"""A whole agent with fake instruments, as a process: `python -m workers.tests.fake_agent`, set up by FIRSTBYTE_… ."""

import os
import sys

from workers import agent, tasks
from workers.config import load_config
from workers.tests.fakes import FakeToolbox

if __name__ == "__main__":
    agent.log_as("agent")
    tasks.FINISH_S = float(os.environ.get("FIRSTBYTE_TEST_FINISH_S", tasks.FINISH_S))
    sys.exit(agent.run_agent(load_config(), FakeToolbox()))
