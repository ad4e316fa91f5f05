"""Who adds two things at the same moment does not get past a limit: between counting and adding nobody else counts."""

from collections.abc import Callable
from datetime import timedelta
from types import ModuleType
from typing import Any

import pytest
from django.utils import timezone

from backend.accounts import actions as accounts
from backend.accounts.models import ApiToken, Membership
from backend.accounts.permissions import Role, Scope
from backend.alerts.actions import maintenance, rules
from backend.alerts.models import Maintenance, Rule
from backend.cast import Member
from backend.fleet import actions as fleet
from backend.fleet.models import Region
from backend.runs import actions as runs
from backend.runs.models import PendingRun
from backend.runs.tests.factories import make_region
from backend.sites import actions as sites
from backend.sites.models import Monitor, Site
from backend.tests.side_by_side import both_having_read

pytestmark = pytest.mark.django_db(transaction=True)

Add = Callable[[Member, int], object]


def _member(alice: Member, number: int) -> object:
    email = f"new-{number}@acme.example"
    return accounts.add_member(actor=None, organisation=alice.organisation, email=email, role=Role.VIEWER)


def _token(alice: Member, number: int) -> object:
    wanted = accounts.NewToken(name="ci", role=Role.VIEWER, scopes=frozenset({Scope.READ}), life=timedelta(days=1))
    return accounts.create_token(actor=None, organisation=alice.organisation, wanted=wanted)


def _region(alice: Member, number: int) -> object:
    return fleet.add_region(actor=None, organisation=alice.organisation, code=f"place-{number}", name="")


def _draft(alice: Member, number: int) -> object:
    return sites.create_draft(actor=None, organisation=alice.organisation, url="https://shop.example/")


def _rule(alice: Member, number: int) -> object:
    settings = rules.RuleSettings(kind="availability")
    return rules.create_rule(actor=None, organisation=alice.organisation, settings=settings)


def _window(alice: Member, number: int) -> object:
    now = timezone.now()
    return maintenance.plan_maintenance(
        actor=None, organisation=alice.organisation, site=None, starts_at=now, ends_at=now + timedelta(hours=1)
    )


def _test(alice: Member, number: int) -> object:
    monitor = Monitor.objects.select_related("site__organisation").get(kind="probe")
    return runs.test_now(actor=None, monitor=monitor, regions=["eu"])


@pytest.mark.parametrize(
    ("add", "module", "limit", "model"),
    [
        (_member, accounts, "MAX_MEMBERS", Membership),
        (_token, accounts, "MAX_TOKENS", ApiToken),
        (_region, fleet, "MAX_REGIONS", Region),
        (_draft, sites, "MAX_SITES", Site),
        (_rule, rules, "MAX_RULES", Rule),
        (_window, maintenance, "MAX_WINDOWS", Maintenance),
        (_test, runs, "MAX_URGENT", PendingRun),
    ],
)
def test_two_at_once_do_not_both_get_the_last_place(
    alice: Member,
    broker: str,
    monkeypatch: pytest.MonkeyPatch,
    add: Add,
    module: ModuleType,
    limit: str,
    model: Any,
) -> None:
    make_region("eu", alice.organisation)
    if add is _test:
        sites.create_draft(actor=None, organisation=alice.organisation, url="https://shop.example/")
    place = model.objects.count() + 1
    monkeypatch.setattr(module, limit, place)
    assert _both(lambda number: add(alice, number)) == 1
    assert model.objects.count() == place


def _both(add: Callable[[int], object]) -> int:
    """Adds in two threads, neither of which commits before the other had time to count; how many were refused."""
    refused = both_having_read("INSERT", add)
    assert all(isinstance(error, ValueError) for error in refused)
    return len(refused)
