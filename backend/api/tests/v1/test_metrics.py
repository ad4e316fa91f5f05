"""What Prometheus scrapes: the newest values of every monitor, under names that dashboards know."""

from collections.abc import Iterator
from datetime import timedelta
from urllib.parse import urlsplit
from uuid import UUID

import pytest
import time_machine
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import DjangoAssertNumQueries

from backend.alerts.models import Outage
from backend.api.tests.v1.calling import Program, make_token
from backend.api.tests.v1.world import World
from backend.cast import Member
from backend.compare.models import Pairing, StoredVerdict
from backend.compare.pairings import judged_every
from backend.runs.models import Connection, Run
from backend.runs.queries import latest_runs
from backend.runs.tests.factories import NOW
from backend.runs.tests.results import FAILED
from backend.sites.models import Monitor, Site, SiteStatus
from workers.diagnosis.pair.samples import Verdict
from workers.measurement.failure import FailureKind, failure
from workers.measurement.messages import Failed, Missed, MissedReason

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def at_the_time_of_its_runs() -> Iterator[None]:
    """However late in the whole run of tests it is: what is older than two intervals is not told."""
    with time_machine.travel(NOW):
        yield


def scraped(program: Program) -> dict[str, dict[str, float]]:
    """Each sample's value by its metric, and by kind of monitor and phase."""
    answer = program.get("metrics")
    assert answer.headers["Content-Type"].startswith("text/plain")
    found: dict[str, dict[str, float]] = {}
    for family in text_string_to_metric_families(answer.content.decode()):
        for sample in family.samples:
            labels = sample.labels
            if "kind" not in labels:
                continue
            found.setdefault(sample.name, {})[f"{labels['kind']} {labels.get('phase', '')}".strip()] = sample.value
    return found


def test_the_newest_run_of_each_monitor_is_told_in_seconds(program: Program, world: World) -> None:
    world.ended("probe", ago_s=90)
    seen = scraped(program)
    assert seen["probe_success"] == {"page": 1, "probe": 1}
    phases = {name: value for name, value in seen["probe_http_duration_seconds"].items() if name.startswith("probe")}
    assert phases == {
        "probe resolve": 0.008,
        "probe connect": 0.02,
        "probe tls": 0.034,
        "probe processing": 0.04,
        "probe transfer": 0.0079,
    }
    assert (seen["firstbyte_ttfb_seconds"]["probe"], seen["probe_duration_seconds"]["probe"]) == (0.1021, 0.11)
    assert (seen["probe_http_status_code"]["probe"], seen["firstbyte_rtt_seconds"]["probe"]) == (200, 0.0198)
    assert seen["firstbyte_run_timestamp_seconds"]["probe"] == (NOW - timedelta(seconds=90)).timestamp()


def test_of_certificates_the_one_of_its_own_host_is_told_that_ends_first(program: Program, world: World) -> None:
    run, host = world.ended("probe", ago_s=90), urlsplit(world.monitor("probe").url).hostname or ""
    Connection.objects.filter(run_id=run.run_id).delete()
    for number, (name, days) in enumerate([(host, 30), (host, 20), ("cdn.example", 1), (host, None)], 1):
        Connection.objects.create(
            run_id=run.run_id,
            scheduled_for=run.scheduled_for,
            number=number,
            monitor_id=run.monitor_id,
            region_id=run.region_id,
            host=name,
            port=443,
            certificate_not_after=None if days is None else NOW + timedelta(days=days),
        )
    assert scraped(program)["probe_ssl_earliest_cert_expiry"]["probe"] == (NOW + timedelta(days=20)).timestamp()


def test_what_was_not_measured_has_no_sample(program: Program, world: World) -> None:
    world.ended("probe", FAILED, ago_s=60)
    seen = scraped(program)
    assert seen["probe_success"]["probe"] == 0
    assert "probe" not in seen["firstbyte_ttfb_seconds"]
    assert not [name for name in seen["probe_http_duration_seconds"] if name.startswith("probe")]
    assert "probe" not in seen["firstbyte_lcp_seconds"]


def test_a_site_is_not_told_to_fail_by_our_own_faults(program: Program, world: World) -> None:
    world.ended("probe", ago_s=60)
    world.ended("probe", Failed(failure=failure(FailureKind.BROWSER_FAILED)), ago_s=30)
    world.ended("probe", Missed(reason=MissedReason.AGENT_LOST), ago_s=20)
    seen = scraped(program)
    assert seen["probe_success"]["probe"] == 1
    assert seen["firstbyte_run_timestamp_seconds"]["probe"] == (NOW - timedelta(seconds=60)).timestamp()


def test_a_page_that_other_work_held_up_has_no_durations(program: Program, world: World) -> None:
    Run.objects.filter(kind="page").update(contended=True)
    seen = scraped(program)
    assert (seen["probe_success"]["page"], "page" in seen["firstbyte_requests"]) == (1, True)
    for name in ("firstbyte_lcp_seconds", "firstbyte_cls", "probe_duration_seconds"):
        assert "page" not in seen.get(name, {})


def test_what_a_page_measures_itself_is_told_of_what_is_followed(program: Program, world: World) -> None:
    Monitor.objects.filter(kind="page").update(user_timings=["mark:hero", "measure:basket"])
    Run.objects.filter(kind="page").update(timings={"mark:hero": 812_500, "mark:other": 1})
    told = "firstbyte_user_timing_seconds"
    answer = program.get("metrics").content.decode()
    families = {family.name: family.samples for family in text_string_to_metric_families(answer)}
    assert [(sample.labels["timing"], sample.value) for sample in families[told]] == [("mark:hero", 0.8125)]
    Run.objects.filter(kind="page").update(contended=True)
    assert told not in scraped(program)


def latest(world: World) -> list[UUID]:
    return [one.run.run_id for one in latest_runs(world.member.organisation, now=NOW) if one.run.kind == "probe"]


def test_samples_end_when_nothing_was_measured_for_two_intervals(world: World) -> None:
    """And when as much time has passed as a result may take to come."""
    Monitor.objects.filter(kind="probe").update(interval_s=60)
    old = world.ended("probe", ago_s=2 * 60 + 5 * 60)
    assert latest(world) == []
    assert latest_runs(world.member.organisation, now=NOW - timedelta(seconds=1))[0].run.run_id == old.run_id
    Monitor.objects.filter(kind="probe").update(interval_s=3600)
    assert latest(world) == [old.run_id]


def test_a_pair_which_has_two_of_everything_is_told_by_its_comparison(program: Program, world: World) -> None:
    Run.objects.filter(kind="page").update(kind="pair")
    assert scraped(program) == {}


def test_drafts_and_other_organisations_are_not_told(program: Program, world: World) -> None:
    Site.objects.update(status=SiteStatus.DRAFT)
    assert scraped(program) == {}


def of_sites(program: Program) -> dict[str, list[float]]:
    text = program.get("metrics").content.decode()
    families = text_string_to_metric_families(text)
    return {one.name: [sample.value for sample in one.samples] for one in families if "_site_" in one.name}


@pytest.mark.parametrize(
    ("states", "down", "partly"), [("", 0, 0), ("failing", 1, 0), ("degraded", 0, 1), ("degraded failing", 1, 0)]
)
def test_a_site_is_down_when_the_judge_is_sure_of_it(
    program: Program, world: World, states: str, down: int, partly: int
) -> None:
    world.ended("probe", FAILED, ago_s=60)
    Outage.objects.create(monitor=world.monitor("probe"), state="failing", began_at=NOW, ended_at=NOW)
    for kind, state in zip(("probe", "page"), states.split(), strict=False):
        Outage.objects.create(monitor=world.monitor(kind), state=state, began_at=NOW)

    assert of_sites(program) == {"firstbyte_site_down": [down], "firstbyte_site_partly_down": [partly]}


def test_of_a_site_that_nobody_measures_now_it_is_not_said_whether_it_is_down(program: Program, world: World) -> None:
    Outage.objects.create(monitor=world.monitor("probe"), state="failing", began_at=NOW)
    Run.objects.all().delete()

    assert of_sites(program) == {"firstbyte_site_down": [], "firstbyte_site_partly_down": []}


def test_a_scrape_takes_four_statements_however_much_is_measured(
    world: World, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for ago_s in (70, 130):
        world.ended("probe", ago_s=ago_s)
        with django_assert_num_queries(4):
            latest_runs(world.member.organisation, now=NOW)


def test_what_a_site_is_called_cannot_end_its_line(program: Program, world: World) -> None:
    Site.objects.update(name='a"} 1\nprobe_success{site="b\\')
    world.ended("probe", ago_s=60)
    (family,) = [
        one
        for one in text_string_to_metric_families(program.get("metrics").content.decode())
        if one.name == "probe_success"
    ]
    assert {sample.labels["site"] for sample in family.samples} == {'a"} 1\nprobe_success{site="b\\'}


def of_pairs(program: Program) -> dict[str, dict[tuple[str, str], float]]:
    """Each sample's value by its metric, and by pair and region."""
    found: dict[str, dict[tuple[str, str], float]] = {}
    for family in text_string_to_metric_families(program.get("metrics").content.decode()):
        for sample in family.samples:
            if "pair" in sample.labels:
                place = (sample.labels["pair"], sample.labels["region"])
                found.setdefault(sample.name, {})[place] = sample.value
    return found


def test_how_much_slower_a_cdn_is_is_told_where_it_can_be_said(
    program: Program, world: World, pairing: Pairing
) -> None:
    here = ("app.js", world.region.code)
    assert of_pairs(program) == {
        "firstbyte_pair_difference_seconds": {here: 0.02},
        "firstbyte_pair_difference_low_seconds": {here: 0.012},
        "firstbyte_pair_difference_high_seconds": {here: 0.031},
        "firstbyte_pair_cdn_slower": {here: 1},
    }
    StoredVerdict.objects.filter(region=world.region).update(verdict=Verdict.NO_DIFFERENCE)
    assert of_pairs(program)["firstbyte_pair_cdn_slower"] == {here: 0}


def test_nothing_is_told_of_pairs_that_rest_or_that_nobody_judges_any_more(
    program: Program, world: World, pairing: Pairing
) -> None:
    held, minute = judged_every(pairing), timedelta(minutes=1)
    StoredVerdict.objects.update(judged_at=NOW - 2 * held + minute)
    assert of_pairs(program)
    StoredVerdict.objects.update(judged_at=NOW - 2 * held - minute)
    assert of_pairs(program) == {}
    StoredVerdict.objects.update(judged_at=NOW)
    Monitor.objects.filter(pk=pairing.monitor_id).update(paused=True)
    assert of_pairs(program) == {}


def test_pairs_of_others_are_not_told(world: World, pairing: Pairing, charlie: Member) -> None:
    assert of_pairs(Program(make_token(charlie))) == {}
