"""What a test commits is gone before the next, and what Django fills by itself is not."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import psycopg
import pytest
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connection

from backend.accounts.models import Organisation, User
from backend.cast import Member
from backend.emptying import empty_database
from backend.runs.models import Run
from backend.testing import wait_until
from backend.tests.side_by_side import waiting
from backend.web.tests.measurements import page
from backend.web.tests.world import World, make_world
from workers.measurement.messages import Measured


def ended_run(member: Member) -> World:
    """A site with a run and all that a result leaves."""
    world = make_world(member)
    world.end(world.pending("page"), Measured(measurement=page(3)))
    return world


@pytest.mark.django_db(transaction=True)
def test_nothing_that_was_committed_is_left(alice: Member) -> None:
    ended_run(alice)
    assert Run.objects.exists()
    empty_database()
    assert filled_tables() == {"auth_permission", "django_content_type", "django_migrations"}


@pytest.mark.django_db(transaction=True)
def test_permissions_and_what_they_are_for_stay(alice: Member) -> None:
    before = set(Permission.objects.values_list("pk", "content_type_id"))
    empty_database()
    assert set(Permission.objects.values_list("pk", "content_type_id")) == before
    assert {id for _, id in before} <= set(ContentType.objects.values_list("pk", flat=True))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("turn", ["one", "another"])
def test_the_next_test_begins_with_nothing(turn: str) -> None:
    """Twice, so that one of them comes after the other."""
    assert not User.objects.exists()
    assert not Organisation.objects.exists()
    Organisation.objects.create(slug="left-behind", name=turn)


def filled_tables() -> set[str]:
    """Of all tables, Django's or not."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT relid::regclass::text FROM pg_stat_user_tables")
        names = [name for (name,) in cursor.fetchall()]
        cursor.execute(" UNION ALL ".join(f"SELECT '{name}' WHERE EXISTS (SELECT FROM {name})" for name in names))
        return {name for (name,) in cursor.fetchall()}


@pytest.mark.django_db(transaction=True)
def test_what_another_process_has_not_committed_yet_is_waited_for_and_goes_too() -> None:
    """Of a process that was killed the database may still carry out the last words."""
    with ThreadPoolExecutor(1) as beside, psycopg.connect(**connection.get_connection_params()) as other:
        other.execute(
            "INSERT INTO accounts_organisation (public_id, slug, name, created_at) "
            "VALUES (gen_random_uuid(), 'late', 'Late', now())"
        )
        emptied = beside.submit(_empty_beside)
        wait_until(waiting, "the lock to be asked for")
        other.commit()
        emptied.result()
    assert not Organisation.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_who_was_killed_and_still_asks_for_what_is_being_emptied_ends_first() -> None:
    """As foreign keys are looked up when what a process wrote with its last words is committed."""
    with ThreadPoolExecutor(1) as beside, psycopg.connect(**connection.get_connection_params()) as other:
        other.execute("LOCK TABLE sites_site IN ROW EXCLUSIVE MODE")
        emptied = beside.submit(_empty_beside)
        wait_until(waiting, "the lock to be asked for")
        # Which of two that wait for each other has to give way is PostgreSQL's choice.
        with suppress(psycopg.errors.DeadlockDetected):
            other.execute("LOCK TABLE accounts_organisation IN ROW SHARE MODE")
        other.rollback()
        emptied.result()


def _empty_beside() -> None:
    empty_database()
    connection.close()
