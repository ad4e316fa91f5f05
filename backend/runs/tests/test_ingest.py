import json
from datetime import timedelta

import pytest
from pytest_django import DjangoAssertNumQueries

from backend.runs.documents import unpack
from backend.runs.ingest import ingest
from backend.runs.models import Connection, DeadLetter, PendingRun, Run, RunDocument
from backend.runs.tests.factories import NOW, Fleet, give_up, make_fleet, make_monitors, make_pending, make_region
from backend.runs.tests.results import FAILED, connection, line_of, probe, result_of
from workers.measurement.messages import Kind, Measured, Missed, MissedReason, ProbeMeasurement, ReceiptStatus
from workers.measurement.wire import encode

pytestmark = pytest.mark.django_db


@pytest.fixture
def fleet() -> Fleet:
    return make_fleet("eu")


@pytest.fixture
def pending(fleet: Fleet) -> PendingRun:
    return make_pending(fleet, make_monitors(fleet)[0])


def test_a_measured_probe_becomes_a_run_its_connections_and_its_document(fleet: Fleet, pending: PendingRun) -> None:
    assert ingest(fleet.region, [line_of(pending)], now=NOW) == [ReceiptStatus.STORED]
    run = Run.objects.get()
    assert (run.run_id, run.scheduled_for, run.attempt) == (pending.run_id, pending.scheduled_for, 1)
    assert (run.outcome, run.late, run.trigger, run.clock, run.received_at) == (
        "measured",
        False,
        "schedule",
        "kernel",
        NOW,
    )
    assert (run.dns_us, run.connect_us, run.tls_us, run.send_us) == (8_000, 20_000, 34_000, 100)
    assert (run.wait_us, run.download_us, run.ttfb_us, run.total_us) == (40_000, 7_900, 102_100, 110_000)
    assert (run.status_code, run.protocol, run.rtt_us, run.tls_round_trips) == (200, "h2", 19_800, 1)
    assert (run.requests, run.connections, run.bytes, run.fcp_us) == (1, 1, 47_612, None)
    stored = Connection.objects.get()
    assert (stored.host, stored.address, stored.tls_us, stored.certificate_issuer) == (
        "shop.example",
        "203.0.113.7",
        34_000,
        "CN=Example CA",
    )
    assert unpack(bytes(RunDocument.objects.get().document)) == result_of(pending)
    assert not PendingRun.objects.exists()


def test_a_page_stores_its_paints_and_the_phases_of_its_document(fleet: Fleet) -> None:
    pending = make_pending(fleet, make_monitors(fleet, kind="page")[0], has_screenshot=True)
    assert ingest(fleet.region, [line_of(pending)], now=NOW) == [ReceiptStatus.STORED]
    run = Run.objects.get()
    assert (run.fcp_us, run.lcp_us, run.cls, run.load_us, run.fully_loaded_us) == (
        300_000,
        420_000,
        0.02,
        500_000,
        700_000,
    )
    assert (run.start_render_us, run.speed_index_us, run.visually_complete_us, run.tbt_us) == (
        250_000,
        340_500,
        600_000,
        60_000,
    )
    assert (run.tls_us, run.requests, run.connections, run.bytes, run.browser_version) == (34_000, 20, 3, 20_000, "156")
    assert (run.has_screenshot, run.has_film) == (True, False)
    assert Connection.objects.count() == 3


def test_a_failure_keeps_its_stage_kind_blame_and_sentence(fleet: Fleet, pending: PendingRun) -> None:
    ingest(fleet.region, [line_of(pending, FAILED)], now=NOW)
    run = Run.objects.get()
    assert (run.outcome, run.failure_stage, run.failure_kind, run.failure_blame) == (
        "failed",
        "connect",
        "connect_refused",
        "target",
    )
    assert run.failure_detail == "The server refused the connection: 203.0.113.7"
    assert not RunDocument.objects.exists()


def test_a_run_that_the_agent_found_expired_is_missed_with_its_reason(fleet: Fleet, pending: PendingRun) -> None:
    ingest(fleet.region, [line_of(pending, Missed(reason=MissedReason.LATE))], now=NOW)
    run = Run.objects.get()
    assert (run.outcome, run.missed_reason) == ("missed", "late")


def test_a_result_that_comes_again_is_a_duplicate_and_changes_nothing(fleet: Fleet, pending: PendingRun) -> None:
    line = line_of(pending)
    assert ingest(fleet.region, [line, line], now=NOW) == [ReceiptStatus.STORED, ReceiptStatus.DUPLICATE]
    assert ingest(fleet.region, [line], now=NOW + timedelta(hours=1)) == [ReceiptStatus.DUPLICATE]
    assert Run.objects.get().received_at == NOW


def test_a_result_after_its_slot_was_given_up_takes_the_place_of_the_missed_row(
    fleet: Fleet, pending: PendingRun
) -> None:
    line = line_of(pending)
    give_up(pending)
    assert ingest(fleet.region, [line], now=NOW) == [ReceiptStatus.STORED]
    run = Run.objects.get()
    assert (run.outcome, run.late, run.ttfb_us) == ("measured", True, 102_100)
    assert RunDocument.objects.count() == Connection.objects.count() == 1
    assert ingest(fleet.region, [line], now=NOW) == [ReceiptStatus.DUPLICATE]


def test_the_first_attempts_result_is_stored_late_beside_the_second_attempt(fleet: Fleet, pending: PendingRun) -> None:
    first = line_of(pending)
    PendingRun.objects.filter(pk=pending.pk).delete()
    second = make_pending(fleet, pending.monitor, attempt=2)
    assert ingest(fleet.region, [first], now=NOW) == [ReceiptStatus.STORED]
    assert ingest(fleet.region, [line_of(second)], now=NOW) == [ReceiptStatus.STORED]
    assert sorted(Run.objects.values_list("attempt", "late")) == [(1, True), (2, False)]


def test_a_late_missed_says_nothing_new(fleet: Fleet, pending: PendingRun) -> None:
    line = line_of(pending, Missed(reason=MissedReason.LATE))
    give_up(pending)
    assert ingest(fleet.region, [line], now=NOW) == [ReceiptStatus.DUPLICATE]
    assert Run.objects.get().missed_reason == "agent_lost"


def test_a_region_cannot_write_the_results_of_another(fleet: Fleet, pending: PendingRun) -> None:
    stranger = make_region("us")
    assert ingest(stranger, [line_of(pending)], now=NOW) == [ReceiptStatus.REFUSED]
    assert ingest(stranger, [line_of(pending, region="us")], now=NOW) == [ReceiptStatus.REFUSED]
    assert PendingRun.objects.filter(pk=pending.pk).exists()
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    "changes",
    [{"attempt": 2}, {"attempt": 0}, {"scheduled_for": NOW - timedelta(days=900)}, {"monitor_id": "0" * 32}],
    ids=["attempt not begun", "attempt zero", "slot of another age", "unknown monitor"],
)
def test_a_result_nobody_asked_for_is_refused(fleet: Fleet, pending: PendingRun, changes: dict[str, object]) -> None:
    asked = result_of(pending)
    PendingRun.objects.filter(pk=pending.pk).delete()
    body = json.loads(encode(asked))
    body["body"] |= json.loads(json.dumps(changes, default=lambda at: at.isoformat()))
    assert ingest(fleet.region, [json.dumps(body).encode()], now=NOW) == [ReceiptStatus.REFUSED]
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    "line",
    [b"", b"{", b"\xff\xfe", b'{"kind":"run_result","version":9,"body":{}}', b"[" * 100_000, b"null"],
    ids=["empty", "cut", "no UTF-8", "later version", "deeply nested", "null"],
)
def test_a_line_that_cannot_be_read_becomes_a_dead_letter_and_spoils_no_other(
    fleet: Fleet, pending: PendingRun, line: bytes
) -> None:
    statuses = ingest(fleet.region, [line, line_of(pending)], now=NOW)
    assert statuses == [ReceiptStatus.UNREADABLE, ReceiptStatus.STORED]
    letter = DeadLetter.objects.get()
    assert letter.region == fleet.region
    assert letter.reason
    assert bytes(letter.body) == line[: DeadLetter.MAX_BODY_BYTES]


def test_a_region_fills_neither_disk_nor_log_with_what_nobody_can_read(
    fleet: Fleet, pending: PendingRun, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("backend.runs.ingest.LETTERS_A_DAY", 2)
    statuses = ingest(fleet.region, [b"nonsense"] * 5 + [line_of(pending)], now=NOW)
    assert statuses == [ReceiptStatus.UNREADABLE] * 5 + [ReceiptStatus.STORED]
    assert (DeadLetter.objects.count(), len(caplog.records)) == (2, 2)
    ingest(make_region("us"), [b"nonsense"], now=NOW)
    ingest(fleet.region, [b"nonsense"], now=NOW + timedelta(days=1))
    assert DeadLetter.objects.count() == 4


def test_a_value_that_a_column_cannot_hold_becomes_a_dead_letter_and_spoils_no_other(fleet: Fleet) -> None:
    good, bad, twice = (make_pending(fleet, monitor) for monitor in make_monitors(fleet, 3))
    same_number = Measured(measurement=ProbeMeasurement(connections=(connection(1), connection(1))))
    lines = [line_of(bad, duration_us=10**30), line_of(twice, same_number), line_of(good)]
    statuses = ingest(fleet.region, lines, now=NOW)
    assert statuses == [ReceiptStatus.UNREADABLE, ReceiptStatus.UNREADABLE, ReceiptStatus.STORED]
    assert Run.objects.get().run_id == good.run_id
    assert DeadLetter.objects.count() == 2


def test_a_probe_that_says_it_is_a_page_is_unreadable(fleet: Fleet, pending: PendingRun) -> None:
    assert ingest(fleet.region, [line_of(pending, kind=Kind.PAGE)], now=NOW) == [ReceiptStatus.UNREADABLE]


def test_hostile_text_is_cut_and_stripped_of_nul(fleet: Fleet, pending: PendingRun) -> None:
    line = line_of(pending, agent="a\0b" + "x" * 5_000)
    assert ingest(fleet.region, [line], now=NOW) == [ReceiptStatus.STORED]
    agent = Run.objects.get().agent
    assert agent is not None
    assert agent.startswith("a\N{REPLACEMENT CHARACTER}bx")
    assert len(agent) == 1_000


def test_a_slot_that_was_claimed_twice_after_the_clock_was_set_back_is_stored_once(
    fleet: Fleet, pending: PendingRun
) -> None:
    line = line_of(pending)
    ingest(fleet.region, [line], now=NOW)
    make_pending(fleet, pending.monitor)
    assert ingest(fleet.region, [line], now=NOW) == [ReceiptStatus.DUPLICATE]
    assert Run.objects.count() == 1
    assert not PendingRun.objects.exists()


def test_a_batch_costs_the_same_statements_however_long_it_is(
    fleet: Fleet, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    runs = [make_pending(fleet, monitor) for monitor in make_monitors(fleet, 30)]
    lines = [line_of(run, probe()) for run in runs]
    with django_assert_num_queries(6):  # a savepoint around one DELETE and three COPY
        assert set(ingest(fleet.region, lines, now=NOW)) == {ReceiptStatus.STORED}
