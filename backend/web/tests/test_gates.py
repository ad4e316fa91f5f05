"""The pages of gates and deploys."""

import pytest
from django.test import Client
from django.urls import reverse

from backend.cast import Member
from backend.fleet.models import Region
from backend.gates.addresses import Address
from backend.gates.models import Gate
from backend.gates.queries import gate_view
from backend.gates.questions import AskedRule, Baseline, Runs
from backend.gates.steps import step
from backend.gates.tests.world import TEN, World, failing, make_world
from backend.sites.actions import record_deploy
from backend.sites.deploys import DeployMarker
from backend.web.gate_page import interval_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(alice: Member) -> World:
    return make_world(alice)


@pytest.fixture
def page(client: Client, alice: Member) -> Client:
    client.force_login(alice.user)
    return client


def text_of(page: Client, name: str, *arguments: object) -> str:
    response = page.get(reverse(f"web:{name}", args=arguments))
    assert response.status_code == 200
    return response.content.decode()


def test_without_any_gate_it_says_how_to_ask(page: Client, world: World) -> None:
    assert "firstbyte gate --site SITE" in text_of(page, "gates")


def test_a_failed_release_says_so_first_and_what_grew(page: Client, world: World) -> None:
    world.history()
    gate = world.play(world.ask(deploy=DeployMarker(version="9f3c2e1")), lambda run: 1.5)
    text = text_of(page, "gate", gate.public_id)
    assert "The release made it slower" in text
    assert "What grew: waiting for the server by" in text
    assert "Shop, 9f3c2e1" in text
    assert 'class="interval bad"' in text
    assert "The thin line is no change" in text
    assert text.count('href="/runs/') == gate.runs.count()
    listed = text_of(page, "gates")
    assert "The newest release: fail" in listed
    assert "It is the only one." in listed


def test_a_release_over_an_absolute_limit_is_not_said_to_have_become_slower(page: Client, world: World) -> None:
    world.history()
    gate = world.play(world.ask(TEN, AskedRule(metric="total", max_value=100)))
    text = text_of(page, "gate", gate.public_id)
    assert "The release is over its limit" in text
    assert "made it slower" not in text


def test_a_gate_with_limits_of_its_own_alone_is_compared_with_nothing(page: Client, world: World) -> None:
    alone, both = AskedRule(metric="total", max_value=100), "scheduled runs from"
    text = text_of(page, "gate", world.ask(alone).public_id)
    assert "nothing: its limits are values of their own" in text
    assert both not in text
    assert both in text_of(page, "gate", world.ask(TEN, alone).public_id)


def test_of_a_limit_of_its_own_no_line_of_no_change_is_told(page: Client, world: World) -> None:
    world.history()
    gate = world.play(world.ask(AskedRule(metric="total", max_value=1_000)))
    text = text_of(page, "gate", gate.public_id)
    assert "The line is the limit." in text
    assert "The thin line" not in text


def test_runs_are_counted_in_words_that_fit_their_number(page: Client, world: World) -> None:
    world.history(count=70)
    gate = world.play(world.ask(runs=Runs(discard_first=0)), failing)
    text = text_of(page, "gate", gate.public_id)
    assert "; 3 of them failed<" in text
    assert "only warmed" not in text
    assert "3 of 3 runs failed; at most 30 % may" in text
    one = world.play(world.ask(runs=Runs(regions=("eu",))))
    assert "the first only warmed caches" in text_of(page, "gate", one.public_id)


def test_regions_are_called_by_their_names_and_the_confidence_is_a_share(page: Client, world: World) -> None:
    Region.objects.filter(code="eu").update(name="Frankfurt")
    world.history()
    text = text_of(page, "gate", world.play(world.ask(), lambda run: 1.5).public_id)
    assert "<dd>Ap, Frankfurt, Us</dd>" in text
    assert "<li>Frankfurt: " in text
    assert '<td data-label="Region">Frankfurt</td>' in text
    assert "a confidence of 95 %" in text


@pytest.mark.parametrize(("answer", "told"), [("pass", "lets it pass"), ("fail", "fails")])
def test_what_a_pipeline_is_told_of_an_undecided_gate_is_said(
    page: Client, world: World, answer: str, told: str
) -> None:
    world.history()
    few, rule = Runs(per_region=3, max_per_region=3), AskedRule(metric="ttfb", max_change_pct=0.1)
    gate = world.play(world.ask(rule, runs=few, on_inconclusive=answer))
    assert f"The pipeline {told}, as it asked." in text_of(page, "gate", gate.public_id)


def test_two_addresses_are_named_and_neither_was_made_slower(page: Client, world: World) -> None:
    baseline = Baseline(mode="url", address=Address(base="https://old.example"))
    release = Address(base="https://pr-7.example")
    asked = world.ask(baseline=baseline, release=release, deploy=DeployMarker(version="pr-7"))
    gate = world.play(asked, lambda run: 1.5 if run.url == "https://pr-7.example/" else 1.0)
    text = text_of(page, "gate", gate.public_id)
    assert "The release is slower than its baseline" in text
    assert "https://pr-7.example/ against https://old.example/" in text
    assert "Shop, pr-7" in text
    assert text.count(">Baseline<") == 1 + gate.runs.count() // 2


def test_a_failed_run_of_a_gate_names_the_address_that_the_gate_asked_for(page: Client, world: World) -> None:
    baseline = Baseline(mode="url", address=Address(base="https://old.example"))
    gate = world.play(world.ask(baseline=baseline, release=Address(base="https://pr-7.example")), failing)
    runs = [gate.runs.filter(side=side).first() for side in ("before", "after")]
    told = [text_of(page, "run", run.run_id) for run in runs if run is not None]
    assert ["Asked for https://old.example/<" in told[0], "Asked for https://pr-7.example/<" in told[1]] == [True, True]


def test_an_open_gate_says_how_far_it_is_and_can_be_cancelled(page: Client, world: World) -> None:
    world.history()
    gate = world.ask()
    step()
    text = text_of(page, "gate", gate.public_id)
    assert "It is being measured" in text
    assert "0 of 12 runs have come back, look 1 of 3." in text
    cancel = reverse("web:gate_cancel", args=[gate.public_id])
    assert "The gate is cancelled." in page.post(cancel, follow=True).content.decode()
    gate.refresh_from_db()
    assert gate.status == "cancelled"
    assert cancel not in text_of(page, "gate", gate.public_id)


def test_an_error_and_an_inconclusive_gate_say_what_would_help(page: Client, world: World) -> None:
    text = text_of(page, "gate", world.play(world.ask()).public_id)
    assert "It could not be measured" in text
    assert "60 are needed" in text
    assert "The thin line" not in text
    world.history()
    few = Runs(per_region=3, max_per_region=3)
    gate = world.play(world.ask(AskedRule(metric="ttfb", max_change_pct=0.1), runs=few))
    assert "It cannot be decided" in text_of(page, "gate", gate.public_id)


def test_why_a_rule_is_left_open_is_said_in_the_place_of_how_many_runs_would_decide(page: Client, world: World) -> None:
    world.history()
    gate = world.play(world.ask())
    gate.rules.update(verdict="inconclusive", reason="It was as high at this time the day before.")
    text = text_of(page, "gate", gate.public_id)
    assert "It was as high at this time the day before." in text
    assert "would decide" not in text


def test_a_viewer_cannot_cancel(client: Client, vera: Member, world: World) -> None:
    client.force_login(vera.user)
    gate = world.ask()
    cancel = reverse("web:gate_cancel", args=[gate.public_id])
    assert cancel not in text_of(client, "gate", gate.public_id)
    assert client.post(cancel).status_code == 403
    assert Gate.objects.get().is_open


def test_deploys_are_listed_with_their_verdicts(page: Client, world: World) -> None:
    assert "No release is known" in text_of(page, "deploys", world.site.public_id)
    world.history()
    gate = world.play(world.ask(deploy=DeployMarker(version="1.2.3", url="https://ci.example/7")))
    record_deploy(actor=None, organisation=world.member.organisation, site=None, marker=DeployMarker(version="all"))
    text = text_of(page, "deploys", world.site.public_id)
    assert 'href="https://ci.example/7"' in text
    assert reverse("web:gate", args=[gate.public_id]) in text
    assert "of all sites" in text


@pytest.mark.parametrize("before", ["x", "2026-01-01,3", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z,x", ",", "²,²"])
def test_an_address_that_somebody_made_up_shows_the_newest(page: Client, world: World, before: str) -> None:
    assert page.get(reverse("web:gates"), {"before": before}).status_code == 200


def test_a_change_that_rounds_to_nothing_has_no_minus_on_the_page_either(page: Client, world: World) -> None:
    world.history()
    gate = world.play(world.ask())
    rule = gate.rules.get()
    assert rule.found is not None
    gate.rules.update(found=rule.found | {"pct": {"value": -0.04, "low": -6.0, "high": 6.0}})
    text = text_of(page, "gate", gate.public_id)
    assert "<strong>+0.0 %</strong>" in text
    assert "\N{MINUS SIGN}6.0 % to +6.0 %" in text


def test_a_release_that_transfers_more_is_heavier_and_not_slower(page: Client, world: World) -> None:
    world.history(bytes=100_000)
    gate = world.play(world.ask(AskedRule(metric="bytes", max_change_pct=10)), lambda run: 1.0)
    gate.rules.update(verdict="fail")
    Gate.objects.update(verdict="fail")
    text = text_of(page, "gate", gate.public_id)
    assert "The release made it heavier" in text
    assert "slower" not in text


def test_the_interval_and_its_limit_lie_on_one_axis(world: World) -> None:
    world.history()
    gate = world.play(world.ask(TEN, AskedRule(metric="total", max_value=9_000)))
    view = gate_view(world.member.organisation, gate.public_id)
    assert view is not None
    for rule in view.rules:
        assert rule.found is not None
        drawn = interval_of(rule.rule, rule.found)
        assert drawn is not None
        assert 0 < drawn.low <= drawn.value <= drawn.high < drawn.limit < drawn.width
        assert (drawn.nothing is None) == (rule.rule.max_value is not None)


def test_a_gate_whose_regions_do_not_measure_says_each_thing_once(page: Client, world: World) -> None:
    world.history()
    world.silence("eu", "us", "ap")
    text = text_of(page, "gate", world.play(world.ask()).public_id).partition("The report as Markdown")[0]
    assert (text.count("could not be measured"), text.count("its agents are silent")) == (1, 1)
