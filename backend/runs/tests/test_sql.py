from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backend.runs.sql import array, fetch

pytestmark = pytest.mark.django_db
ZONES = st.sampled_from([UTC, timezone(timedelta(hours=-7, minutes=-30))])
INSTANTS = st.datetimes(min_value=datetime(1, 1, 2), timezones=ZONES)  # noqa: DTZ001
WITH_DATABASE = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=settings().max_examples // 2
)


@WITH_DATABASE
@given(st.lists(st.none() | st.uuids()), st.lists(st.none() | INSTANTS), st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_an_array_arrives_as_it_was(
    uuids: list[UUID | None], instants: list[datetime | None], numbers: list[int]
) -> None:
    statement = "SELECT %s::uuid[], %s::timestamptz[], %s::bigint[]"
    ((got_uuids, got_instants, got_numbers),) = fetch(statement, [array(uuids), array(instants), array(numbers)])
    assert (got_uuids, got_instants, got_numbers) == (uuids, instants, numbers)
