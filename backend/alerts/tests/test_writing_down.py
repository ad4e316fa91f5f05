"""What came of a message is written down, also when the database was gone meanwhile: nobody is told twice for that."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError

from backend.alerts import delivery
from backend.alerts.delivery import LEASE, record
from backend.alerts.tests.standin import StandIn
from backend.alerts.tests.test_delivery import Outbox
from backend.cast import Member

pytestmark = pytest.mark.django_db


@pytest.fixture
def outbox(alice: Member) -> Outbox:
    return Outbox(alice)


@pytest.fixture
def there() -> Iterator[StandIn]:
    with StandIn() as standing_in:
        yield standing_in


class Record:
    """Stands in the place of `record`, and raises as often as there are faults in it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.faults: list[Exception] = []
        monkeypatch.setattr(delivery, "record", self)

    def __call__(self, *told: Any) -> None:
        if self.faults:
            raise self.faults.pop()
        record(*told)


def test_what_was_sent_while_the_database_was_gone_is_not_sent_again(
    outbox: Outbox, there: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox.tell(*(outbox.channel(there.url, name=f"channel {number}") for number in range(3)))
    recording = Record(monkeypatch)
    recording.faults = [OperationalError("the database is gone")] * 5
    with pytest.raises(OperationalError):
        outbox.step()
    recording.faults.clear()
    outbox.steps(2, every_s=LEASE.total_seconds())
    assert len(there.calls) == 3
    assert outbox.states() == ["delivered"] * 3


def test_what_cannot_be_written_down_keeps_no_other_outcome_from_it(
    outbox: Outbox, there: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox.tell(*(outbox.channel(there.url, name=f"channel {number}") for number in range(3)))
    Record(monkeypatch).faults = [ValueError("of a kind that nobody foresaw")]
    outbox.steps(2)
    assert len(there.calls) == 3
    assert sorted(outbox.states()) == ["delivered", "delivered", "waiting"]
