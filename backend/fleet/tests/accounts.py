"""Whom the broker knows."""

import redis


def accounts_at(broker: str) -> set[str]:
    """The names of all accounts of the Redis at a URL."""
    with redis.Redis.from_url(broker) as owner:
        return {name.decode() for name in owner.execute_command("ACL", "USERS")}
