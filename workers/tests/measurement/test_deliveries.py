"""Who delivered a host's answers: told from what only a CDN has, and never from what any proxy says."""

from collections.abc import Mapping
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.cdn_marks import cdn_of_address, marks_in
from workers.measurement.compute.deliveries import deliveries_of
from workers.measurement.connection import Header
from workers.measurement.page_view import HostDelivery
from workers.measurement.timing import Timing
from workers.measurement.waterfall import Request, ResourceType, ServedFrom, TimingSource

HOST = "www.shop.example"


def answer(
    headers: Mapping[str, str] | None = None,
    *,
    address: str | None = "93.184.215.14",
    host: str = HOST,
    status: int | None = 200,
    served_from: ServedFrom = ServedFrom.NETWORK,
) -> Request:
    return Request(
        number=1,
        url=f"https://{host}/app.js",
        method="GET",
        resource_type=ResourceType.SCRIPT,
        timing=Timing(start_us=0),
        timing_source=TimingSource.NETLOG,
        served_from=served_from,
        status=status,
        address=address,
        response_headers=tuple(Header(name=name, value=value) for name, value in (headers or {}).items()),
    )


def told(*rows: Request, alias: str | None = None) -> HostDelivery:
    (found,) = deliveries_of(rows, {} if alias is None else {HOST: alias})
    return found


@pytest.mark.parametrize(
    ("headers", "cdn"),
    [
        ({"Server": "cloudflare", "CF-RAY": "8fcb3f8a0cc56750-FRA"}, "Cloudflare"),
        ({"X-Amz-Cf-Pop": "FRA56-P4", "Via": "1.1 2f.cloudfront.net (CloudFront)"}, "Amazon CloudFront"),
        ({"Via": "1.1 2fab.cloudfront.net (CloudFront)"}, "Amazon CloudFront"),
        ({"X-Served-By": "cache-fra-eddf8230059-FRA", "Via": "1.1 varnish"}, "Fastly"),
        ({"X-Served-By": "cache-iad-kcgs7200097-IAD, cache-fra19134-FRA"}, "Fastly"),
        ({"Server": "AkamaiGHost"}, "Akamai"),
        ({"x-azure-ref": "20261121T120000Z-abc"}, "Azure Front Door"),
        ({"Server": "BunnyCDN-DE1-1047"}, "bunny.net"),
        ({"Server": "Vercel", "X-Vercel-Cache": "HIT"}, "Vercel"),
        ({"X-CDN": "Imperva"}, "Imperva"),
    ],
)
def test_a_cdn_is_named_by_a_header_that_only_it_sends(headers: dict[str, str], cdn: str) -> None:
    found = told(answer(headers))
    assert found.cdn == cdn
    assert found.evidence is not None
    assert found.evidence.startswith("header ")


@pytest.mark.parametrize(
    "headers",
    [
        {"Server": "nginx", "X-Cache": "HIT"},
        {"Via": "1.1 varnish", "X-Varnish": "32770 3", "Age": "17"},
        {"Via": "1.1 proxy.shop.example (squid/6.6)", "X-Cache": "MISS from proxy.shop.example"},
        {"Via": "1.1 google"},
        {"X-Served-By": "cache-01"},
        {"X-Served-By": "web3-FRA"},
        {"Server": "my-cloudflare-killer", "Cache-Status": "ExampleCache; hit"},
        {"X-CDN": "shop"},
        {"Server-Timing": "cdn-cache;desc=HIT"},
        {"X-Cache": "Hit from cloudfront-like"},
        {},
    ],
)
def test_what_any_proxy_says_names_nobody(headers: dict[str, str]) -> None:
    assert told(answer(headers)) == HostDelivery(host=HOST, cdn=None)


def test_an_address_of_a_cdns_own_network_names_it() -> None:
    found = told(answer(address="104.16.132.229"))
    assert (found.cdn, found.evidence) == ("Cloudflare", "address 104.16.132.229")
    assert told(answer(address="2606:4700::6810:84e5")).cdn == "Cloudflare"
    assert told(answer(address="151.101.1.69")).cdn == "Fastly"
    assert told(answer(address="104.15.255.255")).cdn is None


def test_a_name_leads_to_a_cdn() -> None:
    found = told(answer(), alias="www.shop.example.edgekey.net")
    assert (found.cdn, found.evidence) == ("Akamai", "alias www.shop.example.edgekey.net")
    assert told(answer(), alias="e1234.a.akamaiedge.net").cdn == "Akamai"
    assert told(answer(), alias="www.shop.example.cdn.cloudflare.net").cdn == "Cloudflare"
    assert told(answer(), alias="lb.shop.example").cdn is None
    (own,) = deliveries_of([answer(host="d111.cloudfront.net")])
    assert (own.cdn, own.evidence) == ("Amazon CloudFront", "name d111.cloudfront.net")


def test_of_two_cdns_in_a_row_the_one_that_was_dialled_delivers() -> None:
    both = {"Server": "cloudflare", "X-Amz-Cf-Pop": "FRA56-P4"}
    outer = told(answer(both, address="104.16.132.229"))
    assert (outer.cdn, outer.evidence) == ("Cloudflare", "address 104.16.132.229; header server: cloudflare")
    assert told(answer(both)).cdn == "Amazon CloudFront"
    assert told(answer(both), alias="www.shop.example.edgekey.net").cdn == "Akamai"


def test_where_it_cannot_be_told_which_of_two_nobody_is_named() -> None:
    found = told(answer({"Server": "AkamaiGHost", "X-Amz-Cf-Pop": "FRA56-P4"}))
    assert (found.cdn, found.evidence) == (None, "headers of Akamai and Amazon CloudFront")


def test_each_host_is_told_once_and_only_for_what_came_over_the_network() -> None:
    found = deliveries_of(
        [
            answer({"Server": "nginx"}),
            answer({"Server": "cloudflare"}, host="cdn.shop.example"),
            answer({"Server": "cloudflare"}),
            answer({"Server": "AkamaiGHost"}, host="kept.shop.example", served_from=ServedFrom.DISK_CACHE),
            answer(host="dead.shop.example", status=None),
        ]
    )
    assert [(one.host, one.cdn) for one in found] == [(HOST, "Cloudflare"), ("cdn.shop.example", "Cloudflare")]


@given(st.dictionaries(st.text(max_size=20), st.text(max_size=200), max_size=5), st.text(max_size=60))
def test_nothing_that_a_server_says_breaks_it(headers: dict[str, str], address: str) -> None:
    found = told(answer(headers, address=address))
    assert found.evidence is None or (len(found.evidence) <= 200 and found.evidence.isprintable())
    assert cdn_of_address(address) is None or found.cdn is not None


def test_what_a_hostile_server_says_of_its_caches_is_read_at_once() -> None:
    began = thread_time()
    assert list(marks_in([("x-served-by", "cache-fra-" + "1" * 100_000)])) == []
    assert [mark.cdn for mark in marks_in([("x-served-by", "cache-fra-eddf8230059-FRA")])] == ["Fastly"]
    assert thread_time() - began < 1
