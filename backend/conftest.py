"""Every backend test runs on a real PostgreSQL and Redis: those of the environment, or throw-away ones.

`alice`, `bob`, `vera` and `charlie` are the cast (see `cast`); `broker` is a Redis of the test's own; with
`standing_clock` a test lasts no time.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import time_machine
from cryptography.fernet import Fernet
from django.conf import settings as django_settings
from django.core.cache import cache
from pytest_django import Settings

from backend import testing

if TYPE_CHECKING:
    from backend.cast import Member

_SERVERS = ExitStack()
# Files whose tests take a minute or more.
_LONG = ("test_whole_", "test_fuzz")


def _prepare() -> None:
    """Runs at import, before Django reads its settings. Parallel workers inherit what the first process sets here."""
    if "FIRSTBYTE_DB_HOST" not in os.environ:
        os.environ.update(_SERVERS.enter_context(testing.postgres()))
    if "FIRSTBYTE_REDIS_URL" not in os.environ:
        os.environ["FIRSTBYTE_REDIS_URL"] = _SERVERS.enter_context(testing.redis())
    os.environ.setdefault("FIRSTBYTE_SECRET_KEY", "only-for-tests-" * 5)
    os.environ.setdefault("FIRSTBYTE_FERNET_KEYS", Fernet.generate_key().decode())
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.settings")


_prepare()
assert django_settings.SECRET_KEY, "Django's settings are read here, after the environment is complete"


def pytest_unconfigure() -> None:
    _SERVERS.close()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes minutes begins first, so that the others run beside it and not before it."""
    items.sort(key=lambda item: not item.path.name.startswith(_LONG))


@pytest.fixture(autouse=True)
def _private_state(settings: Settings, tmp_path: Path) -> Iterator[None]:
    """Rate limits, files and mails of one test are none of another's."""
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    settings.MEDIA_ROOT = tmp_path / "media"
    settings.STATIC_ROOT = str(tmp_path)
    # Looked for when one is asked for, and not all of them for each client that a test makes.
    settings.WHITENOISE_AUTOREFRESH = True
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    yield
    cache.clear()


@pytest.fixture
def standing_clock() -> Iterator[None]:
    """No second, minute or hour ends in a test that counts in them."""
    with time_machine.travel(datetime.now(UTC), tick=False):
        yield


@pytest.fixture
def broker(settings: Settings) -> Iterator[str]:
    """The URL of a Redis that this test has to itself, with accounts kept in a file as in production."""
    with testing.redis(acl_file=True) as url:
        settings.REDIS_URL = url
        yield url


def _join(name: str, role: str, organisation: str) -> "Member":
    # Models exist only after Django's set-up, which comes after this module.
    from backend.accounts.permissions import Role  # noqa: PLC0415
    from backend.cast import join  # noqa: PLC0415

    return join(name, Role(role), organisation)


@pytest.fixture
def alice(db: None) -> "Member":
    return _join("alice", "owner", "acme")


@pytest.fixture
def bob(db: None) -> "Member":
    return _join("bob", "member", "acme")


@pytest.fixture
def vera(db: None) -> "Member":
    return _join("vera", "viewer", "acme")


@pytest.fixture
def charlie(db: None) -> "Member":
    return _join("charlie", "owner", "globex")
