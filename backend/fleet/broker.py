"""The accounts of the regions in Redis: each may touch its own key prefix and nothing else."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlsplit

import redis
from django.conf import settings

from backend.fleet.credentials import Credentials
from backend.fleet.models import Region
from workers.measurement.broker import acl_rules

TIMEOUT_S = 5.0


class BrokerUnavailableError(RuntimeError):
    """Redis did not answer or refused; the text is for the operator and holds no password."""


def write_account(region: Region) -> None:
    """Makes or replaces the account of a region and ends the connections that its old password opened.

    Raises BrokerUnavailableError.
    """
    with _connected() as client:
        _set_account(client, region)
        _command(client, "CLIENT", "KILL", "USER", region.broker_user)
        _save(client)


def restore_accounts(regions: Iterable[Region]) -> int:
    """Makes the accounts that Redis lost with its data, and gives the others the rights of today; how many were not so.

    Connections of agents go on. Raises BrokerUnavailableError.
    """
    with _connected() as client:
        before = set(_command(client, "ACL", "LIST"))
        for region in regions:
            _set_account(client, region)
        changed = len(set(_command(client, "ACL", "LIST")) - before)
        if changed:
            _save(client)
    return changed


def remove_account(user: str) -> None:
    """Takes a region's account away; its connections end with it. Raises BrokerUnavailableError."""
    with _connected() as client:
        _command(client, "ACL", "DELUSER", user)
        _save(client)


def account_url(credentials: Credentials, url: str) -> str:
    """The broker's URL with a region's account instead of our own. The database number stays."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    account = f"{quote(credentials.broker_user, safe='')}:{quote(credentials.broker_password, safe='')}"
    return parts._replace(netloc=f"{account}@{host}").geturl()


def _set_account(client: redis.Redis, region: Region) -> None:
    # `reset` first: SETUSER only adds, and an account must not keep what an older version of ours allowed.
    rules = ["reset", "on", f"#{region.broker_password_hash}", *acl_rules(region.code).split()]
    _command(client, "ACL", "SETUSER", region.broker_user, *rules)


def _save(client: redis.Redis) -> None:
    """Keeps the accounts over a restart where Redis has a file for them; where it has none, we restore them."""
    if client.config_get("aclfile").get("aclfile"):
        _command(client, "ACL", "SAVE")


@contextmanager
def _connected() -> Iterator[redis.Redis]:
    client = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S)
    try:
        yield client
    except redis.RedisError as error:
        raise BrokerUnavailableError(f"The broker (Redis) could not be asked: {error}") from error
    finally:
        client.close()


def _command(client: redis.Redis, *words: str) -> Any:
    return client.execute_command(*words)  # type: ignore[no-untyped-call]  # redis-py leaves this one without types
