"""Every backend test runs on a real PostgreSQL and Redis: those of the environment, or throw-away ones.

`alice`, `bob`, `vera` and `charlie` are the cast (see `cast`); `broker` is a Redis of the test's own, and
`server` answers over HTTP; with `standing_clock` a test lasts no time.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4

import pytest
import time_machine
from cryptography.fernet import Fernet
from django.conf import settings as django_settings
from django.core.cache import cache
from django.template import Template
from django.test import TransactionTestCase
from pytest_django import DjangoDbBlocker, Settings
from pytest_django.live_server_helper import LiveServer

from backend import testing
from backend.emptying import alone_in_the_database, empty_database

if TYPE_CHECKING:
    from backend.cast import Member

T = TypeVar("T")
_SERVERS = ExitStack()
# Files whose tests take a minute or more, each line for another process: the first one mostly waits.
_LONG = (
    ("test_whole_mission.py",),
    ("test_whole_service.py", "test_fuzz.py"),
)
# Where it is set, the database server goes with the tests, and what they leave on it harms nobody.
_OUR_OWN = "FIRSTBYTE_TEST_SERVER_IS_OURS"
# As it is before Django's test environment wraps it.
_RENDER = vars(Template)["_render"]


def _prepare() -> None:
    """Runs at import, before Django reads its settings. Parallel workers inherit what the first process sets here."""
    if "FIRSTBYTE_DB_HOST" not in os.environ:
        os.environ.update(_SERVERS.enter_context(testing.postgres()))
        os.environ[_OUR_OWN] = "yes"
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
    long = [[item for item in items if item.path.name in names] for names in _LONG]
    others = [item for item in items if not any(item in some for some in long)]
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    items[:] = [item for share in shares(long, others, processes) for item in share]


def shares(long: list[list[T]], others: list[T], processes: int) -> Iterator[list[T]]:
    """What each process is given to begin with (`--dist worksteal`): as many as others, what is long first."""
    left = sum(map(len, long)) + len(others)
    for number in range(processes):
        first = [one for some in long[number::processes] for one in some]
        size = left // (processes - number)
        taken = max(0, size - len(first))
        yield first + others[:taken]
        others = others[taken:]
        left -= len(first) + taken


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None, django_db_blocker: DjangoDbBlocker
) -> None:
    """Each process gets a copy of what the migrations make."""
    # It needs Django's set-up, which comes after this module.
    from backend.migrated import migrated  # noqa: PLC0415

    if _OUR_OWN in os.environ:
        with django_db_blocker.unblock():
            django_settings.DATABASES["default"]["TEST"]["TEMPLATE"] = migrated()


@pytest.fixture(scope="session", autouse=True)
def _no_more_than_is_asked_for(django_test_environment: None) -> Iterator[None]:
    """Behind a test tables with rows are emptied, and no others. And no test asks a page for the contexts of its
    templates, which Django would copy and keep."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda _: empty_database())
        patch.setattr(Template, "_render", _RENDER)
        yield


@pytest.fixture(scope="session")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("backend")


@pytest.fixture(autouse=True)
def _private_state(settings: Settings, _folder: Path) -> Iterator[None]:
    """Rate limits, files and mails of one test are none of another's."""
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    # Made with the first file that is stored there.
    settings.MEDIA_ROOT = _folder / uuid4().hex
    settings.STATIC_ROOT = str(_folder)
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
def server(transactional_db: None, settings: Settings) -> Iterator[LiveServer]:
    """A server of this test's own: the session-wide one starts before the test's settings hold."""
    settings.ALLOWED_HOSTS = ["127.0.0.1"]
    running = LiveServer("127.0.0.1")
    yield running
    running.stop()
    # What a browser had asked for when it was closed is still being answered.
    testing.wait_until(alone_in_the_database, "the server's last answers")


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
