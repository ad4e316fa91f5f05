"""`firstbyte agent`: measures for a region until it is told to stop."""

import argparse
import sys

from workers import agent
from workers.commands import UsageError
from workers.config import ConfigError, load_config
from workers.toolbox import Toolbox


def run(arguments: argparse.Namespace) -> int:
    """Works until SIGTERM; gives the exit code. Raises UsageError for a configuration that makes no agent."""
    agent.log_as("agent")
    try:
        return agent.run_agent(load_config(), Toolbox())
    except (ConfigError, agent.SpoolInUseError) as error:
        raise UsageError(str(error)) from error
    finally:
        sys.stderr.flush()
