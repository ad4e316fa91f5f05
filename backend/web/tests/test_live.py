from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import pytest
import time_machine
from django.utils import timezone

from backend.fleet.models import Agent, Region
from backend.fleet.queries import AgentState, Health, RegionState
from backend.runs.models import Run
from backend.runs.queries import RunProgress, RunState
from backend.web.live import Facts, Live, live
from workers.measurement.messages import Early
from workers.measurement.timing import Phases

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
RUN_ID = UUID("00000000-0000-4000-8000-000000000001")
QUEUED = RunProgress(
    asked_id=RUN_ID,
    run_id=RUN_ID,
    kind="page",
    region="eu",
    region_name="Frankfurt",
    state=RunState.QUEUED,
    requests=None,
    reason=None,
    since=NOW,
    queue_place=3,
    about_s=8,
)


def show(*runs: RunProgress, ended: Run | None = None, health: Health = Health.ONLINE) -> Live:
    agent = AgentState(agent=Agent(last_seen_at=NOW - timedelta(minutes=5)), health=health)
    region = RegionState(region=Region(code="eu", name="Frankfurt"), agents=(agent,))
    return live(
        Facts(
            progress=runs,
            ended={RUN_ID: ended} if ended else {},
            regions={"eu": region},
            urls={run.run_id: f"/runs/{run.run_id}/" for run in runs},
            now=NOW,
        )
    )


@pytest.mark.parametrize(
    ("change", "text", "mark"),
    [
        ({}, "Page load: queued, place 3, about 8 s", "todo"),
        ({"queue_place": None, "about_s": None}, "Page load: queued with its agent", "todo"),
        ({"state": RunState.STARTING}, "Page load: browser starting", "now"),
        ({"state": RunState.STARTING, "kind": "probe"}, "Probe: starting", "now"),
        ({"state": RunState.CONNECTING, "kind": "probe"}, "Probe: connecting", "now"),
        ({"state": RunState.LOADING, "requests": 14}, "Page load: loading, 14 requests so far", "now"),
        ({"state": RunState.LOADING, "requests": 1}, "Page load: loading, 1 request so far", "now"),
        ({"state": RunState.LOADING}, "Page load: loading", "now"),
        ({"state": RunState.COMPUTING}, "Page load: computing", "now"),
        (
            {"state": RunState.FAILED, "reason": "The server refused."},
            "Page load: failed. The server refused.",
            "failed",
        ),
    ],
)
def test_each_state_is_said_in_words(change: dict[str, Any], text: str, mark: str) -> None:
    (run,) = show(replace(QUEUED, **change)).runs
    assert (run.text, run.mark) == (text, mark)


def test_a_missed_run_says_why_and_that_the_site_is_not_to_blame() -> None:
    (run,) = show(replace(QUEUED, state=RunState.MISSED, reason="no_agent")).runs
    assert "No agent of this region was running" in run.text
    assert "nothing about the site" in run.text


@time_machine.travel(NOW, tick=False)
def test_waiting_for_a_region_that_is_gone_is_said() -> None:
    (run,) = show(QUEUED, health=Health.OFFLINE).runs
    assert run.text == "Page load: queued, but no agent of Frankfurt is online (last seen 20 Nov 11:55)"


@time_machine.travel(NOW, tick=False)
def test_when_a_region_was_last_seen_is_said_in_the_readers_own_time() -> None:
    with timezone.override(ZoneInfo("Asia/Tokyo")):
        (run,) = show(QUEUED, health=Health.OFFLINE).runs
    assert run.text.endswith("(last seen 20 Nov 20:55)")


def test_a_minute_without_news_is_said() -> None:
    (run,) = show(replace(QUEUED, since=NOW - timedelta(seconds=75))).runs
    assert run.text.endswith("no answer for 75 s")


def test_the_phases_of_a_finished_probe_are_shown() -> None:
    ended = Run(kind="probe", ttfb_us=84_000, dns_us=3_000, connect_us=12_000, tls_us=30_000, wait_us=39_000)
    shown = show(replace(QUEUED, kind="probe", state=RunState.DONE), ended=ended)
    assert shown.runs[0].text == (
        "Probe: first byte after 84 ms: DNS 3.0 ms · connect 12 ms · TLS 30 ms · waiting 39 ms"
    )
    assert shown.first_result == shown.runs[0].url == f"/runs/{RUN_ID}/"


EARLY = Phases(
    dns_us=3_000, connect_us=12_000, tls_us=30_000, send_us=100, wait_us=39_000, download_us=900, ttfb_us=84_100,
    total_us=85_000,
)  # fmt: skip
DEEPER = replace(QUEUED, kind="probe", state=RunState.LOADING, early=Early(phases=EARLY))


@pytest.mark.parametrize("state", [RunState.LOADING, RunState.COMPUTING])
def test_the_phases_of_a_probe_are_shown_while_it_looks_deeper(state: RunState) -> None:
    shown = show(replace(DEEPER, state=state))
    assert shown.runs[0].text == (
        "Probe: first byte after 84 ms: DNS 3.0 ms · connect 12 ms · TLS 30 ms · waiting 39 ms; looking deeper"
    )
    assert (shown.runs[0].mark, shown.first_result) == ("now", None)
    assert shown.phases_of == f"{RUN_ID}:3000:12000:30000:100:39000:900:84100:85000"


def test_a_probe_that_looks_deeper_says_how_far_it_is() -> None:
    counted = replace(DEEPER, early=Early(phases=EARLY, connections=5, planned=16))
    assert show(counted).runs[0].text.endswith("waiting 39 ms; looking deeper, 5 of about 16 connections")
    assert show(counted).phases_of == show(DEEPER).phases_of, "nothing is drawn anew for a count"
    without = replace(DEEPER, early=Early(connections=5, planned=16))
    assert show(without).runs[0].text == "Probe: looking deeper, 5 of about 16 connections"
    assert show(without).phases_of is None


def test_phases_are_drawn_anew_when_their_probe_has_ended_or_tells_others() -> None:
    others = replace(DEEPER, early=Early(phases=replace(EARLY, wait_us=39_001, ttfb_us=84_101, total_us=85_001)))
    ended = replace(DEEPER, state=RunState.DONE, early=None)
    waiting = replace(QUEUED, run_id=uuid4())
    told = [show(run, waiting).phases_of for run in (DEEPER, others, ended)]
    assert len(set(told)) == 3
    assert show(DEEPER, waiting).phases_of == told[0]


def test_the_page_draws_what_was_measured_before_what_may_yet_fail() -> None:
    done, failed = (
        replace(QUEUED, kind="probe", run_id=uuid4(), state=one) for one in (RunState.DONE, RunState.FAILED)
    )
    assert show(DEEPER, done).phases_of == str(done.run_id)
    assert show(failed, DEEPER).phases_of == show(DEEPER).phases_of
    assert show(failed, QUEUED).phases_of is None


def test_the_paints_of_a_finished_page_are_shown() -> None:
    ended = Run(kind="page", ttfb_us=84_000, fcp_us=310_000, lcp_us=1_420_000, requests=61)
    (run,) = show(replace(QUEUED, state=RunState.DONE), ended=ended).runs
    assert run.text == "Page load: largest paint 1.42 s · first paint 310 ms · first byte 84 ms · 61 requests"


def test_the_summary_counts_and_guesses() -> None:
    done = replace(QUEUED, run_id=uuid4(), state=RunState.DONE)
    running = show(done, QUEUED)
    assert (running.state, running.summary) == ("running", "1 of 2 runs finished, about 8 s left")
    assert show(done).state == "done"
    assert show(done).summary == "1 of 1 run finished"


@pytest.mark.parametrize(("about_s", "health"), [(None, Health.ONLINE), (8, Health.OFFLINE), (8, Health.NEVER)])
def test_no_time_is_told_where_nobody_knows_when_the_last_one_ends(about_s: int | None, health: Health) -> None:
    known, unknown = replace(QUEUED, region="us"), replace(QUEUED, run_id=uuid4(), about_s=about_s)
    assert show(known, unknown, health=health).summary == "0 of 2 runs finished"
    assert show(known, replace(unknown, state=RunState.DONE), health=health).summary.endswith(", about 8 s left")


def test_the_summary_does_not_hide_that_nothing_was_measured() -> None:
    failed = replace(QUEUED, run_id=uuid4(), state=RunState.FAILED, reason="The server refused.")
    assert show(failed).summary == "1 of 1 run finished, 1 without a result"


def test_runs_stand_under_their_regions() -> None:
    other = replace(QUEUED, run_id=uuid4(), region="us", region_name="Virginia")
    assert [(name, len(runs)) for name, runs in show(QUEUED, other, replace(QUEUED, kind="probe")).regions] == [
        ("Frankfurt", 2),
        ("Virginia", 1),
    ]


def test_a_hostile_reason_is_made_harmless() -> None:
    (run,) = show(replace(QUEUED, state=RunState.FAILED, reason="\x1b[31m" + "x" * 5000)).runs
    assert "\x1b" not in run.text
    assert len(run.text) < 400
