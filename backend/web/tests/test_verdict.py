from dataclasses import replace

import pytest

from backend.web.tests import measurements
from backend.web.verdict import cards_of, failed_verdict, measured_verdict, missed_verdict
from workers.measurement.failure import Blame, Failure, FailureKind, Stage, failure
from workers.measurement.messages import MissedReason, PageMeasurement, PairMeasurement, ProbeMeasurement
from workers.measurement.timing import Span, Timing
from workers.measurement.vitals import Vitals
from workers.measurement.waterfall import TimingSource, Waterfall
from workers.tests.builders import build_pair


def page_with(vitals: Vitals) -> PageMeasurement:
    return replace(measurements.page(3), vitals=vitals)


@pytest.mark.parametrize(
    ("lcp_us", "level", "title"),
    [
        (840_000, "good", "840 ms to the largest paint: good (limit 2.5 s)"),
        (3_000_000, "warn", "3.00 s to the largest paint: could be better (limit 2.5 s)"),
        (4_200_000, "bad", "4.20 s to the largest paint: poor (limit 2.5 s)"),
    ],
)
def test_a_page_is_judged_by_its_largest_paint(lcp_us: int, level: str, title: str) -> None:
    verdict = measured_verdict(page_with(Vitals(lcp_us=lcp_us)))
    assert (verdict.level, verdict.title) == (level, title)
    assert verdict.text == "74 % of the 286 ms to the first byte was waiting for the server's answer: 212 ms."


def test_what_passed_before_a_page_asked_for_its_document_counts_to_its_first_byte() -> None:
    page = measurements.page(3)
    document, *others = page.waterfall.requests
    later = replace(
        document, timing=Timing(start_us=300_000, end_us=460_000, wait=Span(start_us=310_000, end_us=450_000))
    )
    moved = replace(page, waterfall=replace(page.waterfall, requests=(later, *others)), document=later.number)
    text = "67 % of the 450 ms to the first byte passed before its document was asked for: 300 ms."
    assert measured_verdict(moved).text == text


def test_requests_that_failed_are_counted_in_the_verdict() -> None:
    assert measured_verdict(measurements.page(30)).text.endswith("2 of 30 requests failed or got an error.")


def test_a_page_without_paint_tells_what_it_has() -> None:
    assert measured_verdict(page_with(Vitals(load_us=900_000))).title == "The page loaded in 900 ms"
    assert measured_verdict(page_with(Vitals())).title == "The page loaded"


def test_a_probe_is_judged_by_its_first_byte_and_names_the_cost_of_redirects() -> None:
    verdict = measured_verdict(measurements.probe())
    assert verdict.title == "First byte after 311 ms: good (limit 800 ms)"
    assert verdict.text.endswith("1 redirect before it costs 89 ms.")


def test_a_probe_that_saw_nothing_says_so() -> None:
    assert measured_verdict(ProbeMeasurement()).title == "Nothing was measured"
    hop = replace(measurements.probe().hops[0], timing=Timing(start_us=0))
    assert measured_verdict(ProbeMeasurement(hops=(hop,))).title == "No first byte was seen"


def test_a_failure_begins_with_its_reason_and_names_stage_blame_and_what_was_seen() -> None:
    verdict = failed_verdict(failure(FailureKind.CERTIFICATE_EXPIRED, "since 2026-11-01"), measurements.probe())
    assert verdict.title == "The certificate has expired: since 2026-11-01"
    assert verdict.text.startswith(
        "It happened during the TLS handshake. The fault lies with the measured site. Measured before:"
    )
    assert verdict.level == "bad"


@pytest.mark.parametrize("kind", list(FailureKind))
def test_every_failure_says_what_to_do(kind: FailureKind) -> None:
    advice = failed_verdict(failure(kind), None).advice
    assert advice.endswith(".")
    assert advice[:1].isupper()


@pytest.mark.parametrize(
    ("failed", "place"),
    [
        (failure(FailureKind.INVALID_URL, "'http://[' is no address", stage=Stage.REDIRECT), "redirect"),
        (failure(FailureKind.TLS_ALERT, "it speaks neither HTTP/1.1 nor HTTP/2"), "ALPN"),
        # Pairs fail by these too, and have neither setting.
        (failure(FailureKind.STATUS_UNEXPECTED, "leg a: 404"), "of the probe or page"),
        (failure(FailureKind.RESPONSE_TIMEOUT, "leg a: after 10 s"), "of a probe or page"),
        (failure(FailureKind.DOWNLOAD_TIMEOUT, "leg a: after 10 s"), "of a probe or page"),
    ],
)
def test_the_advice_leads_to_each_place_where_such_a_failure_comes_about(failed: Failure, place: str) -> None:
    assert place in failed_verdict(failed, None).advice


def test_where_another_than_usual_is_to_blame_nobody_is_sent_to_look_at_the_site() -> None:
    cut_off = replace(failure(FailureKind.CONNECT_TIMEOUT), blame=Blame.MONITOR)
    assert failed_verdict(cut_off, None).advice == ""


def test_our_own_fault_is_not_painted_as_the_sites() -> None:
    verdict = failed_verdict(failure(FailureKind.BROWSER_FAILED), None)
    assert verdict.level == "warn"
    assert "the monitor itself, not the site" in verdict.text


def test_a_port_that_the_agents_may_not_measure_is_the_operators_to_allow() -> None:
    refused = replace(failure(FailureKind.INVALID_URL, "Port 8444 may not be measured."), blame=Blame.MONITOR)
    verdict = failed_verdict(refused, None)
    assert verdict.level == "warn"
    assert "It says nothing of the site." in verdict.text
    assert "FIRSTBYTE_EXTRA_PORTS" in verdict.text


def test_a_page_that_failed_points_to_the_requests_seen_before() -> None:
    assert "3 requests were seen before" in failed_verdict(failure(FailureKind.PAGE_TIMEOUT), measurements.page(3)).text


@pytest.mark.parametrize("reason", list(MissedReason))
def test_every_reason_for_a_missed_run_is_a_sentence_that_leaves_the_site_alone(reason: MissedReason) -> None:
    assert missed_verdict(reason).text.endswith(". It says nothing about the site.")


@pytest.mark.parametrize("reason", list(MissedReason))
def test_every_reason_for_a_missed_run_says_what_to_do(reason: MissedReason) -> None:
    assert missed_verdict(reason).advice.endswith(".")


def test_the_cards_of_a_page_say_value_and_limit() -> None:
    cards = {card.name: card for card in cards_of(measurements.page(30))}
    assert (cards["Largest paint"].value, cards["Largest paint"].note) == ("840 ms", "✓ good, limit 2.5 s")
    assert cards["Transferred"].note == "30 requests, 4 hosts"
    assert cards["Connections"].note == "26 of 30 requests reused one"
    assert cards["Layout shift"].value == "0.02"


def test_blocking_time_and_speed_index_have_a_card_where_they_were_seen() -> None:
    cards = {card.name: card.value for card in cards_of(page_with(Vitals(tbt_us=24_000, speed_index_us=551_000)))}
    assert (cards["Blocking time"], cards["Speed Index"]) == ("24 ms", "551 ms")
    assert not {"Blocking time", "Speed Index"} & {card.name for card in cards_of(page_with(Vitals()))}


def test_requests_whose_connection_nobody_told_are_not_said_to_have_opened_one() -> None:
    page = measurements.page(30)
    *told, last = page.waterfall.requests
    untold = replace(page.waterfall, requests=(*told, replace(last, connection=None, reused=None)))
    card = next(card for card in cards_of(replace(page, waterfall=untold)) if card.name == "Connections")
    assert card.note == "25 of 29 requests reused one; of 1 it is not known"


def test_a_file_that_names_no_connection_is_not_said_to_have_had_none() -> None:
    """Neither where it has no times of its answers."""
    page = measurements.page(3)
    for timing in (page.waterfall.requests[0].timing, Timing(start_us=0)):
        requests = tuple(
            replace(row, connection=None, reused=None, timing=timing, timing_source=TimingSource.ARCHIVE)
            for row in page.waterfall.requests
        )
        untold = replace(page, waterfall=Waterfall(requests=requests, connections=()))
        card = next(card for card in cards_of(untold) if card.name == "Connections")
        assert (card.value, card.note) == ("\N{EN DASH}", "not told by the file")


def test_connections_that_no_request_ever_used_are_told_beside_those_that_were_reused() -> None:
    page = measurements.page(30)
    first, *others = page.waterfall.connections
    idle = [replace(first, number=90 + ahead, requests=0, preconnected=True) for ahead in range(5)]
    opened = replace(page, waterfall=replace(page.waterfall, connections=(first, *others, *idle)))
    card = next(card for card in cards_of(opened) if card.name == "Connections")
    assert card.note == "26 of 30 requests reused one; 5 never used"


def test_the_first_byte_of_a_page_counts_its_redirects_and_says_so() -> None:
    page = measurements.page(3)
    document, *others = page.waterfall.requests
    waited = Span(start_us=310_000, end_us=450_000)
    later = replace(document, timing=Timing(start_us=300_000, end_us=460_000, wait=waited))
    moved = replace(page, waterfall=replace(page.waterfall, requests=(later, *others)), document=later.number)
    card = next(card for card in cards_of(moved) if card.name == "First byte")
    assert (card.value, card.note) == ("450 ms", "300 ms of it before its document was asked for")


def test_what_a_page_did_not_show_is_a_dash() -> None:
    cards = {card.name: card for card in cards_of(page_with(Vitals()))}
    assert (cards["First paint"].value, cards["First paint"].note) == ("\N{EN DASH}", "not seen")
    assert cards["Layout shift"].value == "\N{EN DASH}"


def test_the_cards_of_a_probe_count_round_trips() -> None:
    cards = {card.name: card for card in cards_of(measurements.probe())}
    assert (cards["TLS"].value, cards["TLS"].note) == ("65 ms", "1 round trip")
    assert cards["Connect (TCP)"].note == "round trip 30 ms"
    assert (cards["First byte"].value, cards["First byte"].note) == (
        "311 ms",
        "89 ms of it before its document was asked for",
    )
    assert cards_of(ProbeMeasurement()) == ()


def test_a_pair_is_told_by_its_two_legs_and_not_judged_alone() -> None:
    verdict = measured_verdict(build_pair())
    assert (verdict.level, verdict.title) == ("info", "CDN 30 ms, Origin 122 ms")
    assert [(card.name, card.note) for card in cards_of(build_pair())] == [
        ("CDN, cold", "cache: hit"),
        ("Origin, cold", ""),
        ("Origin, connection reused", ""),
        ("CDN, connection reused", "cache: hit"),
    ]
    assert measured_verdict(PairMeasurement()).title == "Nothing was measured"


def test_a_test_of_the_visitor_is_told_as_nobodys_fault() -> None:
    reason = failure(FailureKind.PAGE_CHALLENGE, "Cloudflare (cf-mitigated: challenge)")
    verdict = failed_verdict(reason, None)
    assert verdict.level == "warn"
    assert "It says nothing of what people are shown" in verdict.text
    assert "fault" not in verdict.text
