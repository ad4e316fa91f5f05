"""Nagle's algorithm over HTTP/1.1 of a server whose HTTP/2, which browsers would use, does without it."""

from dataclasses import replace

import pytest

from workers.diagnosis.probe import transport
from workers.measurement.evidence import Trial
from workers.measurement.finding import FindingId as Id
from workers.measurement.finding import Severity
from workers.tests.diagnosis.judging import facts, found
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import DEEP, Server, connection, deep, probe

SPLIT = Server(head_apart=True, body_bytes=700)
OVER_HTTP2 = replace(SPLIT, settings_bytes=80)
ANYWHERE = pytest.mark.parametrize("rtt_ms", [20, 80, 380])


def severity_of(rtt_ms: float, *, held_over_http2: bool) -> Severity:
    """As Node's `http2.createSecureServer` with `allowHTTP1` does it, which sets TCP_NODELAY for HTTP/2 alone."""
    way = Path(rtt_ms=rtt_ms, nagle=True)
    old = [connection(replace(way, seed=seed), SPLIT, one) for seed, one in enumerate(DEEP)]
    new = [connection(replace(way, nagle=held_over_http2, seed=seed), OVER_HTTP2, Trial.HTTP2) for seed in range(3)]
    finding = found(transport.RULES, probe([*old, *new]))[Id.TCP_NAGLE_DELAYED_ACK]
    assert facts(finding).get("alpn") == (None if held_over_http2 else "http/1.1")
    return finding.severity


@ANYWHERE
def test_ends_that_are_held_back_over_http_1_alone_hold_no_browser_up(rtt_ms: float) -> None:
    assert severity_of(rtt_ms, held_over_http2=False) is Severity.LOW


@ANYWHERE
def test_ends_that_are_held_back_over_both_do(rtt_ms: float) -> None:
    assert severity_of(rtt_ms, held_over_http2=True) is Severity.HIGH


@ANYWHERE
def test_where_nothing_but_http_2_is_spoken_it_is_what_browsers_use(rtt_ms: float) -> None:
    alone = deep(Path(rtt_ms=rtt_ms, nagle=True), OVER_HTTP2, trials=(*DEEP, Trial.HTTP2))
    assert found(transport.RULES, alone)[Id.TCP_NAGLE_DELAYED_ACK].severity is Severity.HIGH


@ANYWHERE
def test_where_nothing_but_http_2_is_spoken_some_of_its_ends_that_come_at_once_spare_no_browser(rtt_ms: float) -> None:
    way = Path(rtt_ms=rtt_ms, nagle=True)
    held = [connection(replace(way, seed=seed), OVER_HTTP2, one) for seed, one in enumerate(DEEP)]
    free = [connection(Path(rtt_ms=rtt_ms, seed=seed), OVER_HTTP2, Trial.HTTP2) for seed in range(3)]
    assert found(transport.RULES, probe([*held, *free]))[Id.TCP_NAGLE_DELAYED_ACK].severity is Severity.HIGH
