"""Connections to the database that the threads of a process share."""

from django.conf import settings
from django.db import connections


def share_connections() -> None:
    """From here on threads of this process borrow connections, unless the operator wants no pool."""
    connections.close_all()
    connections.settings["default"]["OPTIONS"] |= settings.DATABASE_POOL
