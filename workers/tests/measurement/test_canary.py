"""What is said of a view of our own page, from what both sides saw of it."""

from dataclasses import replace

from workers.measurement.captures_page import NetlogCapture
from workers.measurement.compute.page.canary import CanaryVisit, canary_fault, remembered_names
from workers.measurement.connection import Connection
from workers.measurement.messages import PageMeasurement
from workers.measurement.timing import Span, Timing
from workers.measurement.vitals import Vitals
from workers.measurement.waterfall import Request, ResourceType, ServedFrom, TimingSource, Waterfall

HELD_US = 20_000
OWN, FOREIGN = "canary.localhost:4000", "accounts.browser.example:443"


def link(number: int, place: str) -> Connection:
    host, _, port = place.partition(":")
    span = Span(start_us=0, end_us=1000)
    return Connection(number=number, host=host, port=int(port), connect=span, tls=span, resumed=False, requests=1)


def row(number: int, url: str, heard_us: int = 5500, answered_us: int = 25_000) -> Request:
    """Sent at 5 ms, as Chrome heard at `heard_us`."""
    span = Span(start_us=0, end_us=1000)
    send = Span(start_us=5000, end_us=heard_us)
    wait = Span(start_us=heard_us, end_us=answered_us)
    timing = Timing(start_us=0, connect=span, tls=span, send=send, wait=wait)
    kind, source = ResourceType.DOCUMENT, TimingSource.NETLOG
    return Request(number=number, url=url, method="GET", resource_type=kind, timing=timing, timing_source=source)


def fault(
    *rows: Request,
    links: tuple[Connection, ...] = (link(1, OWN),),
    remembered: int | None = 0,
    **seen: int,
) -> str | None:
    visit = CanaryVisit(**({"connects": 1} | seen), requests=["/", "/asset.js"])
    page = PageMeasurement(waterfall=Waterfall(requests=rows, connections=links), vitals=Vitals())
    return canary_fault(visit, page, remembered=remembered, held_us=HELD_US)


def test_a_browser_that_hears_late_that_it_has_sent_is_no_worse_for_it() -> None:
    assert fault(row(1, f"https://{OWN}/", heard_us=12_000)) is None


def test_an_answer_sooner_than_it_was_given_is_a_fault() -> None:
    assert fault(row(1, f"https://{OWN}/")) is None
    assert (
        fault(row(1, f"https://{OWN}/", answered_us=23_500))
        == "it waited 18 ms for an answer that was held back for 20 ms"
    )


def test_what_the_browser_asks_of_others_meanwhile_is_its_own_affair() -> None:
    rows = row(1, f"https://{OWN}/"), row(2, f"https://{FOREIGN}/list")
    assert fault(*rows, links=(link(1, OWN), link(2, FOREIGN))) is None
    told = fault(*rows, links=(link(1, OWN), link(2, FOREIGN), link(3, OWN)))
    assert told == "there were 1 connections, and the browser tells of 2, instead of one"


def test_each_thing_that_is_left_of_an_earlier_visit_is_told_by_its_name() -> None:
    document = row(1, f"https://{OWN}/")
    taken_up = replace(link(1, OWN), resumed=True)
    assert fault(document, connects=0) == "there were 0 connections, and the browser tells of 1, instead of one"
    assert fault(document, resumed=1) == "a TLS session of an earlier visit was taken up"
    assert fault(document, links=(taken_up,)) == "a TLS session of an earlier visit was taken up"
    assert fault(document, conditional=1) == "something was still in the cache"
    kept = replace(document, served_from=ServedFrom.DISK_CACHE)
    assert fault(kept) == "something came from the cache"
    assert fault(document, remembered=1) == "the address of an earlier visit was remembered"
    assert fault(document, remembered=None) == "the network log does not tell whether names were remembered"


def test_names_that_were_remembered_are_counted_by_the_logs_own_numbers() -> None:
    constants = {"logEventTypes": {"HOST_RESOLVER_MANAGER_CACHE_HIT": 7}}
    lines = (b'{"phase":0,"type":7},', b'{"phase":0,"type":77},', b'{"params":{"type":7},"phase":0,"type":8},')
    assert remembered_names(NetlogCapture(constants=constants, lines=lines), "canary.localhost") == 1
    assert remembered_names(NetlogCapture(constants={"logEventTypes": {}}, lines=lines), "canary.localhost") is None
    assert remembered_names(None, "canary.localhost") is None


def test_a_name_that_the_browser_remembers_of_a_server_of_its_own_is_no_fault() -> None:
    constants = {"logEventTypes": {"HOST_RESOLVER_MANAGER_CACHE_HIT": 7}}

    def hit(source: int, place: str) -> tuple[bytes, bytes]:
        who = b'"source":{"id":%d,"type":5}' % source
        return (
            b'{"params":{"group_id":"https://%s"},"phase":0,%s,"type":8},' % (place.encode(), who),
            b'{"phase":0,%s,"type":7},' % who,
        )

    foreign = NetlogCapture(constants=constants, lines=hit(1, FOREIGN))
    assert remembered_names(foreign, "canary.localhost") == 0
    both = NetlogCapture(constants=constants, lines=(*hit(1, FOREIGN), *hit(2, OWN)))
    assert remembered_names(both, "canary.localhost") == 1


def test_connections_beyond_the_one_are_no_fault_where_both_sides_tell_of_them_as_new() -> None:
    document = row(1, f"https://{OWN}/")
    spare = replace(link(2, OWN), requests=0, preconnected=True)
    both = link(1, OWN), spare
    assert fault(document, links=both, connects=2) is None
    # One that was given up before its handshake: the server never heard of it.
    assert fault(document, links=(link(1, OWN), replace(spare, tls=None, resumed=None)), connects=1) is None
    assert fault(document, links=both, connects=3) is not None
    assert fault(document, links=(link(1, OWN), replace(spare, resumed=True)), connects=2) is not None
    older = replace(link(2, OWN), connect=None, tls=None, resumed=None)
    assert fault(document, links=(link(1, OWN), older), connects=1) is not None
    assert fault(document, links=(link(1, OWN), older), connects=2) is not None


def test_a_connection_without_phases_is_a_fault() -> None:
    bare = replace(link(1, OWN), connect=None, tls=None, resumed=None)
    assert fault(row(1, f"https://{OWN}/"), links=(bare,)) == "its connection has no phases in the network log"
