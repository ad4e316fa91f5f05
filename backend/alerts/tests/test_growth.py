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
    "lcp_us": 900_000,
    "requests": 20,
}


def after(**changes: int) -> Mapping[str, Any]:
    return {**BEFORE, **changes}


def test_the_phase_that_most_of_the_growth_is_in_is_named() -> None:
    sentence = growth_between("ttfb_ms", BEFORE, after(ttfb_us=310_000, tls_us=170_000, dns_us=20_000))
    assert "took 150 ms longer" in sentence
    assert sentence.endswith("most of it in TLS: 170 ms instead of 30 ms.")


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
        ("requests", {"requests": 90, "wait_us": 900_000}),
        ("fcp_ms", {"wait_us": 900_000}),
    ],
)
def test_no_phase_is_named_that_is_not_most_of_it(metric: str, changes: dict[str, int]) -> None:
    assert growth_between(metric, BEFORE, after(**changes)) == ""
