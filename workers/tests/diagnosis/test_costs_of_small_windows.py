"""What a small window costs beside other faults: with high confidence only where nothing else can hold the answer."""

from dataclasses import replace

import pytest

from workers.diagnosis.probe import transport
from workers.measurement.evidence import ProbeEvidence, Trial
from workers.measurement.finding import Confidence, Finding
from workers.measurement.finding import FindingId as Id
from workers.tests.diagnosis.judging import cost, facts, found
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Server, deep

PAGE = Server(body_bytes=24_000)


def small_window(evidence: ProbeEvidence) -> Finding:
    return found(transport.RULES, evidence)[Id.TCP_IW_SMALL]


@pytest.mark.parametrize("rtt_ms", [20, 80, 380])
@pytest.mark.parametrize("window", [2, 3, 4])
def test_the_cost_of_a_small_window_alone_is_sure(window: int, rtt_ms: float) -> None:
    path = Path(rtt_ms=rtt_ms, iw=window)
    finding = small_window(deep(path, PAGE))
    real_us = cost(deep(path, PAGE), "page") - cost(deep(replace(path, iw=10), PAGE), "page")
    assert finding.saving_us == pytest.approx(real_us, rel=0.1)
    assert finding.confidence is Confidence.HIGH


@pytest.mark.parametrize("stops", [((8_246, 391_482), (9_122, 391_482)), ((10_000, 450_000),)])
def test_the_cost_is_not_sure_where_the_server_pauses_as_well(stops: tuple[tuple[int, int], ...]) -> None:
    """Its own pauses pass whatever the window is, and may hide what that costs."""
    evidence = deep(Path(rtt_ms=380, iw=6, mss=1220), replace(PAGE, stops=stops))
    assert small_window(evidence).confidence is Confidence.MEDIUM


def test_the_cost_is_not_sure_where_the_server_sends_bit_by_bit() -> None:
    pieces = tuple((1_300, 12_000) for _ in range(20))
    evidence = deep(Path(rtt_ms=380, iw=4), replace(PAGE, record_bytes=1300, stops=pieces))
    told = found(transport.RULES, evidence).get(Id.TCP_IW_SMALL)
    assert told is None or told.confidence is Confidence.MEDIUM


def test_the_cost_is_not_sure_where_the_usual_window_may_need_another_round_trip() -> None:
    """Of its ten segments tickets take some as well, and the page fits two flights of it by little."""
    page = Server(handshake_bytes=2_300, tickets_bytes=835, record_bytes=4096, head_bytes=418, body_bytes=33_779)
    evidence = deep(Path(rtt_ms=20, iw=7, mss=1220), page)
    assert small_window(evidence).confidence is Confidence.MEDIUM


@pytest.mark.parametrize(("window", "until", "body_bytes"), [(2, 12, 57_000), (3, 20, 170_000), (4, 40, 150_000)])
def test_the_usual_window_grows_no_further_than_the_small_one_did(window: int, until: int, body_bytes: int) -> None:
    """A server may remember up to which window an earlier connection from there got on without loss."""
    path, page = Path(rtt_ms=150, iw=window, slow_start_until=until), replace(PAGE, body_bytes=body_bytes)
    real_us = cost(deep(path, page), "page") - cost(deep(replace(path, iw=10), page), "page")
    assert small_window(deep(path, page)).saving_us == pytest.approx(real_us, rel=0.1)


@pytest.mark.parametrize("window", [2, 3, 4])
@pytest.mark.parametrize("body_bytes", [30_000, 45_000, 100_000])
def test_the_cost_over_a_narrow_link_is_what_the_page_ends_sooner(window: int, body_bytes: int) -> None:
    """Larger flights keep the link busy for longer, so that less is waited for between those that remain."""
    path, page = Path(rtt_ms=380, iw=window, rate_bytes_s=250_000), replace(PAGE, body_bytes=body_bytes)
    finding = small_window(deep(path, page))
    real_us = cost(deep(path, page), "page") - cost(deep(replace(path, iw=10), page), "page")
    assert finding.saving_us == pytest.approx(real_us, rel=0.1)


def test_connections_that_show_different_costs_are_not_averaged() -> None:
    """A whole round trip is lost or none: half of one is what nobody waited for."""
    rtt_us = 380_000
    path, page = Path(rtt_ms=380, iw=4), Server(body_bytes=17_000)
    evidence, quick = deep(path, page), deep(replace(path, iw=10), page)
    firsts = evidence.of(Trial.FULL, Trial.CLASSICAL)
    spared = quick.of(Trial.FULL, Trial.CLASSICAL)[: len(firsts) // 2]
    mixed = (*firsts[len(spared) :], *spared, *(one for one in evidence.trials if one not in firsts))
    told = found(transport.RULES, replace(evidence, trials=mixed)).get(Id.TCP_IW_SMALL)
    assert told is None or (told.saving_us or 0) == pytest.approx(0) or told.saving_us == pytest.approx(rtt_us, rel=0.1)


@pytest.mark.parametrize("window", range(2, 7))
def test_the_window_that_is_told_is_the_servers_within_a_segment(window: int) -> None:
    """One that is set to seven is not said to be four, nor ten."""
    finding = small_window(deep(Path(rtt_ms=80, iw=window), Server(handshake_bytes=900, body_bytes=60_000)))
    told = facts(finding)["initial_window_segments"]
    assert isinstance(told, int)
    assert abs(told - window) <= 1
