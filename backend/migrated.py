"""A database as the migrations make it, of which each test process gets a copy: to migrate takes five seconds."""

import fcntl
from pathlib import Path

from django.db import connection

_NAME = "migrated"


def migrated() -> str:
    """Its name, on the tests' own server. Whoever asks first makes it, and others wait meanwhile."""
    with Path(connection.settings_dict["HOST"], "migrating").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not _is_there():
            _make()
    return _NAME


def _is_there() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_database WHERE datname = %s", [_NAME])
        return cursor.fetchone() is not None


def _make() -> None:
    name, test = connection.settings_dict["NAME"], connection.settings_dict["TEST"]
    own = test["NAME"]
    test["NAME"] = _NAME
    try:
        connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
        # It stays, and nobody is connected to it.
        connection.creation.destroy_test_db(name, verbosity=0, keepdb=True)
    finally:
        test["NAME"] = own
