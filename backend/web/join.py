"""The one command that makes another machine a region."""

import shlex

from django.conf import settings

from backend.fleet.bootstrap import agent_broker_url
from backend.fleet.credentials import Credentials


def join_command(credentials: Credentials) -> str:
    """To be copied whole. Secrets go by the environment: a command line can be read by everybody on the machine."""
    # Whoever runs the command may write to /var/tmp, and what waits there outlives a restart of the machine.
    values = {
        "FIRSTBYTE_REGION": credentials.region,
        "FIRSTBYTE_SERVICE_URL": settings.BASE_URL,
        "FIRSTBYTE_AGENT_TOKEN": credentials.token,
        "FIRSTBYTE_BROKER_URL": agent_broker_url(credentials),
        "FIRSTBYTE_SPOOL_DIR": "/var/tmp/firstbyte-spool",
    }
    words = " ".join(f"{name}={shlex.quote(value)}" for name, value in values.items())
    return f"{words} firstbyte agent"
