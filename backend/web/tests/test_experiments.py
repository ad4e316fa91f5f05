"""What a member sees of a host's cost: the way to ask, how far it is, the verdict, and the loads that it rests on."""

from http import HTTPStatus

import pytest
from django.test import Client
from django.urls import reverse

from backend.cast import Member
from backend.experiments.actions import cancel_experiment
from backend.experiments.models import Experiment, ExperimentRun, Side
from backend.experiments.steps import step
from backend.experiments.tests.world import HOST, World, loaded, make_world, sooner

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(alice: Member) -> World:
    return make_world(alice)


@pytest.fixture
def browser(client: Client, alice: Member) -> Client:
    client.force_login(alice.user)
    return client


def page_of(browser: Client, experiment: Experiment) -> str:
    response = browser.get(reverse("web:experiment", args=[experiment.public_id]))
    assert response.status_code == HTTPStatus.OK
    return response.content.decode()


def test_who_asks_what_a_host_costs_is_led_to_what_is_found(browser: Client, world: World) -> None:
    asked = {"hosts": f"{HOST}, b.example", "region": "eu", "pairs": "8"}
    response = browser.post(reverse("web:experiment_start", args=[world.site.public_id]), asked)
    experiment = Experiment.objects.get()
    assert response.headers["Location"] == reverse("web:experiment", args=[experiment.public_id])
    assert (experiment.hosts, experiment.pairs, experiment.created_by) == ([HOST, "b.example"], 8, world.member.user)
    assert "0 of 8 pairs of loads are there." in page_of(browser, experiment)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"hosts": "shop.example"}, "shop.example is the page&#x27;s own host: without it there is no page."),
        ({"pairs": "3"}, "8 to 100 pairs of loads bear a verdict."),
        ({"hosts": ""}, "This field is required."),
    ],
)
def test_what_cannot_be_asked_is_said_at_its_field(
    browser: Client, world: World, asked: dict[str, str], sentence: str
) -> None:
    usual = {"hosts": HOST, "region": "eu", "pairs": "8"}
    response = browser.post(reverse("web:experiment_start", args=[world.site.public_id]), usual | asked)
    assert sentence in response.content.decode()
    assert not Experiment.objects.exists()


def test_the_verdict_stands_over_the_figures_and_the_pairs(browser: Client, world: World) -> None:
    experiment = world.play(world.start(), sooner)
    html = page_of(browser, experiment)
    assert f"The page is quicker without {HOST}" in html
    assert experiment.sentence in html
    assert "302 ms sooner (" in html
    first = experiment.runs.get(pair=1, side=Side.WITH)
    without = experiment.runs.get(pair=1, side=Side.WITHOUT)
    assert f"?a={first.ended_run_id}&amp;b={without.ended_run_id}" in html
    assert "LCP 1,001 ms" in html
    assert "data-mount" not in html.split("<main")[1].split("data-refresh")[1]


def test_a_verdict_stays_when_its_loads_are_kept_no_more(browser: Client, world: World) -> None:
    experiment = world.play(world.start(), sooner)
    ExperimentRun.objects.all().delete()
    html = page_of(browser, experiment)
    assert f"The page is quicker without {HOST}" in html
    assert f"{experiment.sentence} The loads that it rests on are kept no more." in html
    assert not [words for words in ("Pairs of loads", "With and without") if words in html]


def test_nothing_that_loads_say_is_told_before_there_is_a_verdict(browser: Client, world: World) -> None:
    experiment = world.start()
    for _ in range(7):
        Experiment.objects.update(due_at=experiment.created_at)
        step()
        world.answer(sooner)
    html = page_of(browser, experiment)
    assert "2 of 8 pairs of loads are there." in html
    assert "LCP" not in html
    cancel_experiment(actor=None, experiment=experiment)
    assert "LCP" not in page_of(browser, experiment)


def test_a_host_is_measured_from_the_run_that_shows_it_and_not_the_pages_own(browser: Client, world: World) -> None:
    world.play(world.start(), sooner)
    run = ExperimentRun.objects.filter(pair=1, side=Side.WITH).get()
    html = browser.get(reverse("web:run", args=[run.ended_run_id])).content.decode()
    there = reverse("web:experiments", args=[world.site.public_id])
    assert f'{there}?region=eu&amp;hosts={HOST}">Measure without it' in html
    assert html.count("Measure without it") == 1
    form = browser.get(f"{there}?region=eu&hosts={HOST}").content.decode()
    assert f'value="{HOST}"' in form


@pytest.mark.parametrize(
    ("side", "mark"),
    [(Side.WITHOUT, f"Loaded without {HOST}: whatever was asked of it failed"), (Side.WITH, f"what {HOST} costs")],
)
def test_a_load_of_an_experiment_is_marked_as_what_it_is(browser: Client, world: World, side: str, mark: str) -> None:
    experiment = world.play(world.start(), sooner)
    run = experiment.runs.get(pair=2, side=side)
    html = browser.get(reverse("web:run", args=[run.ended_run_id])).content.decode()
    assert mark in html
    assert "to see what hosts cost" in html
    assert reverse("web:experiment", args=[experiment.public_id]) in html


def test_two_loads_side_by_side_are_told_apart_by_what_was_left_out(browser: Client, world: World) -> None:
    experiment = world.play(world.start(), sooner)
    usual, without = (experiment.runs.get(pair=2, side=side).ended_run_id for side in (Side.WITH, Side.WITHOUT))
    html = browser.get(reverse("web:compare"), {"a": str(usual), "b": str(without)}).content.decode()
    lead = html.partition('<p class="lead wrap-any">')[2].partition("</p>")[0]
    usual_words, without_words = lead.split(", B is ")
    assert f"from Eu without {HOST}" in without_words
    assert "without" not in usual_words


def test_the_list_says_of_each_what_was_found(browser: Client, world: World) -> None:
    world.play(world.start(), sooner)
    world.play(world.start(), lambda run: loaded(reached=True))
    world.start()
    html = browser.get(reverse("web:experiments", args=[world.site.public_id])).content.decode()
    for words in (
        "Quicker without",
        "the largest paint comes 302 ms sooner",
        "Not measured",
        "older than this",
        "Running",
    ):
        assert words in html


def test_a_viewer_sees_all_of_it_and_asks_for_nothing(client: Client, vera: Member, world: World) -> None:
    experiment = world.play(world.start(), sooner)
    client.force_login(vera.user)
    assert "Measure again" not in page_of(client, experiment)
    html = client.get(reverse("web:experiments", args=[world.site.public_id])).content.decode()
    assert HOST in html
    assert "Measure without it" not in html
