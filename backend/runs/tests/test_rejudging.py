"""The owner's word on hosts, in the findings that are stored."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from backend.cast import Member
from backend.runs import rejudging
from backend.runs.diagnoses import diagnosis_in
from backend.runs.ingest import ingest
from backend.runs.models import Finding, PendingRun
from backend.runs.owners import page_findings
from backend.runs.queries import run_detail
from backend.runs.rows import Row
from backend.runs.tests.factories import Fleet, make_fleet, make_monitors, make_pending
from backend.runs.tests.results import line_of
from backend.sites.hosts import choose_role
from backend.sites.models import Host, HostRole, Monitor, Site
from workers.diagnosis.page.diagnose import diagnose_page
from workers.measurement.messages import Measured, RunResult
from workers.tests.diagnosis.test_pages import asked, opened, page

pytestmark = pytest.mark.django_db

STATIC = "static-files.example"
NOW = timezone.now().replace(microsecond=0)


def seen() -> Measured:
    """A page whose style sheet waits for a host of another name, as an agent sends it."""
    plain = page(asked(2, STATIC, 2, 310, 600), connections=(opened(2, STATIC, 310),))
    return Measured(measurement=replace(plain, diagnosis=diagnose_page(plain)))


@pytest.fixture
def fleet() -> Fleet:
    return make_fleet("eu")


@pytest.fixture
def monitor(fleet: Fleet) -> Monitor:
    return make_monitors(fleet, kind="page")[0]


@pytest.fixture
def host(monitor: Monitor) -> Host:
    return Host.objects.create(
        site=monitor.site, name=STATIC, proposed=HostRole.THIRD_PARTY, first_seen_at=NOW, last_seen_at=NOW
    )


def ended(fleet: Fleet, monitor: Monitor, minutes: int = 1) -> PendingRun:
    pending = make_pending(fleet, monitor, scheduled_for=NOW - timedelta(minutes=minutes))
    ingest(fleet.region, [line_of(pending, seen())], now=NOW)
    return pending


def rows(pending: PendingRun) -> list[tuple[str, str | None]]:
    found = Finding.objects.filter(run_id=pending.run_id, severity__isnull=False).order_by("position")
    return list(found.values_list("finding", "host"))


def on_its_page(fleet: Fleet, pending: PendingRun) -> list[tuple[str, str | None]]:
    detail = run_detail(fleet.organisation, pending.run_id)
    assert detail is not None
    diagnosis = diagnosis_in(detail)
    assert diagnosis is not None
    return [(one.id.value, one.host) for one in diagnosis.findings]


def test_a_result_is_stored_as_its_own_page_tells_it(fleet: Fleet, monitor: Monitor, host: Host) -> None:
    before = ended(fleet, monitor, 3)
    choose_role(actor=None, host=host, role=HostRole.CDN)
    after = ended(fleet, monitor, 1)
    assert rows(after) == on_its_page(fleet, after)
    assert ("page.extra_hosts_and_lost_mux", STATIC) in rows(after)
    assert ("page.extra_hosts_and_lost_mux", STATIC) not in rows(before)


def test_what_was_stored_follows_the_owners_word_and_its_withdrawal(
    fleet: Fleet, monitor: Monitor, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rejudging, "AT_ONCE", 2)
    runs = [ended(fleet, monitor, minutes) for minutes in range(1, 6)]
    told = rows(runs[0])
    for role in (HostRole.OWN, None):
        choose_role(actor=None, host=host, role=role)
        steps = 0
        while rejudging.step() == rejudging.BETWEEN_S:
            steps += 1
        assert 3 <= steps < 8
        assert [rows(run) for run in runs] == [on_its_page(fleet, run) for run in runs]
        assert (rows(runs[-1]) != told) is (role is not None)


def test_a_role_that_changes_nothing_for_the_rules_makes_nothing_anew(
    fleet: Fleet, monitor: Monitor, host: Host, alice: Member
) -> None:
    choose_role(actor=alice.user, host=host, role=HostRole.CDN)
    Site.objects.update(rejudge_before=None)
    choose_role(actor=alice.user, host=host, role=HostRole.OWN)
    assert not Site.objects.filter(rejudge_before__isnull=False).exists()
    assert rejudging.step() == rejudging.IDLE_S
    choose_role(actor=alice.user, host=host, role=HostRole.THIRD_PARTY)
    assert Site.objects.get(pk=monitor.site_id).rejudge_before is not None


def test_the_word_of_one_site_is_none_for_another(fleet: Fleet, monitor: Monitor, host: Host) -> None:
    choose_role(actor=None, host=host, role=HostRole.OWN)
    (other,) = make_monitors(fleet, kind="page")
    theirs = ended(fleet, other)
    assert ("page.extra_hosts_and_lost_mux", STATIC) not in rows(theirs)
    assert rows(theirs) == on_its_page(fleet, theirs)


def test_a_run_that_cannot_be_judged_keeps_neither_another_one_nor_another_site_from_it(
    fleet: Fleet, monitor: Monitor, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, well = ended(fleet, monitor, 1), ended(fleet, monitor, 2)
    other = fleet.organisation.sites.create(name="Blog", url="https://blog.example/")
    choose_role(actor=None, host=host, role=HostRole.OWN)
    Site.objects.filter(pk=other.pk).update(rejudge_before=NOW + timedelta(days=1))

    def judge(result: RunResult, said: Mapping[str, bool]) -> list[Row] | None:
        if result.run_id == broken.run_id:
            raise IndexError("there is nothing to say")
        return page_findings(result, said)

    told = rows(broken)
    monkeypatch.setattr(rejudging, "page_findings", judge)
    while rejudging.step() == rejudging.BETWEEN_S:
        pass
    assert rows(broken) == told
    assert rows(well) == on_its_page(fleet, well)
    assert rows(well) != told
    assert not Site.objects.filter(rejudge_before__isnull=False).exists()
