"""What answers say of the caches they came through."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.compute.cache_state import cache_report
from workers.measurement.connection import Header
from workers.measurement.pair import CacheReport, CacheState


def report(**headers: str) -> CacheReport:
    return cache_report(tuple(Header(name=name.replace("_", "-"), value=value) for name, value in headers.items()))


@pytest.mark.parametrize(
    ("name", "value", "state"),
    [
        ("Cache_Status", "ExampleCache; hit", "hit"),
        ("Cache_Status", "ExampleCache; hit; ttl=376", "hit"),
        ("Cache_Status", "ExampleCache; hit; ttl=-412", "hit"),
        ("Cache_Status", "ExampleCache; fwd=uri-miss; collapsed", "miss"),
        ("Cache_Status", "ExampleCache; fwd=stale; fwd-status=304; stored", "stale"),
        ("Cache_Status", "ExampleCache; fwd=bypass", "bypass"),
        ("Cache_Status", "ExampleCache; fwd=method", "bypass"),
        ("Cache_Status", 'OriginCache; hit, "CDN, Company Here"; fwd=miss; detail="x;hit"', "hit"),
        ("Cache_Status", "Origin; fwd=uri-miss, Edge; fwd=stale", "stale"),
        ("CF_Cache_Status", "HIT", "hit"),
        ("CF_Cache_Status", "MISS", "miss"),
        ("CF_Cache_Status", "EXPIRED", "stale"),
        ("CF_Cache_Status", "REVALIDATED", "stale"),
        ("CF_Cache_Status", "UPDATING", "hit"),
        ("CF_Cache_Status", "BYPASS", "bypass"),
        ("CF_Cache_Status", "DYNAMIC", "dynamic"),
        ("X_Cache", "Hit from cloudfront", "hit"),
        ("X_Cache", "RefreshHit from cloudfront", "stale"),
        ("X_Cache", "Miss from cloudfront", "miss"),
        ("X_Cache", "Error from cloudfront", "unknown"),
        ("X_Cache", "HIT, MISS", "hit"),
        ("X_Cache", "MISS, HIT", "hit"),
        ("X_Cache", "MISS, MISS", "miss"),
        ("X_Cache", "HIT-STALE", "hit"),
        ("X_Cache", "TCP_MEM_HIT from a23-45-67-8.hit.example (AkamaiGHost/11.2) (-)", "hit"),
        ("X_Cache", "TCP_MISS from a-hit-server.example", "miss"),
        ("X_Cache", "TCP_REFRESH_HIT from a23.example", "stale"),
        ("X_Cache", "TCP_EXPIRED_MISS from a23.example", "stale"),
        ("X_Cache", "CONFIG_NOCACHE", "bypass"),
        ("X_Cache", "hit for pass", "bypass"),
        ("X_Cache_Status", "EXPIRED", "stale"),
        ("X_Cache_Status", "STALE", "hit"),
        ("X_Cache_Status", "UPDATING", "hit"),
        ("X_Cache_Status", "REVALIDATED", "stale"),
        ("X_Vercel_Cache", "STALE", "hit"),
        ("CDN_Cache", "HIT", "hit"),
        ("X_Vercel_Cache", "PRERENDER", "hit"),
        ("Server_Timing", "cdn-cache; desc=HIT, edge; dur=1", "hit"),
        ("Server_Timing", 'cfCacheStatus;desc="MISS", cfOrigin;dur=3', "miss"),
        ("Server_Timing", "db;dur=53, app;dur=47.2;desc=hit", "unknown"),
        ("X_Cache_Hits", "0, 12", "hit"),
        ("X_Cache_Hits", "0, 0", "miss"),
        ("X_Cache_Hits", "many", "unknown"),
        ("X_Varnish", "123 456", "hit"),
        ("X_Varnish", "123", "miss"),
        ("Age", "17", "hit"),
        ("Age", "0", "unknown"),
        ("Age", "-1", "unknown"),
        ("Via", "1.1 varnish", "unknown"),
    ],
)
def test_each_cdn_says_it_in_its_own_words(name: str, value: str, state: str) -> None:
    found = report(**{name: value})
    assert found.state == state
    expected = None if state == "unknown" else Header(name=name.replace("_", "-"), value=value)
    assert found.evidence == expected


def test_the_most_telling_header_decides_and_the_age_is_kept() -> None:
    found = report(Age="0042", X_Cache="MISS", Cache_Status="Edge; hit")
    assert found == CacheReport(state=CacheState.HIT, evidence=Header(name="Cache-Status", value="Edge; hit"), age_s=42)
    assert report(X_Cache="something else", Age="5").evidence == Header(name="Age", value="5")


def test_several_headers_of_one_name_are_one_list() -> None:
    headers = (Header(name="x-cache", value="MISS"), Header(name="X-Cache", value="HIT"))
    assert cache_report(headers).state is CacheState.HIT


def test_no_header_says_nothing() -> None:
    assert cache_report(()) == CacheReport()


@given(
    st.lists(st.tuples(st.sampled_from(["Cache-Status", "X-Cache", "Server-Timing", "X-Varnish", "Age"]), st.text()))
)
def test_whatever_a_server_sends_is_read_without_a_fault(headers: list[tuple[str, str]]) -> None:
    found = cache_report(tuple(Header(name=name, value=value) for name, value in headers))
    assert (found.state is CacheState.UNKNOWN) == (found.evidence is None)
    assert found.evidence is None or len(found.evidence.value) <= 200


@pytest.mark.parametrize("name", ["Cache-Status", "Server-Timing"])
def test_quotes_without_an_end_take_no_time(name: str) -> None:
    """Seconds for which a process that measures many sites would do nothing else."""
    begun_s = time.process_time()
    cache_report((Header(name=name, value='"' + '\\"' * 30_000),))
    assert time.process_time() - begun_s < 1
