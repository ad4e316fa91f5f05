from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from backend.alerts.models import Incident
from backend.fleet.models import Agent, Region
from backend.fleet.queries import AgentState, Health, RegionState
from backend.instants import to_us
from backend.runs.queries import LastRun, MonitorOverview, NewestRun, SiteOverview
from backend.sites.models import Monitor, Site
from backend.web.overview import Overview, overview_of

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
EU, US = Region(pk=1, code="eu", name="Frankfurt"), Region(pk=2, code="us", name="Virginia")


def state(region: Region, health: Health = Health.ONLINE) -> RegionState:
    agent = Agent(name="box", last_seen_at=NOW, clock_skew_us=0)
    return RegionState(region=region, agents=(AgentState(agent=agent, health=health),))


def run(
    outcome: str = "measured", *, seconds_ago: int = 0, ttfb_us: int | None = 84_000, lcp_us: int | None = None
) -> NewestRun:
    came_us = to_us(NOW - timedelta(seconds=seconds_ago))
    return NewestRun(
        run_id=uuid4(), received_us=came_us, outcome=outcome, failure_blame=None, ttfb_us=ttfb_us, lcp_us=lcp_us
    )


def our_fault() -> NewestRun:
    """The agent stood still, say, or its browser could not be used."""
    return run("failed")._replace(failure_blame="monitor")


def site(*runs: NewestRun | None, name: str = "Shop", paused: bool = False) -> SiteOverview:
    """A site with a probe whose last runs in Frankfurt and Virginia are these."""
    monitor = Monitor(kind="probe", interval_s=60, paused=paused)
    last = tuple(LastRun(region=region, run=run) for region, run in zip((EU, US), runs, strict=False))
    return SiteOverview(site=Site(name=name), monitors=(MonitorOverview(monitor=monitor, last=last),))


def overview(*sites: SiteOverview, eu: Health = Health.ONLINE) -> Overview:
    return overview_of(sites, [state(EU, eu), state(US)], now=NOW)


def test_all_measured_is_healthy() -> None:
    seen = overview(site(run(), run(seconds_ago=5)))
    assert (seen.rows[0].health.text, seen.rows[0].health.mark, seen.healthy) == ("Healthy", "✓", 1)
    assert seen.rows[0].last_run_at == NOW
    assert seen.verdict.text == "Nothing fails, and no alert is open"


@pytest.mark.parametrize(
    ("runs", "word"),
    [
        ((run("failed"), run()), "Failing in Frankfurt"),
        ((run("failed"), run("failed")), "Failing everywhere"),
        ((our_fault(), run()), "Partly measured"),
        ((our_fault(), our_fault()), "Not measured"),
        ((our_fault(), run("failed")), "Failing in Virginia"),
        ((run("missed"), run()), "Partly measured"),
        ((run("missed"), run("missed")), "Not measured"),
        ((None, None), "First results are coming"),
        ((), "No region measures it"),
    ],
)
def test_the_last_run_in_each_region_says_how_a_site_is(runs: tuple[NewestRun | None, ...], word: str) -> None:
    assert overview(site(*runs)).rows[0].health.text == word


def test_a_site_that_no_region_measures_is_no_reason_to_say_that_nothing_is_wrong() -> None:
    seen = overview(site(run(), run()), site(name="Docs"))
    assert (seen.verdict.level, seen.verdict.text) == ("warn", "Docs: no region measures it")
    assert seen.reason == "The regions it is measured from are gone, or there are none. Choose others in its settings."
    assert [row.outlook for row in seen.rows] == [seen.reason, ""]


@pytest.mark.parametrize(("kind", "word"), [("probe", "No region probes it"), ("page", "No region loads it")])
def test_a_monitor_that_no_region_measures_is_told_beside_one_that_some_do(kind: str, word: str) -> None:
    one, orphan = site(run(), run()), MonitorOverview(monitor=Monitor(kind=kind, interval_s=60), last=())
    seen = overview(SiteOverview(site=one.site, monitors=(*one.monitors, orphan)))
    assert (seen.rows[0].health.level, seen.rows[0].health.text) == ("warn", word)


def test_where_nothing_came_yet_it_is_said_whether_anything_will() -> None:
    new, paused = overview(site(None, None)).rows[0], overview(site(None, None, paused=True)).rows[0]
    assert new.outlook == "The first results come within a minute of an agent's being online."
    assert paused.outlook == "Nothing is measured until it is resumed in its settings."


def test_what_is_paused_is_neither_healthy_nor_ill() -> None:
    row = overview(site(run("failed"), paused=True)).rows[0]
    assert (row.health.text, row.every) == ("Paused", "paused")


def test_no_region_is_said_to_fail_by_the_last_run_before_a_pause() -> None:
    one, paused = site(run("failed"), run()), site(run("failed"), run("failed"), paused=True)
    seen = overview(SiteOverview(site=one.site, monitors=(*one.monitors, *paused.monitors)), paused)
    assert [[cell.level for cell in row.cells] for row in seen.drawn(seen.rows)] == [["bad", "info"], ["info", "info"]]


def test_the_verdict_names_the_first_failing_site_and_counts_the_others() -> None:
    seen = overview(site(run("failed"), run()), site(run(), run(), name="Docs"))
    assert seen.verdict.text == "Shop: failing in Frankfurt"
    assert seen.reason == "1 of 2 sites does not fail."


def test_what_is_paused_or_new_is_not_said_not_to_fail() -> None:
    down, well, new = site(run("failed"), run()), site(run(), run(), name="Docs"), site(None, None, name="New")
    assert overview(down, well, new).reason == "1 of 2 measured sites does not fail."
    assert overview(down, new).reason == "It is the only measured site."


def test_an_open_alert_is_said_where_all_runs_are_measured() -> None:
    ill, well = site(run(), run(), name="Shop"), site(run(), run(), name="Docs")
    ill.site.pk, well.site.pk = 1, 2
    title = "Shop: First byte 328 ms in Frankfurt, over the limit of 285 ms"
    opened = [Incident(title=title, severity=severity) for severity in ("warning", "critical")]
    seen = overview_of([well, ill], [state(EU), state(US)], now=NOW, incidents={1: opened[:1]})
    assert (seen.verdict.level, seen.verdict.text, seen.healthy) == ("warn", title, 1)
    assert seen.reason == "1 of 2 sites has no open alert."
    assert [(row.site.name, row.health.text) for row in seen.rows] == [("Shop", "Alert open"), ("Docs", "Healthy")]
    worse = overview_of([ill], [state(EU)], now=NOW, incidents={1: opened})
    assert (worse.verdict.level, worse.rows[0].health.text) == ("bad", "2 alerts open")


def test_a_failing_site_is_named_before_one_with_an_alert() -> None:
    down, slow = site(run("failed"), run(), name="Docs"), site(run(), run(), name="Shop")
    down.site.pk, slow.site.pk = 1, 2
    alarms = {number: [Incident(title="Something", severity="critical")] for number in (1, 2)}
    seen = overview_of([slow, down], [state(EU), state(US)], now=NOW, incidents=alarms)
    assert seen.verdict.text == "Docs: failing in Frankfurt"


def test_what_did_not_take_place_is_no_reason_to_say_that_all_is_well() -> None:
    seen = overview(site(run(), run()), site(run("missed"), run("missed"), name="Docs"))
    assert (seen.verdict.level, seen.verdict.text) == ("warn", "Docs: not measured")
    assert [row.site.name for row in seen.rows] == ["Docs", "Shop"]


def test_the_verdict_speaks_only_of_sites_that_are_measured() -> None:
    paused, new = site(run("failed"), paused=True, name="Old"), site(None, None, name="New")
    assert overview(site(run(), run()), paused).reason.startswith(
        "The last run of every site that is not paused or new"
    )
    nothing = overview(paused, new)
    assert (nothing.verdict.level, nothing.verdict.text, nothing.quiet) == ("info", "Nothing is measured now", 2)


def test_rows_are_found_by_name_and_address_in_any_case() -> None:
    seen = overview(site(run(), name="Shop"), site(run(), name="Docs"))
    assert [[row.site.name for row in seen.of(text)] for text in ("sHo", "", "nobody")] == [
        ["Shop"],
        ["Shop", "Docs"],
        [],
    ]


def test_a_region_without_agents_is_said_before_all_is_well() -> None:
    seen = overview(site(run(), run()), eu=Health.OFFLINE)
    assert (seen.verdict.level, seen.verdict.text) == ("warn", "No agent is online in Frankfurt")
    assert seen.regions_online == 1


def unmanned(region: Region) -> RegionState:
    """A region that no agent has joined yet."""
    return RegionState(region=region, agents=())


def test_a_region_that_no_agent_has_joined_spoils_no_verdict_and_is_said_once() -> None:
    rows = [site(run("missed"), run()), site(None, run(), name="Docs")]
    seen = overview_of(rows, [unmanned(EU), state(US)], now=NOW)
    assert [row.health.text for row in seen.rows] == ["Healthy", "Healthy"]
    assert (seen.verdict.level, seen.verdict.text) == ("good", "Nothing fails, and no alert is open")
    assert seen.reason.endswith("No agent has joined Frankfurt yet: nothing is measured there.")
    assert [cell.has_agent for cell in seen.drawn(seen.rows)[0].cells] == [False, True]
    failing = overview_of([site(run("missed"), run("failed"))], [unmanned(EU), state(US)], now=NOW)
    assert failing.verdict.text == "Shop: failing in Virginia"
    assert "No agent has joined Frankfurt yet" in failing.reason


def test_a_site_that_only_regions_without_agents_measure_is_not_called_healthy() -> None:
    seen = overview_of([site(run("missed"))], [unmanned(EU), state(US)], now=NOW)
    assert (seen.rows[0].health.level, seen.rows[0].health.text) == ("warn", "No agent measures it")
    assert seen.verdict.text == "Shop: no agent measures it"


def test_without_any_agent_nothing_is_said_to_be_well() -> None:
    seen = overview_of([site(None, None)], [unmanned(EU), unmanned(US)], now=NOW)
    assert (seen.verdict.level, seen.verdict.text) == ("warn", "No agent has joined yet")
    assert "start an agent" in seen.reason


def test_a_failing_site_does_not_make_those_with_alerts_unaffected() -> None:
    down, slow, well = site(run("failed"), run(), name="Docs"), site(run(), run()), site(run(), run(), name="Blog")
    down.site.pk, slow.site.pk, well.site.pk = 1, 2, 3
    alarms = {number: [Incident(title="Something", severity="warning")] for number in (1, 2)}
    seen = overview_of([slow, down, well], [state(EU), state(US)], now=NOW, incidents=alarms)
    assert seen.reason == "2 of 3 sites do not fail; 1 of them has an open alert."


def test_a_site_of_which_nothing_has_come_for_long_is_not_called_healthy() -> None:
    old = site(run(seconds_ago=600), run(seconds_ago=700))
    seen = overview(old)
    assert (seen.rows[0].health.level, seen.rows[0].health.text) == ("warn", "No new results")
    assert seen.verdict.text == "Shop: no new results"
    assert "/healthz says which" in seen.reason
    assert overview(site(run(seconds_ago=600), run())).rows[0].health.text == "Healthy"
    assert overview(site(run("failed", seconds_ago=600), run(seconds_ago=600))).rows[0].health.level == "bad"
    assert overview(site(run(seconds_ago=400), run(seconds_ago=400))).rows[0].health.text == "Healthy"


def test_what_was_not_due_since_it_was_paused_is_not_missed() -> None:
    resumed = site(run(seconds_ago=6000), run(seconds_ago=7000))
    resumed.monitors[0].monitor.due_since = NOW - timedelta(seconds=100)
    assert overview(resumed).rows[0].health.text == "Healthy"
    resumed.monitors[0].monitor.due_since = NOW - timedelta(seconds=600)
    assert overview(resumed).rows[0].health.text == "No new results"


def test_where_no_site_is_well_none_is_counted() -> None:
    assert overview(site(run("failed"), run())).reason == "It is the only site."
    assert overview(site(run("failed"), run()), site(run("failed"), run())).reason == "Those are all 2 sites."


def test_a_failed_run_shows_no_figure_as_if_it_were_comparable() -> None:
    seen = overview(site(run("failed", ttfb_us=12), run()))
    (eu, us) = seen.drawn(seen.rows)[0].cells
    assert (eu.ttfb_us, eu.level) == (None, "bad")
    assert (us.ttfb_us, us.level) == (84_000, "info")


def test_a_region_that_sees_nothing_makes_no_site_a_failing_one() -> None:
    shop = site(run("failed"), run())
    seen = overview_of([shop], [state(EU), state(US)], now=NOW, blind={"eu"})
    assert seen.rows[0].health.text == "Partly measured"
    assert (seen.verdict.level, seen.verdict.text) == ("warn", "Nothing is seen from Frankfurt")
    assert [cell.level for cell in seen.drawn(seen.rows)[0].cells] == ["info", "info"]
