from typing import TYPE_CHECKING

import pytest
import redis

if TYPE_CHECKING:
    from backend.cast import Member
    from backend.experiments.tests.world import World


@pytest.fixture
def broker_client(broker: str) -> redis.Redis:
    """A client of the test's own Redis."""
    return redis.Redis.from_url(broker)


@pytest.fixture
def world(alice: "Member") -> "World":
    # Models exist only after Django's set-up, which comes after this module.
    from backend.experiments.tests.world import make_world  # noqa: PLC0415

    return make_world(alice)
