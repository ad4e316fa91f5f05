import json
from io import StringIO
from typing import Any

import pytest
import redis
from django.core.management import CommandError, call_command
from pytest_django import Settings

from backend.accounts.models import Membership, Organisation, User
from backend.fleet.actions import remove_region
from backend.fleet.bootstrap import UNNAMED
from backend.fleet.models import Region
from backend.fleet.queries import region_by_token
from backend.fleet.tests.accounts import accounts_at


def run(*arguments: str) -> dict[str, Any]:
    out = StringIO()
    call_command("bootstrap", "--email", "Owner@Acme.example", *arguments, "--json", stdout=out)
    document: dict[str, Any] = json.loads(out.getvalue())
    return document


def test_the_first_call_makes_everything_and_tells_the_secrets(db: None, broker: str, settings: Settings) -> None:
    settings.PUBLIC_BROKER_URL = broker
    done = run("--organisation", "Acme", "--region", "eu=Frankfurt", "--region", "us=Virginia")
    user = User.objects.get(email="owner@acme.example")
    assert user.check_password(done["admin"]["password"])
    assert user.is_staff
    assert Membership.objects.get().role == "owner"
    assert [(one["code"], one["name"]) for one in done["regions"]] == [("eu", "Frankfurt"), ("us", "Virginia")]
    region = region_by_token(done["regions"][0]["agent_token"])
    assert region is not None
    assert region.organisation is None
    with redis.Redis.from_url(done["regions"][0]["broker_url"]) as client:
        assert client.llen("eu:probe") == 0


def test_a_second_call_changes_nothing_and_tells_no_secret(db: None, broker: str) -> None:
    run("--region", "eu=Frankfurt")
    before = list(Region.objects.values())
    again = run("--region", "eu=Frankfurt")
    assert again["admin"]["password"] is None
    assert set(again["regions"][0]) == {"code", "name", "broker_user"}
    assert list(Region.objects.values()) == before


def test_who_names_no_organisation_is_in_the_first_that_there_is(db: None, broker: str) -> None:
    assert run()["organisation"]["name"] == UNNAMED
    assert run()["organisation"]["name"] == UNNAMED
    Organisation.objects.update(name="Acme", slug="acme")
    assert run()["organisation"]["name"] == "Acme"
    assert Organisation.objects.count() == 1


def test_who_owns_a_later_organisation_sees_nothing_of_the_first_in_the_admin(db: None, broker: str) -> None:
    run("--organisation", "Acme")
    call_command("bootstrap", "--email", "owner@globex.example", "--organisation", "Globex", stdout=StringIO())
    later = User.objects.get(email="owner@globex.example")
    assert (later.is_staff, later.is_superuser) == (False, False)
    assert later.memberships.get().role == "owner"


def test_rotation_tells_new_secrets_and_ends_the_old(db: None, broker: str) -> None:
    old = run("--region", "eu=Frankfurt")["regions"][0]["agent_token"]
    new = run("--region", "eu=Frankfurt", "--rotate")["regions"][0]["agent_token"]
    assert region_by_token(old) is None
    assert region_by_token(new) is not None


def test_a_region_that_was_removed_gets_no_new_secrets(db: None, broker: str) -> None:
    run("--region", "eu=Frankfurt")
    remove_region(actor=None, region=Region.objects.get(code="eu"))
    with pytest.raises(CommandError, match="Region eu was removed"):
        run("--region", "eu=Frankfurt", "--rotate")
    assert "region-eu" not in accounts_at(broker)


def test_a_second_call_restores_what_the_broker_lost(db: None, broker: str) -> None:
    run("--region", "eu=Frankfurt")
    with redis.Redis.from_url(broker) as owner:
        owner.acl_deluser("region-eu")
    run("--region", "eu=Frankfurt")
    assert "region-eu" in accounts_at(broker)


@pytest.mark.parametrize(
    ("arguments", "why"), [(["--region", "EU:*=x"], "lower-case"), (["--email", "nobody"], "valid email")]
)
def test_a_faulty_call_says_why_and_keeps_nothing(db: None, broker: str, arguments: list[str], why: str) -> None:
    with pytest.raises(CommandError, match=why):
        run(*arguments)
    assert not User.objects.exists()


def test_without_a_broker_nothing_is_kept(db: None, settings: Settings) -> None:
    settings.REDIS_URL = "unix:///nowhere/redis.sock"
    with pytest.raises(CommandError, match="broker"):
        run("--region", "eu=Frankfurt")
    assert not User.objects.exists()


def test_people_can_read_the_answer(db: None, broker: str) -> None:
    out = StringIO()
    call_command("bootstrap", "--email", "a@b.example", "--region", "eu=Frankfurt", stdout=out)
    assert "FIRSTBYTE_AGENT_TOKEN=fb_agent_" in out.getvalue()
