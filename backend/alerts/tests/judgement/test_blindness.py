"""Outages of whole servers and broken agents, seen region by region: which is which."""

from collections.abc import Callable
from random import Random

import pytest

from backend.alerts.judgement.blindness import AgentKey, Expected, Newest, Why, cut_off, idle

SECOND_US = 1_000_000
EVERY_S, LOOK_S = 60, 10
BROKE_S = 250

# Whether a run in a region fails at an instant.
Fails = Callable[[float, int], bool]


def blamed(fails: Fails, *, hosts: int, regions: int, seed: int) -> list[tuple[int, list[int]]]:
    """The regions that are found cut off, look by look. Each host is tried once a minute in each region, which stand
    evenly between each other."""
    random = Random(seed)
    first = [random.random() * EVERY_S for _ in range(hosts)]
    events = sorted(
        (first[host] + EVERY_S * (minute + region / regions), host, region)
        for host in range(hosts)
        for region in range(regions)
        for minute in range(12)
    )
    newest: dict[tuple[int, int], Newest] = {}
    known: dict[AgentKey, int] = {}
    looks = []
    for now_s in range(0, 12 * EVERY_S, LOOK_S):
        while events and events[0][0] < now_s:
            at_s, host, region = events.pop(0)
            down = fails(at_s, region)
            at_us = int(at_s * SECOND_US) + 1
            newest[host, region] = Newest(
                region=region, agent="a", host=str(host), at_us=at_us, up=not down, silent=down
            )
        found = cut_off(list(newest.values()), known, now_s * SECOND_US)
        known = {(blind.region, blind.agent): blind.since_us for blind in found}
        looks.append((now_s, sorted(blind.region for blind in found)))
    return looks


@pytest.mark.parametrize("regions", [2, 3, 5])
@pytest.mark.parametrize("hosts", [3, 6, 10])
@pytest.mark.parametrize("seed", range(5))
def test_a_server_that_dies_with_all_its_hosts_is_no_agents_fault(hosts: int, regions: int, seed: int) -> None:
    looks = blamed(lambda at_s, region: at_s > BROKE_S + seed * 11, hosts=hosts, regions=regions, seed=seed)
    assert all(found == [] for _, found in looks)


@pytest.mark.parametrize("regions", [2, 3, 5])
@pytest.mark.parametrize("hosts", [3, 6, 10])
@pytest.mark.parametrize("seed", range(5))
def test_an_agent_whose_network_breaks_is_found_out_within_two_rounds_and_stays_so(
    hosts: int, regions: int, seed: int
) -> None:
    looks = blamed(lambda at_s, region: region == 0 and at_s > BROKE_S, hosts=hosts, regions=regions, seed=seed)
    found_s = next(now_s for now_s, found in looks if found)
    assert BROKE_S < found_s <= BROKE_S + 2 * EVERY_S
    assert all(found == [0] for now_s, found in looks if now_s >= found_s)


def test_an_agent_that_reaches_somebody_again_sees_again() -> None:
    looks = blamed(lambda at_s, region: region == 0 and BROKE_S < at_s < 500, hosts=6, regions=2, seed=1)
    assert all(found == [] for now_s, found in looks if now_s > 500 + EVERY_S)


def expected(at_s: int | None, host: int) -> Expected:
    at_us = None if at_s is None else at_s * SECOND_US
    return Expected(region=1, host=str(host), at_us=at_us, patience_us=200 * SECOND_US)


@pytest.mark.parametrize(
    ("told", "is_idle"),
    [
        ([100, 110, 120], True),
        ([100, 110, 900], False),
        ([100, 110], False),
        ([None, None, None], False),
        ([100, 110, 120, None], True),
    ],
)
def test_a_region_that_brought_data_and_brings_none_any_more_is_idle(told: list[int | None], is_idle: bool) -> None:
    mine = [expected(at_s, host) for host, at_s in enumerate(told)]
    found = idle(mine, [1, 2], {}, 1_000 * SECOND_US)
    assert [(blind.region, blind.why) for blind in found] == ([(1, Why.IDLE)] if is_idle else [])


def test_a_region_stays_idle_until_something_comes() -> None:
    since_us = 120 * SECOND_US
    assert idle([expected(None, 0)], [1], {1: since_us}, 9_000 * SECOND_US)[0].since_us == since_us
    assert idle([expected(8_990, 0)], [1], {1: since_us}, 9_000 * SECOND_US) == []


@pytest.mark.parametrize(("page_s", "is_idle"), [(800, True), (801, False)])
def test_a_region_is_idle_once_it_brings_nothing_for_as_long_as_its_most_frequent_monitor_may(
    page_s: int, is_idle: bool
) -> None:
    """That a page is not due for an hour is no reason to wait for it."""
    page = Expected(region=1, host="page", at_us=page_s * SECOND_US, patience_us=4_000 * SECOND_US)
    found = idle([*(expected(100, host) for host in range(3)), page], [1], {}, 1_000 * SECOND_US + 1)
    assert [blind.since_us for blind in found] == ([page_s * SECOND_US] if is_idle else [])


def test_a_region_of_which_one_host_alone_is_late_is_not_idle() -> None:
    pages = [
        Expected(region=1, host=f"page-{host}", at_us=100 * SECOND_US, patience_us=4_000 * SECOND_US)
        for host in range(2)
    ]
    assert idle([expected(100, 0), *pages], [1], {}, 1_000 * SECOND_US) == []
