"""Gates of what a page measures itself, as far as its monitor follows it."""

import pytest

from backend.gates.growth import growth
from backend.gates.models import Gate
from backend.gates.questions import AskedRule, InvalidGateError
from backend.gates.report import markdown_report
from backend.gates.tests.world import World
from backend.runs.tests.results import timed_page
from backend.sites.models import Monitor

HERO, CART = "mark:hero painted", "measure:cart"
SLOWER = AskedRule(metric=HERO, max_change_pct=10)


@pytest.fixture
def page(world: World) -> World:
    """A page that follows a mark, which came after 300 ms."""
    Monitor.objects.filter(pk=world.monitor("page").pk).update(user_timings=[HERO, CART])
    world.history(kind="page", timings={HERO: 300_000, CART: 400})
    return world


def released(world: World, *rules: AskedRule, **told_us: int) -> Gate:
    """What becomes of a release whose page tells these."""
    told = {HERO: told_us["hero"]} if "hero" in told_us else {}
    told |= {CART: told_us["cart"]} if "cart" in told_us else {}
    return world.play(world.ask(*rules), lambda _: timed_page(told))


@pytest.mark.parametrize(("hero", "verdict"), [(300_000, "pass"), (360_000, "fail")])
def test_a_release_may_make_a_mark_of_the_page_as_much_later_as_the_rule_says(
    page: World, hero: int, verdict: str
) -> None:
    gate = released(page, SLOWER, hero=hero)
    assert gate.verdict == verdict
    (rule,) = page.view(gate).rules
    assert rule.rule.metric == HERO
    assert rule.found is not None
    assert rule.found.before == 300.0
    assert "mark hero painted" in gate.summary


def test_a_greatest_value_needs_no_history(world: World) -> None:
    Monitor.objects.filter(pk=world.monitor("page").pk).update(user_timings=[HERO])
    assert released(world, AskedRule(metric=HERO, max_value=350), hero=340_000).verdict == "pass"
    assert released(world, AskedRule(metric=HERO, max_value=350), hero=360_000).verdict == "fail"


def test_runs_from_before_it_was_followed_say_nothing_of_it(page: World) -> None:
    page.history(kind="page", count=60)
    page.history(kind="page", count=60, timings={CART: 400})
    gate = released(page, SLOWER, hero=300_000)
    assert gate.verdict == "pass"
    (rule,) = page.view(gate).rules
    assert rule.found is not None
    assert rule.found.before_runs == 120


def test_a_mark_that_comes_no_more_is_no_release_that_passes(page: World) -> None:
    gate = released(page, SLOWER)
    assert gate.verdict == "error"
    told = page.view(gate).rules[0].rule.reason
    assert told == "36 of 36 runs failed or, as 36 did, told no mark hero painted; at most 30 % may."


def test_where_nothing_is_known_of_it_yet_there_is_too_little_to_compare_with(world: World) -> None:
    Monitor.objects.filter(pk=world.monitor("page").pk).update(user_timings=[HERO])
    world.history(kind="page", count=60)
    assert released(world, SLOWER, hero=300_000).verdict == "error"


def test_a_measure_that_takes_next_to_nothing_may_take_a_little_more(page: World) -> None:
    assert released(page, AskedRule(metric=CART, max_change_pct=10), cart=700).verdict == "pass"
    assert released(page, AskedRule(metric=CART, max_change_pct=10), cart=9_000).verdict == "fail"


def test_what_no_page_follows_cannot_be_gated(world: World) -> None:
    with pytest.raises(InvalidGateError) as refused:
        world.ask(SLOWER)
    assert refused.value.faults == {"rules/0/metric": f"No monitor of this site follows {HERO}."}


def test_what_delays_the_page_delays_its_marks_and_not_its_measures() -> None:
    early = {"dns_us": 1_000.0, "connect_us": 9_000.0, "tls_us": 10_000.0, "send_us": 0.0, "wait_us": 50_000.0}
    sample = {**early, "ttfb_us": 70_000.0, HERO: 300_000.0, CART: 90_000.0}
    later = {**early, "wait_us": 90_000.0, "ttfb_us": 110_000.0, HERO: 360_000.0, CART: 150_000.0}
    before, after = ({region: [run] * 3 for region in ("eu", "us")} for run in (sample, later))
    assert growth(HERO, before, after) == [{"phase": "wait", "ms": 40.0}, {"phase": "after first byte", "ms": 20.0}]
    assert growth(CART, before, after) == []


def test_a_name_of_the_pages_own_stays_in_its_cell_of_the_report(page: World) -> None:
    odd = "mark:a|b <i>&amp;`c`"
    Monitor.objects.filter(pk=page.monitor("page").pk).update(user_timings=[odd])
    page.history(kind="page", timings={odd: 300_000})
    gate = page.play(page.ask(AskedRule(metric=odd, max_change_pct=10)), lambda _: timed_page({odd: 500_000}))
    text = markdown_report(page.view(gate), url="https://service.example/")
    escaped = "mark a\\|b \\<i\\>\\&amp;\\`c\\`"
    assert f"\n| {escaped} (page) | +10 % | " in text
    assert f"\n{escaped} by region: " in text
