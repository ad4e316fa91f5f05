"""Who is cut off, one look at a time: what is said against it, and what for it."""

from collections.abc import Sequence

import pytest

from backend.alerts.judgement.blindness import Newest, cut_off

SECOND_US = 1_000_000
NOW_S = 600
SITES = ("a.com", "b.com", "c.com")


def runs(region: int, hosts: Sequence[str], at_s: int, what: str) -> list[Newest]:
    """`what` is "up", "silent" or, where something came back, "refused"."""
    return [
        Newest(region=region, agent="a", host=host, at_us=at_s * SECOND_US, up=what == "up", silent=what == "silent")
        for host in hosts
    ]


def blind(*newest: list[Newest], since_s: int | None = None) -> list[tuple[int, int]]:
    """The regions that are found, with since when."""
    known = {} if since_s is None else {(0, "a"): since_s * SECOND_US}
    found = cut_off([run for some in newest for run in some], known, NOW_S * SECOND_US)
    return [(one.region, one.since_us // SECOND_US) for one in found]


@pytest.mark.parametrize("what", ["silent", "refused"])
def test_whoever_reaches_none_of_three_sites_that_others_reach_afterwards_is_cut_off(what: str) -> None:
    assert blind(runs(0, SITES, 500, what), runs(1, SITES, 550, "up")) == [(0, 500)]


def test_what_others_reached_before_says_nothing_of_what_came_in_between() -> None:
    assert blind(runs(0, SITES, 500, "silent"), runs(1, SITES, 450, "up")) == []


@pytest.mark.parametrize("hosts", [("a.com", "b.com"), ("www.a.com", "shop.a.com", "api.a.com")])
def test_two_sites_or_all_hosts_of_one_may_well_be_down(hosts: tuple[str, ...]) -> None:
    assert blind(runs(0, hosts, 500, "silent"), runs(1, hosts, 550, "up")) == []


def test_where_nobody_else_reaches_any_of_it_all_may_be_down() -> None:
    assert blind(runs(0, SITES, 500, "silent")) == []
    assert blind(runs(0, SITES, 500, "silent"), runs(1, SITES, 550, "silent")) == []


def test_what_is_down_for_others_too_is_none_of_the_three() -> None:
    assert blind(runs(0, SITES, 500, "silent"), runs(1, SITES[:2], 550, "up"), runs(1, SITES[2:], 550, "silent")) == []


def test_what_nobody_else_measures_counts_where_it_is_silent_and_was_reached_where_it_refuses() -> None:
    """One that others reach is enough beside it; a refusal came over the network that would be broken."""
    others = runs(1, SITES[:1], 550, "up")
    assert blind(runs(0, SITES, 500, "silent"), others) == [(0, 500)]
    assert blind(runs(0, SITES[:1], 500, "silent"), runs(0, SITES[1:], 500, "refused"), others) == []
    everybody = runs(1, SITES, 550, "up")
    assert blind(runs(0, SITES, 500, "silent"), runs(0, ["d.com"], 510, "refused"), everybody) == []


@pytest.mark.parametrize(("reached", "found"), [(2, [(0, 450)]), (3, [])])
def test_it_must_be_most_of_the_hosts_that_it_tries(reached: int, found: list[tuple[int, int]]) -> None:
    before = runs(0, ["x.com", "y.com", "z.com"][:reached], 450, "up")
    assert blind(before, runs(0, SITES, 500, "silent"), runs(1, SITES, 550, "up")) == found


@pytest.mark.parametrize(("at_s", "found"), [(300, []), (301, [(0, 301)])])
def test_what_was_seen_five_minutes_ago_says_nothing_of_now(at_s: int, found: list[tuple[int, int]]) -> None:
    assert blind(runs(0, SITES, at_s, "silent"), runs(1, SITES, 550, "up")) == found


def test_whoever_was_found_stays_so_until_it_reaches_somebody() -> None:
    """By then hardly any of the sites need to have been tried again, nor by others."""
    assert blind(runs(0, SITES[:1], 500, "silent"), since_s=400) == [(0, 400)]
    assert blind(runs(0, SITES[:1], 500, "up"), runs(0, SITES[1:], 550, "silent"), since_s=400) == []
