import pytest
import redis


@pytest.fixture
def broker_client(broker: str) -> redis.Redis:
    """A client of the test's own Redis."""
    return redis.Redis.from_url(broker)
