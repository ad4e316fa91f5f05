from dataclasses import replace

import pytest

from backend.compare.seen import MAX_HOSTS, host_name, hosts_seen
from backend.runs.tests.results import TIMING
from workers.measurement.connection import Header
from workers.measurement.waterfall import Request, ResourceType, ServedFrom, TimingSource, Waterfall


def request(number: int, url: str, **changes: object) -> Request:
    usual = Request(
        number=number,
        url=url,
        method="GET",
        resource_type=ResourceType.SCRIPT,
        timing=TIMING,
        timing_source=TimingSource.NETLOG,
        address="192.0.2.1",
    )
    return replace(usual, **changes)  # type: ignore[arg-type]  # keyword by keyword is what a test wants


def test_requests_are_added_up_by_host_over_several_loads() -> None:
    first = Waterfall(
        requests=(
            request(1, "https://Shop.example/", resource_type=ResourceType.DOCUMENT),
            request(2, "https://shop.example:8443/a.js", address="192.0.2.2"),
            request(3, "https://cdn.example/b.js", response_headers=(Header(name="X-Cache", value="MISS"),)),
        ),
        connections=(),
    )
    second = Waterfall(
        requests=(request(1, "https://cdn.example/b.js", response_headers=(Header(name="x-cache", value="Hit"),)),),
        connections=(),
    )
    cdn, shop = hosts_seen([first, second])
    assert (cdn.name, cdn.requests, cdn.headers) == ("cdn.example", 2, (("x-cache", "Hit"),))
    assert (shop.requests, shop.documents) == (2, 1)
    assert shop.addresses == {"192.0.2.1", "192.0.2.2"}


def test_what_did_not_come_over_the_network_is_no_hosts() -> None:
    rows = (
        request(1, "data:text/css,x", served_from=ServedFrom.DATA),
        request(2, "https://cached.example/", served_from=ServedFrom.DISK_CACHE),
        request(3, "blob:https://shop.example/1"),
        request(4, "https://[broken/"),
    )
    assert hosts_seen([Waterfall(requests=rows, connections=())]) == []


def test_only_so_many_hosts_are_kept_and_values_are_cut() -> None:
    header = (Header(name="Via", value="1.1 \x00" + "v" * 5_000), Header(name="Set-Cookie", value="secret"))
    rows = tuple(request(n, f"https://h{n}.example/", response_headers=header) for n in range(1, MAX_HOSTS + 50))
    hosts = hosts_seen([Waterfall(requests=rows, connections=())])
    assert len(hosts) == MAX_HOSTS
    ((name, value),) = hosts[0].headers
    assert (name, len(value)) == ("via", 200)
    assert value.isprintable()


@pytest.mark.parametrize(
    ("said", "kept"),
    [(("MISS", "HIT", "Hit from elsewhere"), "HIT"), (("HIT", "MISS"), "HIT"), (("MISS", "EXPIRED"), "MISS")],
)
def test_of_what_a_cache_said_to_several_requests_the_first_hit_is_kept_else_the_first(
    said: tuple[str, ...], kept: str
) -> None:
    rows = tuple(
        request(n, f"https://cdn.example/{n}.js", response_headers=(Header(name="X-Cache", value=value),))
        for n, value in enumerate(said, start=1)
    )
    (host,) = hosts_seen([Waterfall(requests=rows, connections=())])
    assert host.headers == (("x-cache", kept),)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("wss://Live.example/socket", "live.example"),
        ("https://[2001:db8::1]/", "2001:db8::1"),
        ("https:///path", None),
        ("ftp://files.example/", None),
        ("https://sh\u200bop.example/", None),
        ("about:blank", None),
        (f"https://{'a' * 300}/", None),
    ],
)
def test_the_host_of_an_address(url: str, expected: str | None) -> None:
    assert host_name(url) == expected
