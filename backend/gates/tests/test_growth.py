"""Which part of a metric grew."""

from backend.gates.growth import growth

Samples = dict[str, list[dict[str, float | None]]]
BEFORE = {"dns_us": 5_000, "connect_us": 20_000, "tls_us": 30_000, "send_us": 100, "wait_us": 100_000}


def sides(
    **changes: float | None,
) -> tuple[dict[str, list[dict[str, float | None]]], dict[str, list[dict[str, float | None]]]]:
    before: dict[str, float | None] = {**BEFORE, "ttfb_us": 155_100.0, "lcp_us": 800_000.0}
    after = before | changes
    return {"eu": [before] * 3, "us": [before] * 3}, {"eu": [after] * 3, "us": [after] * 3}


def test_the_phase_that_grew_most_comes_first() -> None:
    before, after = sides(wait_us=140_000, tls_us=35_000, ttfb_us=200_100)
    assert growth("ttfb_ms", before, after) == [{"phase": "wait", "ms": 40.0}, {"phase": "tls", "ms": 5.0}]


def test_what_grew_after_the_first_byte_is_no_phase_of_the_connection() -> None:
    before, after = sides(lcp_us=1_000_000)
    assert growth("lcp_ms", before, after) == [{"phase": "after first byte", "ms": 200.0}]


def test_a_redirect_before_the_first_byte_of_a_page_is_nothing_after_it() -> None:
    before, after = sides(ttfb_us=355_100, lcp_us=1_000_000)
    assert growth("lcp_ms", before, after) == [{"phase": "other", "ms": 200.0}]


def test_a_page_whose_paint_was_not_seen_says_nothing_of_what_comes_after_the_first_byte() -> None:
    before, after = sides(wait_us=140_000, ttfb_us=195_100, lcp_us=None)
    assert growth("lcp_ms", before, after) == [{"phase": "wait", "ms": 40.0}]


def test_what_shrank_and_what_grew_by_next_to_nothing_are_not_named() -> None:
    before, after = sides(wait_us=140_000, tls_us=20_000, connect_us=20_900, ttfb_us=186_000)
    assert growth("ttfb_ms", before, after) == [{"phase": "wait", "ms": 40.0}]


def test_a_phase_that_did_not_happen_before_took_no_time() -> None:
    before, after = sides(dns_us=5_000)
    for samples in before.values():
        samples[:] = [sample | {"dns_us": None} for sample in samples]
    assert growth("ttfb_ms", before, after)[0] == {"phase": "dns", "ms": 5.0}


def test_regions_that_only_one_side_has_say_nothing() -> None:
    before, after = sides(wait_us=140_000, ttfb_us=195_100)
    assert growth("ttfb_ms", {"eu": before["eu"]}, {"us": after["us"]}) == []
    assert growth("ttfb_ms", before, {"eu": []}) == []
    known, seen = {"eu": before["eu"], "us": before["us"] * 3}, {"eu": [], "us": after["us"] * 3}
    assert growth("ttfb_ms", known, seen) == [{"phase": "wait", "ms": 40.0}]


def test_what_has_no_parts_has_none_that_grew() -> None:
    before, after = sides(tls_us=90_000)
    assert growth("tls_ms", before, after) == []


def test_what_may_have_grown_by_chance_is_not_named() -> None:
    """Handshakes that take now this long and now that: of few runs the middle is anywhere."""
    before, after = sides(wait_us=140_000, ttfb_us=200_100)
    for side, restless_us in ((before, (20_000, 30_000, 60_000)), (after, (20_000, 55_000, 60_000))):
        for region in side:
            side[region] = [run | {"tls_us": us} for run, us in zip(side[region], restless_us, strict=True)]
    assert [part["phase"] for part in growth("ttfb_ms", before, after)] == ["wait"]


def test_what_grew_beside_the_phases_of_a_probe_is_its_redirects() -> None:
    before, after = sides(ttfb_us=190_100)
    assert growth("ttfb_ms", before, after, is_probe=True) == [{"phase": "redirects", "ms": 35.0}]
