"""Addresses that lead elsewhere: what answered is what was measured."""

import pytest

from backend.gates.addresses import Address
from backend.gates.arrivals import arrivals
from backend.gates.questions import AskedRule, Baseline, Runs
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


@pytest.mark.parametrize("rule", [TEN, LCP])
@pytest.mark.parametrize("setting", [PREVIEW, "https://shop.example/"])
def test_a_cookie_on_the_way_to_one_place_may_choose_the_release_so_that_nothing_passes(
    world: World, rule: AskedRule, setting: str
) -> None:
    world.leads, world.sets_cookie = (lambda _: "https://www.shop.example/?a=1"), (setting,)
    gate = world.play(world.ask(rule, runs=Runs(per_region=3, max_per_region=3), **RELEASE))
    (view,) = world.view(gate).rules
    kind = "page" if rule is LCP else "probe"
    why = (
        f"Both addresses of the {kind} led to https://www.shop.example/, and a cookie was set on the way: "
        "whether it chose another release cannot be told."
    )
    assert (gate.verdict, view.rule.reason) == ("inconclusive", why)
    assert gate.summary.endswith(why)


def test_what_is_slower_behind_a_cookie_fails_all_the_same(world: World) -> None:
    world.leads, world.sets_cookie = (lambda _: "https://www.shop.example/"), (PREVIEW,)
    gate = world.play(world.ask(**RELEASE), lambda run: 1.5 if run.url == PREVIEW else 1.0)
    assert gate.verdict == "fail"


def test_a_cookie_of_another_domain_is_not_sent_to_where_both_led(world: World) -> None:
    world.leads, world.sets_cookie = (lambda _: "https://www.elsewhere.example.net/"), (PREVIEW,)
    gate = world.play(world.ask(**RELEASE))
    assert (gate.verdict, gate.summary.endswith("there is nothing to compare.")) == ("error", True)


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
