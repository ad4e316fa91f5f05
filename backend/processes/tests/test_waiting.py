"""Migrations beside a service at work: who has to wait for a table keeps nobody else from it."""

from collections.abc import Iterator

import psycopg
import pytest
from django.core.management import get_commands
from django.db import OperationalError, connection, transaction

from backend.processes import waiting
from backend.sites.models import Site

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def backup() -> Iterator[psycopg.Connection]:
    """A long transaction that has read a table, as that of pg_dump."""
    with psycopg.connect(**connection.get_connection_params() | {"application_name": "pg_dump"}) as other:
        other.execute("SELECT count(*) FROM sites_site")
        yield other


def migrated() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("LOCK TABLE sites_site IN ACCESS EXCLUSIVE MODE")


def test_a_table_in_use_is_asked_for_again_and_free_for_all_others_meanwhile(
    backup: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    seen: list[int] = []

    def paused(seconds: float) -> None:
        seen.append(Site.objects.count())
        if len(seen) == 2:
            backup.rollback()

    monkeypatch.setattr(waiting, "LOCK_TIMEOUT", "20ms")
    monkeypatch.setattr(waiting, "sleep", paused)

    waiting.until_locked(migrated, said.append)

    assert seen == [0, 0]
    assert len(said) == 2
    assert "by pg_dump (process" in said[0]


def test_what_fails_otherwise_fails_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise OperationalError("no space left on device")

    with pytest.raises(OperationalError, match="no space"):
        waiting.until_locked(broken, pytest.fail)


def test_the_limit_holds_for_the_work_alone() -> None:
    waiting.until_locked(migrated, pytest.fail)

    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() == ("0",)


def test_it_is_how_the_service_migrates() -> None:
    assert get_commands()["migrate"] == "backend.processes"
