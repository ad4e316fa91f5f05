"""A slowdown that grows little by little is told again, and its title tells how slow the site is by now."""

from datetime import timedelta
from functools import partial

import pytest

from backend.alerts.models import Member
from backend.alerts.tests.slow_site import Site, slower_in_sin
from backend.alerts.tests.world import only_incident, titles, told
from backend.runs.models import Schedule

pytestmark = pytest.mark.django_db

# What the server takes, each for an hour and a half; 100 ms before.
CREEPING = (140, 165, 195, 230, 270, 320)


def crept(*waits: float) -> Site:
    site = Site()
    for wait in waits:
        site.pass_time(90, partial(_always, wait))
    return site


def _always(wait: float, region: str, passed: timedelta) -> float:
    return wait


def test_what_becomes_twice_as_much_little_by_little_is_told_again() -> None:
    crept(*CREEPING)

    assert told()[:2] == ["opened", "worse"]
    assert len(told()) == 3


def test_the_title_tells_how_slow_it_is_by_now() -> None:
    site = crept(*CREEPING)
    site.pass_time(180, lambda region, passed: 320)

    level = float(only_incident().title.split("First byte ")[1].split(" ms")[0])
    assert level == pytest.approx(378, abs=20)


def test_what_stays_as_slow_as_it_was_is_told_once() -> None:
    site = crept(140)
    site.pass_time(600, lambda region, passed: 140)

    assert told() == ["opened"]
    assert len(titles()) == 1


def test_a_region_that_becomes_as_slow_as_most_is_named_although_the_figures_stay() -> None:
    site = Site()
    site.pass_time(180, lambda region, passed: 100 if region == "sin" else 140)
    assert only_member().regions == ["fra", "iad"]

    site.pass_time(240, partial(_always, 140))
    assert only_member().regions == ["fra", "iad", "sin"]
    assert told() == ["opened"]


def test_a_region_that_is_not_measured_any_more_is_named_no_longer() -> None:
    site = Site()
    site.pass_time(180, partial(_always, 140))
    Schedule.objects.filter(region__code="sin").update(enabled=False)
    site.silent = {"sin"}
    site.pass_time(120, partial(_always, 140))

    assert only_member().regions == ["fra", "iad"]
    assert told() == ["opened"]


def test_what_is_told_once_it_has_lasted_is_not_over_where_it_reaches_further_regions() -> None:
    """That it lasts there too is asked anew: until that is known it is as slow where it was."""
    site = Site(tell="regression")
    site.pass_time(240, slower_in_sin)
    assert told() == ["opened"]

    site.pass_time(240, lambda region, passed: 200)
    assert told() == ["opened", "worse"]
    assert only_member().regions == ["fra", "iad", "sin"]


def only_member() -> Member:
    return Member.objects.get(incident=only_incident())
