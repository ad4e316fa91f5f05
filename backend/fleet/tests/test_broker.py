"""Against a real redis-server: what a region's account can do, and what it cannot."""

import pytest
import redis
from pytest_django import Settings

from backend import testing
from backend.accounts.models import AuditEntry
from backend.cast import Member
from backend.fleet import actions
from backend.fleet.broker import BrokerUnavailableError, account_url
from backend.fleet.credentials import Credentials
from backend.fleet.models import Region
from backend.fleet.queries import region_by_token


@pytest.fixture
def eu(alice: Member, broker: str) -> Credentials:
    return actions.add_region(actor=alice.user, organisation=alice.organisation, code="eu", name="Frankfurt")


def client_of(credentials: Credentials, url: str) -> redis.Redis:
    return redis.Redis.from_url(account_url(credentials, url), protocol=2)


def test_a_region_works_on_its_own_queue(eu: Credentials, broker: str) -> None:
    with client_of(eu, broker) as client:
        client.lpush("eu:probe", "work")
        assert client.brpop(["eu:probe"], timeout=1) == (b"eu:probe", b"work")


@pytest.mark.parametrize(
    "command",
    [
        ["LRANGE", "us:probe", "0", "-1"],
        ["LPUSH", "us:probe", "forged"],
        ["GET", "_cache:1:session"],
        ["FLUSHALL"],
        ["FLUSHDB"],
        ["KEYS", "*"],
        ["SCAN", "0"],
        ["RANDOMKEY"],
        ["CONFIG", "GET", "*"],
        ["ACL", "LIST"],
        ["SUBSCRIBE", "us:anything"],
        ["EVAL", "return redis.call('GET', 'us:secret')", "0"],
        ["EVAL", "while true do end", "0"],
        ["CLIENT", "TRACKING", "ON", "BCAST"],
        ["SHUTDOWN"],
        ["MONITOR"],
    ],
    ids=" ".join,
)
def test_a_region_is_refused_what_is_not_its_own(command: list[str], eu: Credentials, broker: str) -> None:
    with redis.Redis.from_url(broker) as owner:
        owner.lpush("us:probe", "secret")
    with (
        client_of(eu, broker) as client,
        pytest.raises(redis.exceptions.RedisError, match=r"(?i)permission|NOPERM|can't access"),
    ):
        client.execute_command(*command)


def test_new_secrets_end_the_old_ones_and_their_connections(eu: Credentials, broker: str, alice: Member) -> None:
    with client_of(eu, broker) as old:
        assert old.ping()
        fresh = actions.rotate_token(actor=alice.user, region=Region.objects.get(code="eu"))
        with pytest.raises(redis.exceptions.RedisError):
            old.ping()
    with client_of(fresh, broker) as new:
        assert new.ping()


def test_accounts_that_the_broker_lost_come_back_with_the_same_password(eu: Credentials, broker: str) -> None:
    with redis.Redis.from_url(broker) as owner:
        owner.acl_deluser(eu.broker_user)
    assert actions.restore_broker_accounts() == 1
    assert actions.restore_broker_accounts() == 0
    with client_of(eu, broker) as client:
        assert client.ping()


def test_accounts_that_an_earlier_version_made_get_the_rights_of_today_and_keep_working(
    eu: Credentials, broker: str
) -> None:
    with redis.Redis.from_url(broker) as owner, client_of(eu, broker) as at_work:
        owner.acl_setuser(eu.broker_user, enabled=True, commands=["+eval"], keys=["us:*"])
        assert at_work.eval("return 1", 0) == 1
        assert actions.restore_broker_accounts() == 1
        with pytest.raises(redis.exceptions.NoPermissionError):
            at_work.eval("return 1", 0)
        with pytest.raises(redis.exceptions.NoPermissionError):
            at_work.lpush("us:probe", "forged")
        assert at_work.lpush("eu:probe", "work") == 1
        assert actions.restore_broker_accounts() == 0


def test_a_removed_region_is_shut_out_at_once_and_for_good(eu: Credentials, broker: str, alice: Member) -> None:
    with client_of(eu, broker) as client:
        assert client.ping()
        actions.remove_region(actor=alice.user, region=Region.objects.get(code="eu"))
        with pytest.raises(redis.exceptions.RedisError):
            client.ping()
    assert region_by_token(eu.token) is None
    assert actions.restore_broker_accounts() == 0


def test_without_an_account_file_the_broker_still_gets_its_accounts(alice: Member, settings: Settings) -> None:
    with testing.redis() as url:
        settings.REDIS_URL = url
        made = actions.add_region(actor=alice.user, organisation=None, code="us", name="Virginia")
        with client_of(made, url) as client:
            assert client.ping()


def test_a_region_is_not_made_while_the_broker_is_away(alice: Member, settings: Settings) -> None:
    settings.REDIS_URL = "unix:///nowhere/redis.sock"
    with pytest.raises(BrokerUnavailableError, match="could not be asked"):
        actions.add_region(actor=alice.user, organisation=alice.organisation, code="eu", name="Frankfurt")
    assert not Region.objects.exists()
    assert not AuditEntry.objects.filter(action="add_region").exists()


def test_the_account_takes_the_place_of_ours_in_the_url() -> None:
    credentials = Credentials(region="eu", token="t", broker_user="region-eu", broker_password="p/w")
    assert account_url(credentials, "rediss://me:mine@redis.example:6380/2") == (
        "rediss://region-eu:p%2Fw@redis.example:6380/2"
    )
    assert account_url(credentials, "unix:///run/redis.sock?db=1") == "unix://region-eu:p%2Fw@/run/redis.sock?db=1"
