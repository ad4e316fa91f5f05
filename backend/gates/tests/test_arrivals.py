"""Addresses that lead elsewhere: what answered is what was measured."""

import pytest

from backend.gates.addresses import Address
from backend.gates.arrivals import arrivals
from backend.gates.questions import AskedRule, Baseline
from backend.gates.tests.world import TEN, World
from backend.runs.models import RunDocument

pytestmark = pytest.mark.django_db
PREVIEW = "https://pr-7.shop.example/"
LCP = AskedRule(metric="lcp", max_change_pct=10)
RELEASE = {"baseline": Baseline(mode="url"), "release": Address(base=PREVIEW)}


@pytest.mark.parametrize("rule", [TEN, LCP])
def test_two_addresses_that_lead_to_one_place_compare_nothing(world: World, rule: AskedRule) -> None:
    world.leads = lambda _: "https://www.shop.example/"
    gate = world.play(world.ask(rule, **RELEASE))
    assert (gate.verdict, world.view(gate).runs.looks) == ("error", 0)
    kind = "page" if rule is LCP else "probe"
    assert gate.summary == (
        f"Both addresses of the {kind} led to https://www.shop.example/: there is nothing to compare."
    )


def test_who_is_led_to_a_sign_in_is_told_what_was_measured(world: World) -> None:
    world.leads = lambda url: "https://login.example/authorize?state=s3cret" if url == PREVIEW else url
    gate = world.play(world.ask(**RELEASE))
    assert gate.verdict == "pass"
    assert gate.warnings == [
        "https://pr-7.shop.example/ led to https://login.example/authorize, and that is what the probe measured."
    ]


def test_a_detour_within_a_host_is_not_worth_a_word(world: World) -> None:
    world.leads = lambda url: f"{url}start?lang=en"
    assert world.play(world.ask(**RELEASE)).warnings == []


def test_where_nobody_knows_whence_the_answer_came_nothing_is_said(world: World) -> None:
    gate = world.play(world.ask(**RELEASE))
    RunDocument.objects.all().delete()
    assert arrivals(gate, list(gate.runs.select_related("region"))) == {}
