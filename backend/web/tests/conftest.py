"""A world for every test of pages, whose database may be used beside a real browser too."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from django.test import Client
from pytest_django import Settings

from backend.web.tests.authenticator import HOME, ORIGIN, Authenticator
from backend.web.tests.visits import Send, sending

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
def world(alice: "Member", client: Client, monkeypatch: pytest.MonkeyPatch) -> "World":
    """Alice's, who is signed in with the client."""
    # Playwright's own event loop runs in this thread; the database is used from it one call at a time all the same.
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    # Models exist only after Django's set-up, which comes after this module.
    from backend.web.tests.world import make_world  # noqa: PLC0415

    client.force_login(alice.user)
    return make_world(alice)


@pytest.fixture
def passkey(settings: Settings) -> Authenticator:
    """One for a service that has a name, as this one has then."""
    settings.BASE_URL = ORIGIN
    return Authenticator(home=HOME, origin=ORIGIN)


@pytest.fixture
def send(client: Client) -> Send:
    return sending(client)
