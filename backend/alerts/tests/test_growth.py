"""The phase that a budget's message names."""

from collections.abc import Mapping
from typing import Any

import pytest

from backend.alerts.growth import growth_between
from backend.alerts.metrics import METRICS

BEFORE: Mapping[str, Any] = {metric.column: None for metric in METRICS.values()} | {
    "dns_us": 10_000,
    "connect_us": 20_000,
    "tls_us": 30_000,
    "send_us": None,
    "wait_us": 100_000,
    "ttfb_us": 160_000,
    "download_us": 5_000,
    "rtt_us": 20_000,
    "lcp_us": 900_000,
    "requests": 20,
    "bytes": 100_000,
}


def after(**changes: int) -> Mapping[str, Any]:
    return {**BEFORE, **changes}


def test_the_phase_that_most_of_the_growth_is_in_is_named() -> None:
    sentence = growth_between("ttfb_ms", BEFORE, after(ttfb_us=310_000, tls_us=170_000, dns_us=20_000))
    assert "took 150 ms longer" in sentence
    assert sentence.endswith("most of it in TLS: 170 ms instead of 30 ms.")


def test_it_is_the_phase_that_grew_most_and_not_the_longest() -> None:
    sentence = growth_between("ttfb_ms", BEFORE, after(ttfb_us=230_000, dns_us=70_000, wait_us=110_000))
    assert sentence.endswith("most of it in DNS: 70 ms instead of 10 ms.")


def test_redirects_that_were_there_before_are_told_by_what_they_took_then() -> None:
    before, now = after(ttfb_us=260_000), after(ttfb_us=460_000)
    sentence = growth_between("ttfb_ms", before, now)
    assert sentence.endswith("redirects and what else lies between the phases: 300 ms instead of 100 ms.")


@pytest.mark.parametrize(
    ("was_ms", "grown_ms", "is_told"), [(20, 4.9, False), (20, 5, True), (160, 15.9, False), (160, 16, True)]
)
def test_less_than_five_milliseconds_or_a_tenth_is_no_news_of_two_runs(
    was_ms: int, grown_ms: float, is_told: bool
) -> None:
    before = {**BEFORE, "wait_us": 10_000, "ttfb_us": 1000 * was_ms}
    now = {**before, "wait_us": 10_000 + 1000 * grown_ms, "ttfb_us": 1000 * (was_ms + grown_ms)}
    assert bool(growth_between("ttfb_ms", before, now)) is is_told


@pytest.mark.parametrize(("tls_ms", "is_told"), [(49, False), (50, True)])
def test_half_of_the_growth_is_most_of_it(tls_ms: int, is_told: bool) -> None:
    """What remains is spread over two phases."""
    rest_us = (100 - tls_ms) * 500
    changes = {"tls_us": 30_000 + 1000 * tls_ms, "wait_us": 100_000 + rest_us, "connect_us": 20_000 + rest_us}
    assert bool(growth_between("ttfb_ms", BEFORE, after(ttfb_us=260_000, **changes))) is is_told


def test_what_one_of_the_two_runs_did_not_measure_has_not_grown() -> None:
    waits = after(wait_us=900_000, ttfb_us=960_000)
    assert growth_between("ttfb_ms", {**BEFORE, "ttfb_us": None}, waits) == ""
    assert growth_between("ttfb_ms", BEFORE, {**waits, "ttfb_us": None}) == ""
    # Redirects, which are what is left of a first byte, are of no run that has none.
    sentence = growth_between("lcp_ms", {**BEFORE, "ttfb_us": None}, {**waits, "ttfb_us": None, "lcp_us": 1_700_000})
    assert sentence.endswith("waiting for the server: 900 ms instead of 100 ms.")


def test_a_phase_that_was_not_there_before_is_one_that_grew() -> None:
    sentence = growth_between("ttfb_ms", BEFORE, after(ttfb_us=310_000, send_us=150_000))
    assert sentence.endswith("most of it in sending: 150 ms instead of 0 ms.")


def test_redirects_before_an_answer_whose_phases_are_as_before_are_what_grew() -> None:
    sentence = growth_between("ttfb_ms", BEFORE, after(ttfb_us=310_000))
    assert sentence.endswith("most of it in redirects and what else lies between the phases: 150 ms instead of 0 ms.")


@pytest.mark.parametrize(
    ("metric", "changes"),
    [
        # No growth, hardly any, spread over two phases, elsewhere than before the first byte.
        ("ttfb_ms", {}),
        ("ttfb_ms", {"ttfb_us": 164_000, "wait_us": 104_000}),
        ("ttfb_ms", {"ttfb_us": 310_000, "connect_us": 70_000, "tls_us": 80_000, "wait_us": 150_000}),
        ("lcp_ms", {"lcp_us": 1_900_000, "ttfb_us": 310_000, "wait_us": 250_000}),
        # A phase itself, what is no time, what was not measured.
        ("wait_ms", {"wait_us": 900_000}),
        ("rtt_ms", {"rtt_us": 900_000, "wait_us": 900_000}),
        ("download_ms", {"download_us": 900_000, "wait_us": 900_000}),
        ("requests", {"requests": 90, "wait_us": 900_000}),
        ("bytes", {"bytes": 200_000, "wait_us": 900_000}),
        ("fcp_ms", {"wait_us": 900_000}),
    ],
)
def test_no_phase_is_named_that_is_not_most_of_it(metric: str, changes: dict[str, int]) -> None:
    assert growth_between(metric, BEFORE, after(**changes)) == ""


@pytest.mark.parametrize(("timing", "is_told"), [("mark:hero", True), ("element:hero", True), ("measure:hero", False)])
def test_what_counts_from_the_beginning_is_explained_by_phases_and_a_measure_is_not(timing: str, is_told: bool) -> None:
    before = {**BEFORE, "timings": {timing: 900_000}}
    now = {**after(ttfb_us=310_000, tls_us=170_000), "timings": {timing: 1_050_000}}
    sentence = growth_between(timing, before, now)
    assert sentence.startswith(f"{timing.replace(':', ' ')}: the newest run over the limit took 150 ms") is is_told
    assert bool(sentence) is is_told
    assert growth_between(timing, {**before, "timings": None}, now) == ""
