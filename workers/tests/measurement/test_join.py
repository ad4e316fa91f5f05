"""Rows of DevTools and requests of the network log find each other, however often one URL is asked for."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.compute.devtools.exchange import Exchange
from workers.measurement.compute.netlog.nouns import NetHop
from workers.measurement.compute.page.join import CACHE_MISS, join

URLS = ("https://shop.test/", "https://shop.test/poll")
INSTANTS = st.lists(st.integers(0, 2_000), max_size=40, unique=True)


def exchange(began_ms: int, url: str = URLS[1], *, connection: int = 0, **more: Any) -> Exchange:
    """Told by DevTools 0.4 ms into its millisecond, asked for 3 ms before."""
    response = {"status": 200, "connectionId": connection}
    began_us = began_ms * 1000 + 400
    made = Exchange(request_id=str(began_ms), url=url, method="GET", started_us=began_us - 3000, **more)
    made.response, made.net_started_us = response, began_us
    return made


def hop(began_ms: int, url: str = URLS[1], *, link: int | None = None) -> NetHop:
    return NetHop(began_ms, url, "GET", began_ms, link=link)


def met(exchanges: list[Exchange], hops: list[NetHop]) -> dict[str, int]:
    """Both by the instant at which they began."""
    return {exchanges[index].request_id: one.source for index, one in join(exchanges, hops).items()}


@given(INSTANTS, st.randoms())
def test_repeated_requests_for_one_url_find_their_own_in_any_order(instants: list[int], random: Any) -> None:
    exchanges, hops = [exchange(at) for at in instants], [hop(at) for at in instants]
    random.shuffle(exchanges)
    random.shuffle(hops)
    assert met(exchanges, hops) == {str(at): at for at in instants}


@given(INSTANTS, INSTANTS)
def test_what_one_side_lacks_costs_no_other_its_partner(told: list[int], logged: list[int]) -> None:
    """Requests of workers that nobody heard, and rows of a log that was cut."""
    found = met([exchange(at) for at in told], [hop(at) for at in logged])
    assert {at: found[str(at)] for at in told if at in logged} == {at: at for at in told if at in logged}
    assert len(set(found.values())) == len(found)
    assert all(abs(int(at) - other) <= 25 for at, other in found.items())


@given(st.lists(st.tuples(st.integers(0, 60), st.sampled_from(URLS)), max_size=30))
def test_nobody_is_paired_with_another_url(asked: list[tuple[int, str]]) -> None:
    exchanges = [exchange(at, url) for at, url in asked]
    hops = [hop(at + 1, url) for at, url in reversed(asked)]
    pairs = join(exchanges, hops)
    assert all(exchanges[index].url == one.url for index, one in pairs.items())
    assert len({id(one) for one in pairs.values()}) == len(pairs)


def test_a_font_is_paired_with_what_asked_the_network_and_not_with_what_asked_the_cache_before() -> None:
    asked_cache, asked_network = hop(100), hop(116)
    asked_cache.net_error, asked_network.controller = CACHE_MISS, 9
    assert met([exchange(115)], [asked_cache, asked_network]) == {"115": 116}


def test_of_two_at_the_same_instant_the_connection_tells() -> None:
    exchanges = [exchange(10, connection=7), exchange(10, connection=8)]
    pairs = join(exchanges, [hop(10, link=8), hop(10, link=7)])
    assert [pairs[index].link for index in (0, 1)] == [7, 8]


def test_a_busy_browser_may_be_late_and_no_more() -> None:
    assert met([exchange(10)], [hop(30)]) == {"10": 30}
    assert met([exchange(10)], [hop(60)]) == {}


def test_a_request_that_failed_before_the_network_began_takes_what_is_left_of_its_lifetime() -> None:
    failed = exchange(10, ended_us=40_000)
    failed.response = failed.net_started_us = None
    assert met([failed, exchange(12)], [hop(12), hop(14)]) == {"12": 12, "10": 14}


def test_a_burst_for_one_url_is_paired_whole_although_the_clocks_are_read_apart() -> None:
    exchanges, hops = [exchange(at // 400) for at in range(10_000)], [hop(at // 400 + 1) for at in range(10_000)]
    pairs = join(exchanges, hops)
    assert len(pairs) == len({id(one) for one in pairs.values()}) == 10_000


def sent(began_us: int, *, sent_us: int, answered_us: int, name: str) -> Exchange:
    """As DevTools tells of a request with its timing."""
    made = Exchange(request_id=name, url=URLS[1], method="GET", started_us=began_us - 1000, net_started_us=began_us)
    after = {"sendStart": sent_us - began_us, "receiveHeadersEnd": answered_us - began_us}
    timing = {"requestTime": began_us / 1e6} | {mark: lasted / 1000 for mark, lasted in after.items()}
    made.response = {"status": 200, "connectionId": 5, "timing": timing}
    return made


def logged(began_ms: int, *, sent_ms: int, answered_ms: int) -> NetHop:
    made = NetHop(sent_ms, URLS[1], "GET", began_ms, link=5)
    made.send.begin_ms, made.head_ms = sent_ms, answered_ms
    return made


def test_of_a_burst_that_the_cache_lets_through_one_by_one_each_is_told_by_when_it_was_sent() -> None:
    """They began at once, the first of them by DevTools a millisecond sooner than by the log."""
    exchanges = [
        sent(350_964, sent_us=351_384, answered_us=409_048, name="first"),
        sent(351_628, sent_us=411_008, answered_us=433_449, name="second"),
        sent(351_843, sent_us=434_141, answered_us=457_449, name="third"),
    ]
    hops = [
        logged(351, sent_ms=351, answered_ms=408),
        logged(351, sent_ms=410, answered_ms=432),
        logged(351, sent_ms=434, answered_ms=456),
    ]
    assert met(exchanges, hops) == {"first": 351, "second": 410, "third": 434}


def test_what_was_sent_and_answered_at_the_same_instants_is_the_same_however_late_the_browser_began() -> None:
    late = sent(10_400, sent_us=70_500, answered_us=90_600, name="late")
    assert met([late], [logged(68, sent_ms=70, answered_ms=90)]) == {"late": 70}


def test_what_was_sent_together_is_told_by_when_it_was_answered() -> None:
    exchanges = [
        sent(10_400, sent_us=11_400, answered_us=90_600, name="slow"),
        sent(10_500, sent_us=11_500, answered_us=40_600, name="quick"),
    ]
    hops = [logged(10, sent_ms=11, answered_ms=40), logged(10, sent_ms=11, answered_ms=90)]
    pairs = join(exchanges, hops)
    assert [pairs[index].head_ms for index in (0, 1)] == [90, 40]
