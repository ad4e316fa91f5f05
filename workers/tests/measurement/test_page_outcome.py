"""From a capture to the outcome of a run."""

from dataclasses import replace
from typing import Any

import pytest

from workers.measurement.captures_page import PageCapture
from workers.measurement.compute.page.outcome import KINDS, document_of, judge_page
from workers.measurement.compute.page.page import compute_page
from workers.measurement.compute.page.waiting import Waiting
from workers.measurement.failure import Blame, Failure, FailureKind, Stage
from workers.measurement.messages import Failed, Kind, Measured, RunRequest
from workers.measurement.page_options import PageOptions, Protocol
from workers.tests.builders import build_request
from workers.tests.captures import store
from workers.tests.measurement.test_cdp import sent
from workers.tests.shapes import golden


def page_request(**changes: Any) -> RunRequest:
    return build_request(kind=Kind.PAGE, **changes)


def outcome_of(capture: PageCapture, **changes: Any) -> Measured | Failed:
    return judge_page(page_request(**changes), capture, compute_page(capture), lambda _: True)


def failure_of(capture: PageCapture, **changes: Any) -> Failure:
    outcome = outcome_of(capture, **changes)
    assert isinstance(outcome, Failed)
    return outcome.failure


def kind_of(capture: PageCapture, **changes: Any) -> FailureKind:
    return failure_of(capture, **changes).kind


GOOD = store.load("six-connections")
# Its document was not even looked for at an address.
NOWHERE = golden.load("site-without-a-name")


def test_a_page_that_loaded_is_measured() -> None:
    assert isinstance(outcome_of(GOOD), Measured)


@pytest.mark.parametrize(("name", "kind"), sorted(KINDS.items()))
def test_a_net_error_of_the_document_is_a_failure_with_chromes_word_in_it(name: str, kind: FailureKind) -> None:
    outcome = outcome_of(replace(NOWHERE, net_error=name))
    assert isinstance(outcome, Failed)
    assert outcome.failure.kind is kind
    assert outcome.failure.detail.endswith(name)
    assert outcome.measurement is not None


@pytest.mark.parametrize(
    ("name", "kind", "blame"),
    [
        ("site-whose-name-server-fails", FailureKind.DNS_SERVER_FAILURE, Blame.TARGET),
        ("site-whose-name-server-is-silent", FailureKind.DNS_TIMEOUT, Blame.NETWORK),
        ("site-without-a-name", FailureKind.DNS_NOT_FOUND, Blame.TARGET),
    ],
)
def test_a_name_that_is_not_told_is_not_said_to_lead_nowhere(name: str, kind: FailureKind, blame: Blame) -> None:
    outcome = outcome_of(golden.load(name))
    assert isinstance(outcome, Failed)
    assert (outcome.failure.kind, outcome.failure.blame) == (kind, blame)


def ended(
    name: str, *, at: Stage | None = Stage.CONNECT, sent: bool = False, answered: bool = False
) -> tuple[FailureKind, Stage]:
    """What a connection is said to be that ended so when its document had come so far."""
    capture = replace(GOOD, net_error=name, load_seen=False)
    page = compute_page(capture)
    document = document_of(page.measurement)
    assert document is not None
    timing = document.timing if sent else replace(document.timing, send=None, wait=None, download=None)
    document = replace(document, timing=timing, status=document.status if answered else None)
    page = replace(page, newest=document, ended_at=at)
    outcome = judge_page(page_request(), capture, page, lambda _: True)
    assert isinstance(outcome, Failed)
    return outcome.failure.kind, outcome.failure.stage


def test_a_silence_is_told_by_how_far_the_document_had_come() -> None:
    assert ended("ERR_TIMED_OUT") == (FailureKind.CONNECT_TIMEOUT, Stage.CONNECT)
    assert ended("ERR_TIMED_OUT", at=Stage.TLS) == (FailureKind.TLS_TIMEOUT, Stage.TLS)
    assert ended("ERR_TIMED_OUT", at=None) == (FailureKind.PAGE_ERROR, Stage.BROWSER)
    assert ended("ERR_TIMED_OUT", at=Stage.TLS, sent=True) == (FailureKind.RESPONSE_TIMEOUT, Stage.WAIT)
    assert ended("ERR_HTTP2_PING_FAILED", sent=True) == (FailureKind.RESPONSE_TIMEOUT, Stage.WAIT)
    assert ended("ERR_TIMED_OUT", sent=True, answered=True) == (FailureKind.DOWNLOAD_TIMEOUT, Stage.DOWNLOAD)


def test_an_end_is_told_by_how_far_the_document_had_come() -> None:
    assert ended("ERR_CONNECTION_CLOSED", at=None) == (FailureKind.CONNECTION_RESET, Stage.WAIT)
    assert ended("ERR_CONNECTION_CLOSED", at=Stage.TLS) == (FailureKind.CONNECTION_RESET, Stage.TLS)
    assert ended("ERR_CONNECTION_CLOSED", at=Stage.TLS, sent=True) == (FailureKind.CONNECTION_RESET, Stage.WAIT)
    assert ended("ERR_CONNECTION_RESET", sent=True, answered=True) == (FailureKind.DOWNLOAD_INCOMPLETE, Stage.DOWNLOAD)


def test_a_load_that_was_given_up_is_the_pages_doing_only_where_there_was_a_page() -> None:
    begun, not_begun = (outcome_of(replace(seen, net_error="ERR_ABORTED", load_seen=False)) for seen in (GOOD, NOWHERE))
    assert isinstance(begun, Failed)
    assert isinstance(not_begun, Failed)
    assert (begun.failure.kind, begun.failure.blame) == (FailureKind.PAGE_ERROR, Blame.TARGET)
    assert (not_begun.failure.kind, not_begun.failure.blame) == (FailureKind.BROWSER_FAILED, Blame.MONITOR)


@pytest.mark.parametrize(
    "name",
    [
        "ERR_NETWORK_CHANGED",
        "ERR_INTERNET_DISCONNECTED",
        "ERR_ADDRESS_INVALID",
        "ERR_INSUFFICIENT_RESOURCES",
        "ERR_NO_BUFFER_SPACE",
        "ERR_OUT_OF_MEMORY",
    ],
)
def test_what_our_own_machine_or_network_lacks_is_not_blamed_on_the_target(name: str) -> None:
    outcome = outcome_of(replace(GOOD, net_error=name, load_seen=False))
    assert isinstance(outcome, Failed)
    assert outcome.failure.blame is Blame.MONITOR


@pytest.mark.parametrize(
    ("name", "is_ours"),
    [("ERR_NETWORK_CHANGED", True), ("ERR_NETWORK_IO_SUSPENDED", True), ("ERR_CONNECTION_RESET", False)],
)
def test_a_page_without_what_chrome_dropped_for_our_network_is_not_measured(name: str, is_ours: bool) -> None:
    page = compute_page(GOOD)
    *others, last = page.measurement.waterfall.requests
    waterfall = replace(page.measurement.waterfall, requests=(*others, replace(last, failure=name)))
    lacking = replace(page, measurement=replace(page.measurement, waterfall=waterfall))
    outcome = judge_page(page_request(), GOOD, lacking, lambda _: True)
    if not is_ours:
        assert isinstance(outcome, Measured)
        return
    assert isinstance(outcome, Failed)
    assert (outcome.failure.kind, outcome.failure.blame) == (FailureKind.BROWSER_FAILED, Blame.MONITOR)
    assert name in outcome.failure.detail


def test_an_error_without_a_word_of_ours_keeps_chromes() -> None:
    assert kind_of(replace(GOOD, net_error="ERR_SOMETHING_NEW")) is FailureKind.PAGE_ERROR
    assert kind_of(replace(GOOD, net_error="ERR_CERT_SOMETHING_NEW")) is FailureKind.CERTIFICATE_INVALID


@pytest.mark.parametrize(
    ("deaf", "protocol", "kind", "stage"),
    [
        (True, Protocol.H3, FailureKind.PROTOCOL_NOT_SPOKEN, Stage.CONNECT),
        (False, Protocol.H3, FailureKind.PAGE_ERROR, Stage.BROWSER),
        (True, None, FailureKind.PAGE_ERROR, Stage.BROWSER),
    ],
)
def test_a_server_that_says_nothing_over_quic_does_not_speak_http3_and_one_that_breaks_it_does(
    deaf: bool, protocol: Protocol | None, kind: FailureKind, stage: Stage
) -> None:
    broken = replace(GOOD, net_error="ERR_QUIC_PROTOCOL_ERROR", load_seen=False)
    page = replace(compute_page(GOOD), is_deaf_to_quic=deaf)
    outcome = judge_page(page_request(page=PageOptions(protocol=protocol)), broken, page, lambda _: True)
    assert isinstance(outcome, Failed)
    assert (outcome.failure.kind, outcome.failure.stage) == (kind, stage)


@pytest.mark.parametrize("name", ["ERR_QUIC_PROTOCOL_ERROR", "ERR_QUIC_HANDSHAKE_FAILED"])
def test_a_session_of_quic_that_fell_silent_is_told_from_one_that_broke(name: str) -> None:
    broken = replace(NOWHERE, net_error=name)
    for silent, kind in ((True, FailureKind.CONNECT_TIMEOUT), (False, FailureKind.PAGE_ERROR)):
        page = replace(compute_page(broken), fell_silent=silent)
        outcome = judge_page(page_request(), broken, page, lambda _: True)
        assert isinstance(outcome, Failed)
        assert outcome.failure.kind is kind


def test_an_unknown_authority_is_the_targets_fault_at_the_tls_stage() -> None:
    outcome = outcome_of(store.load("untrusted"))
    assert isinstance(outcome, Failed)
    assert (outcome.failure.stage, outcome.failure.blame) == (Stage.TLS, Blame.TARGET)


def test_chromes_page_in_place_of_an_empty_error_is_judged_by_its_status() -> None:
    stand_in = replace(GOOD, net_error="ERR_HTTP_RESPONSE_CODE_FAILURE", load_seen=False)
    assert kind_of(stand_in, accepted_status=(503,)) is FailureKind.STATUS_UNEXPECTED
    assert isinstance(outcome_of(stand_in, accepted_status=(200,)), Measured)


def test_a_crash_is_told_before_what_it_caused() -> None:
    assert kind_of(replace(GOOD, crashed=True, net_error="ERR_ABORTED", load_seen=False)) is FailureKind.PAGE_CRASHED


def test_a_page_that_took_too_much_memory_is_told_so() -> None:
    reason = failure_of(replace(GOOD, crashed=True, memory_limit_bytes=2048 * 2**20))
    assert (reason.kind, reason.blame) == (FailureKind.PAGE_CRASHED, Blame.TARGET)
    assert "more than 2048 MB of memory" in reason.detail


def test_a_page_is_not_blamed_for_a_crash_on_a_machine_that_ran_out_of_memory() -> None:
    reason = failure_of(replace(GOOD, crashed=True, machine_ran_out=True))
    assert (reason.kind, reason.blame) == (FailureKind.BROWSER_FAILED, Blame.MONITOR)
    assert isinstance(outcome_of(replace(GOOD, machine_ran_out=True)), Measured)


def test_a_download_is_no_page() -> None:
    assert kind_of(replace(GOOD, is_download=True, net_error="ERR_ABORTED")) is FailureKind.PAGE_IS_DOWNLOAD


def test_a_page_without_load_event_timed_out() -> None:
    assert kind_of(replace(GOOD, load_seen=False, overran=True)) is FailureKind.PAGE_TIMEOUT


@pytest.mark.parametrize(
    ("status", "share", "kind"),
    [
        pytest.param(None, 0.6, FailureKind.TLS_TIMEOUT, id="for most of the load"),
        pytest.param(None, 0.5, FailureKind.PAGE_TIMEOUT, id="for half of it"),
        pytest.param(200, 0.6, FailureKind.PAGE_TIMEOUT, id="but it was answered"),
    ],
)
def test_a_document_that_nothing_answers_is_told_by_what_it_waited_for(
    status: int | None, share: float, kind: FailureKind
) -> None:
    slow = replace(GOOD, load_seen=False, overran=True)
    page = compute_page(slow)
    watched_us = 10_000_000
    waterfall = replace(page.measurement.waterfall, watched_until_us=watched_us)
    assert page.newest is not None
    page = replace(
        page,
        measurement=replace(page.measurement, waterfall=waterfall),
        newest=replace(page.newest, status=status),
        waiting=Waiting(stage=Stage.TLS, waited_us=round(share * watched_us)),
    )
    outcome = judge_page(page_request(), slow, page, lambda _: True)
    assert isinstance(outcome, Failed)
    assert outcome.failure.kind is kind


def test_a_page_that_timed_out_names_the_first_request_that_was_open_without_its_query() -> None:
    hung = sent("never", at=4_611.0, url="https://a.test/never.png?token=secret")
    outcome = outcome_of(replace(GOOD, events=(*GOOD.events, hung), load_seen=False, overran=True))
    assert isinstance(outcome, Failed)
    assert outcome.failure.detail.endswith("1 of 25 requests were still open, a.test/never.png")


def test_a_page_that_loaded_but_never_rested_is_measured() -> None:
    assert isinstance(outcome_of(replace(GOOD, overran=True, went_quiet=False)), Measured)


def test_the_status_of_the_final_document_counts() -> None:
    assert kind_of(GOOD, accepted_status=(404,)) is FailureKind.STATUS_UNEXPECTED
    assert isinstance(outcome_of(GOOD, accepted_status=(200, 404)), Measured)


def test_text_that_must_be_there_fails_when_it_was_not_found_or_not_looked_for() -> None:
    assert kind_of(replace(GOOD, text_found=False), body_text="x") is FailureKind.TEXT_MISSING
    assert kind_of(replace(GOOD, text_found=None), body_text="x") is FailureKind.TEXT_MISSING
    assert isinstance(outcome_of(replace(GOOD, text_found=True), body_text="x"), Measured)


def test_nothing_is_kept_of_a_page_that_led_to_a_forbidden_address() -> None:
    outcome = judge_page(page_request(), GOOD, compute_page(GOOD), lambda address: address != "::1")
    assert isinstance(outcome, Failed)
    assert outcome.failure.kind is FailureKind.BLOCKED_DESTINATION
    assert "::1" not in outcome.failure.detail
    assert outcome.measurement is None
