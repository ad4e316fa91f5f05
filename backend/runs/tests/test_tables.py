"""Runs as a table for spreadsheets and notebooks."""

import csv
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from backend import spreadsheets
from backend.runs import tables
from backend.runs.models import Outcome, Run, Trigger
from backend.runs.queries import Asked, RunFilter, asked_of
from backend.runs.tests.factories import NOW, Fleet, make_fleet, make_monitors
from backend.sites.models import Monitor
from backend.spreadsheets import Cell, csv_of, csv_stream
from workers.measurement.pair import PairTarget

pytestmark = pytest.mark.django_db


@pytest.fixture
def fleet() -> Fleet:
    return make_fleet("eu", "us")


@pytest.fixture
def monitor(fleet: Fleet) -> Monitor:
    return make_monitors(fleet, 1)[0]


def make_run(fleet: Fleet, monitor: Monitor, *, ago_s: float = 60, region: int = 0, **fields: Any) -> Run:
    usual = {
        "run_id": uuid4(),
        "monitor_id": monitor.pk,
        "region_id": fleet.regions[region].pk,
        "scheduled_for": NOW - timedelta(seconds=ago_s),
        "attempt": 1,
        "kind": monitor.kind,
        "trigger": Trigger.SCHEDULE,
        "outcome": Outcome.MEASURED,
        "received_at": NOW,
    }
    return Run.objects.create(**usual | fields)


def blocks_of(fleet: Fleet, **wanted: Any) -> Iterator[list[Sequence[Cell]]]:
    return tables.run_blocks(fleet.organisation, RunFilter(**wanted), asked_of=asked_of, now=NOW)


def rows_of(fleet: Fleet, **wanted: Any) -> list[dict[str, str]]:
    """As a program reads them out of the file."""
    text = csv_of(tables.COLUMNS, (row for block in blocks_of(fleet, **wanted) for row in block))
    return list(csv.DictReader(StringIO(text, newline=""), strict=True))


def test_a_measured_run_has_its_numbers_in_units_and_nothing_for_what_is_not_known(
    fleet: Fleet, monitor: Monitor
) -> None:
    run = make_run(fleet, monitor, dns_us=0, tls_us=34_005, cls=0.02, bytes=47_612, status_code=200, protocol="h2")

    (row,) = rows_of(fleet)

    assert (row["run_id"], row["site"], row["region"]) == (str(run.run_id), monitor.site.name, "eu")
    assert (row["site_id"], row["monitor_id"]) == (str(monitor.site.public_id), str(monitor.public_id))
    assert (row["dns_ms"], row["tls_ms"], row["connect_ms"]) == ("0.0", "34.005", "")
    assert (row["cls"], row["bytes"], row["status"], row["protocol"]) == ("0.02", "47612", "200", "h2")
    assert (row["outcome"], row["late"], row["contended"], row["failure_kind"]) == ("measured", "false", "", "")
    assert (row["url"], row["other_url"], row["started_at"]) == ("", "", "")


def test_instants_are_utc_wherever_their_reader_is(fleet: Fleet, monitor: Monitor) -> None:
    run = make_run(fleet, monitor, started_at=NOW - timedelta(seconds=59, milliseconds=250))

    with timezone.override("Asia/Tokyo"):
        (row,) = rows_of(fleet)

    assert row["scheduled_for"] == run.scheduled_for.isoformat()
    assert row["started_at"].endswith("+00:00")
    assert datetime.fromisoformat(row["started_at"]) == run.started_at


def test_a_run_that_brought_nothing_says_why(fleet: Fleet, monitor: Monitor) -> None:
    why: dict[str, Any] = {"failure_kind": "connect_refused", "failure_stage": "connect", "failure_blame": "target"}
    make_run(fleet, monitor, outcome=Outcome.FAILED, failure_detail="203.0.113.7,\nport 443", **why)
    make_run(fleet, monitor, ago_s=120, outcome=Outcome.MISSED, missed_reason="agent_lost", late=True)

    failed, missed = rows_of(fleet)

    assert {name: failed[name] for name in why} == why
    assert (failed["failure_detail"], failed["ttfb_ms"]) == ("203.0.113.7,\nport 443", "")
    assert (missed["outcome"], missed["missed_reason"], missed["late"]) == ("missed", "agent_lost", "true")


def test_only_probes_look_deep(fleet: Fleet) -> None:
    probe, page = make_monitors(fleet, 1)[0], make_monitors(fleet, 1, kind="page")[0]
    make_run(fleet, probe, depth="deep")
    make_run(fleet, page, depth="deep")

    assert {row["kind"]: row["depth"] for row in rows_of(fleet)} == {"probe": "deep", "page": ""}


def test_a_pair_names_both_of_its_addresses(fleet: Fleet, monitor: Monitor) -> None:
    run = make_run(fleet, monitor)
    other = PairTarget(url="https://origin.example/a.js")
    asked = {run.run_id: Asked(url="https://cdn.example/a.js", other=other)}

    (block,) = tables.run_blocks(fleet.organisation, RunFilter(), asked_of=lambda runs: asked, now=NOW)

    row = dict(zip(tables.COLUMNS, block[0], strict=True))
    assert (row["url"], row["other_url"]) == ("https://cdn.example/a.js", "https://origin.example/a.js")


def test_no_text_of_others_is_a_formula(fleet: Fleet, monitor: Monitor) -> None:
    monitor.site.name = '=HYPERLINK("https://evil.example")'
    monitor.site.save()
    make_run(fleet, monitor, failure_detail="@SUM(1)", protocol="\n=1")

    (row,) = rows_of(fleet)

    assert row["site"] == '\'=HYPERLINK("https://evil.example")'
    assert (row["failure_detail"], row["protocol"]) == ("'@SUM(1)", "'\n=1")


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5])
def test_blocks_hold_each_run_once_the_newest_first(
    fleet: Fleet, monitor: Monitor, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """Also where two regions share a slot, and a block ends between them."""
    monkeypatch.setattr(tables, "AT_ONCE", 2)
    runs = [make_run(fleet, monitor, ago_s=60 * (n // 2), region=n % 2) for n in range(count)]

    blocks = list(blocks_of(fleet))

    assert [len(block) for block in blocks] == [2] * (count // 2) + [count % 2]
    found = [row[0] for block in blocks for row in block]
    newest_first = sorted(runs, key=lambda run: (run.scheduled_for, run.run_id), reverse=True)
    assert found == [str(run.run_id) for run in newest_first]


def test_a_block_takes_the_same_few_statements_however_many_come(
    fleet: Fleet, monitor: Monitor, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    monkeypatch.setattr(tables, "AT_ONCE", 5)
    for n in range(12):
        make_run(fleet, monitor, ago_s=60 * n, config_version=1)
    blocks = blocks_of(fleet)

    for _ in range(2):
        with django_assert_num_queries(4):
            next(blocks)


def test_a_run_that_comes_in_meanwhile_is_in_no_later_block(
    fleet: Fleet, monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "AT_ONCE", 1)
    runs = [make_run(fleet, monitor, ago_s=60 * n) for n in (1, 2)]
    blocks = blocks_of(fleet)
    found = next(blocks)
    make_run(fleet, monitor, ago_s=0)

    found += [row for block in blocks for row in block]

    assert [row[0] for row in found] == [str(run.run_id) for run in runs]


def test_who_reads_slowly_holds_no_connection_and_has_the_head_once(monkeypatch: pytest.MonkeyPatch) -> None:
    given_back: list[int] = []
    asked: list[int] = []
    monkeypatch.setattr(spreadsheets, "give_back", lambda: given_back.append(len(asked)))

    def blocks() -> Iterator[list[Sequence[Cell]]]:
        for number in (1, 2, 3):
            asked.append(number)
            yield [(number, None)]

    sent = iter(csv_stream("runs", ("n", "other"), blocks()))

    assert (asked, given_back) == ([1], [1])
    assert next(sent) == b"n,other\r\n1,\r\n"
    assert asked == [1]
    assert (next(sent), next(sent), given_back) == (b"2,\r\n", b"3,\r\n", [1, 2, 3])
    assert b"".join(sent) == b""


def test_a_table_of_nothing_has_its_head() -> None:
    assert csv_stream("runs", ("n",), []).getvalue() == b"n\r\n"


def test_a_fault_before_the_first_row_is_no_table() -> None:
    def broken() -> Iterator[list[Sequence[Cell]]]:
        raise OSError("the disk")
        yield

    with pytest.raises(OSError, match="the disk"):
        csv_stream("runs", ("n",), broken())
