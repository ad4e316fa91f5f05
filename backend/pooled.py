"""Connections to the database that the threads of a process share."""

from django.conf import settings
from django.db import connection, connections


def share_connections() -> None:
    """From here on threads of this process borrow connections, unless the operator wants no pool."""
    connections.close_all()
    connections.settings["default"]["OPTIONS"] |= settings.DATABASE_POOL


def give_back() -> None:
    """Lends this thread's connection to others until it asks for one again, unless a transaction holds it."""
    if not connection.in_atomic_block:
        connection.close()
