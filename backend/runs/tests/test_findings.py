"""What a diagnosis leaves in the tables."""

from dataclasses import replace

import pytest
from pytest_django import DjangoAssertNumQueries

from backend.runs.documents import unpack
from backend.runs.ingest import ingest
from backend.runs.models import Finding, PendingRun, Run, RunDocument
from backend.runs.tests.factories import NOW, Fleet, make_fleet, make_monitors, make_pending
from backend.runs.tests.results import NO_HTTP3, OVERFLOW, PACED, diagnosed, line_of, page, probe, result_of
from workers.measurement.evidence import Depth
from workers.measurement.finding import Confidence, Diagnosis, FindingId, NotJudged, NotJudgedReason, Severity
from workers.measurement.finding import Finding as Cause
from workers.measurement.messages import Kind, Measured, PageMeasurement, ReceiptStatus

pytestmark = pytest.mark.django_db


@pytest.fixture
def fleet() -> Fleet:
    return make_fleet("eu")


@pytest.fixture
def pending(fleet: Fleet) -> PendingRun:
    return make_pending(fleet, make_monitors(fleet)[0])


def _stored(fleet: Fleet, pending: PendingRun, outcome: Measured) -> list[tuple[object, ...]]:
    """Stores a result; the rows of its findings."""
    assert ingest(fleet.region, [line_of(pending, outcome)], now=NOW) == [ReceiptStatus.STORED]
    columns = ("position", "finding", "severity", "confidence", "saving_us", "not_judged")
    return list(Finding.objects.order_by("position").values_list(*columns))


def test_a_deep_run_keeps_what_it_found_and_what_it_could_not_judge(fleet: Fleet, pending: PendingRun) -> None:
    assert _stored(fleet, pending, diagnosed(OVERFLOW, NO_HTTP3, not_judged=(PACED,))) == [
        (1, "tls.record_overflow", "high", "high", 380_000, None),
        (2, "http.h3", "info", "high", None, None),
        (3, "tcp.iw_small", None, None, None, "paced"),
    ]
    row = Finding.objects.first()
    assert row is not None
    assert (row.run_id, row.monitor_id, row.region_id) == (pending.run_id, pending.monitor_id, pending.region_id)
    assert Run.objects.get().depth == "deep"


def test_a_light_run_keeps_what_is_more_than_information(fleet: Fleet, pending: PendingRun) -> None:
    outcome = diagnosed(OVERFLOW, NO_HTTP3, depth=Depth.LIGHT, not_judged=(PACED,))
    assert [row[1] for row in _stored(fleet, pending, outcome)] == ["tls.record_overflow"]
    assert Run.objects.get().depth == "light"


def test_the_evidence_travels_in_the_document(fleet: Fleet, pending: PendingRun) -> None:
    outcome = diagnosed(OVERFLOW)
    _stored(fleet, pending, outcome)
    assert unpack(bytes(RunDocument.objects.get().document)) == result_of(pending, outcome)


def test_a_run_without_evidence_has_no_depth(fleet: Fleet, pending: PendingRun) -> None:
    assert _stored(fleet, pending, probe()) == []
    assert Run.objects.get().depth is None


def test_a_cause_that_an_agent_knows_and_we_do_not_is_kept_by_its_name(fleet: Fleet, pending: PendingRun) -> None:
    line = line_of(pending, diagnosed(OVERFLOW)).replace(b"tls.record_overflow", b"tls.something_new")
    assert ingest(fleet.region, [line], now=NOW) == [ReceiptStatus.STORED]
    assert Finding.objects.get().finding == "tls.something_new"


def test_an_agent_cannot_fill_the_table(fleet: Fleet, pending: PendingRun) -> None:
    assert len(_stored(fleet, pending, diagnosed(*[OVERFLOW] * 300))) == 100


def test_runs_without_findings_take_no_statement_for_them(
    fleet: Fleet, pending: PendingRun, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    line = line_of(pending, diagnosed(NO_HTTP3, depth=Depth.LIGHT))
    with django_assert_num_queries(6) as captured:
        ingest(fleet.region, [line], now=NOW)
    assert not any("runs_finding" in query["sql"] for query in captured)


BLOCKED = Cause(
    id=FindingId.PAGE_THIRD_PARTY_BLOCKING,
    severity=Severity.HIGH,
    confidence=Confidence.MEDIUM,
    saving_us=310_000,
    host="widget.example.net",
)
LATE = NotJudged(id=FindingId.PAGE_LCP_LATE, reason=NotJudgedReason.PAINT_ELSEWHERE)


def test_a_page_keeps_what_was_found_and_what_could_not_be_judged_and_counts_as_seen_whole(fleet: Fleet) -> None:
    monitor = make_monitors(fleet, kind=Kind.PAGE)[0]
    seen = page().measurement
    assert isinstance(seen, PageMeasurement)
    outcome = Measured(measurement=replace(seen, diagnosis=Diagnosis(findings=(BLOCKED,), not_judged=(LATE,))))
    assert _stored(fleet, make_pending(fleet, monitor), outcome) == [
        (1, "page.third_party_blocking", "high", "medium", 310_000, None),
        (2, "page.lcp_late", None, None, None, "paint_elsewhere"),
    ]
    assert Finding.objects.filter(host="widget.example.net").count() == 1
    assert Run.objects.get().depth == "deep"


def test_a_page_that_nobody_judged_leaves_no_row(fleet: Fleet) -> None:
    monitor = make_monitors(fleet, kind=Kind.PAGE)[0]
    assert _stored(fleet, make_pending(fleet, monitor), page()) == []
    assert Run.objects.get().depth is None
