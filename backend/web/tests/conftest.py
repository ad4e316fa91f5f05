"""For tests in a real browser: a server of the test's own, and a world whose database may be used beside it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from django.db import connection
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from backend.testing import wait_until

if TYPE_CHECKING:
    from backend.cast import Member
    from backend.web.tests.world import World


@pytest.fixture(scope="session", autouse=True)
def _no_browser_stays() -> Iterator[None]:
    yield
    # It needs models, which exist only after Django's set-up, which comes after this module.
    from backend.web.tests.browsing import end_browser  # noqa: PLC0415

    end_browser()


@pytest.fixture
def world(alice: "Member", monkeypatch: pytest.MonkeyPatch) -> "World":
    # Playwright's own event loop runs in this thread; the database is used from it one call at a time all the same.
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    # Models exist only after Django's set-up, which comes after this module.
    from backend.web.tests.world import make_world  # noqa: PLC0415

    return make_world(alice)


@pytest.fixture
def server(transactional_db: None, settings: Settings) -> Iterator[LiveServer]:
    """A server of this test's own: the session-wide one starts before the test's settings hold."""
    settings.ALLOWED_HOSTS = ["127.0.0.1"]
    running = LiveServer("127.0.0.1")
    yield running
    running.stop()
    # What the browser had asked for when it was closed is still being answered.
    wait_until(_alone_in_the_database, "the server's last answers")


def _alone_in_the_database() -> bool:
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    with connection.cursor() as cursor:
        cursor.execute(query)
        return bool(cursor.fetchone() == (0,))
