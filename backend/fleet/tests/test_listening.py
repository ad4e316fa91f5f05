from datetime import UTC, datetime, timedelta

import pytest

from backend.fleet.listening import listening_since, renew

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
TURN = timedelta(seconds=10)


def test_without_a_web_process_nobody_listens() -> None:
    assert listening_since(NOW) is None


def test_who_goes_on_listening_has_listened_since_the_beginning() -> None:
    for turn in range(30):
        renew(NOW + turn * TURN)
    assert listening_since(NOW + 30 * TURN) == NOW


def test_after_a_break_listening_begins_anew() -> None:
    renew(NOW)
    back = NOW + timedelta(minutes=5)
    assert listening_since(back) is None
    renew(back)
    assert listening_since(back + TURN) == back
