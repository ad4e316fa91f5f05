"""What was found, on the pages of a run, of a test and of a site; with evidence of servers that were made up."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from backend.fleet.models import Region
from backend.runs import diagnoses
from backend.runs.diagnoses import gravest, open_findings
from backend.runs.models import PendingRun, Run
from backend.runs.queries import DeepRun, FoundCause
from backend.runs.tests.results import FAILED, OVERFLOW, diagnosed
from backend.sites.models import Monitor
from backend.web.findings import Hint, hint_of, of_site, told_of
from backend.web.tests import measurements
from backend.web.tests.world import World
from workers.diagnosis.catalogue import column, entry
from workers.diagnosis.probe.diagnose import diagnose
from workers.measurement.connection import Header
from workers.measurement.evidence import ProbeEvidence
from workers.measurement.failure import FailureKind, failure
from workers.measurement.finding import (
    CheckColumn,
    Confidence,
    Diagnosis,
    Fact,
    Finding,
    FindingId,
    Severity,
)
from workers.measurement.messages import Failed, Measured, ProbeMeasurement
from workers.measurement.timing import Timing
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Server, deep, light

pytestmark = pytest.mark.django_db

PATH = Path(rtt_ms=80)
GOOD = deep(PATH, Server())
LARGE_RECORDS = deep(PATH, Server(record_bytes=16_384, body_bytes=60_000))


def probed(world: World, evidence: ProbeEvidence, **fields: object) -> PendingRun:
    """A probe that saw this, and whose agent judged it as we do."""
    probe = measurements.probe()
    last = probe.hops[-1:]
    judged = replace(probe, hops=last, evidence=evidence, diagnosis=diagnose(evidence, last))
    pending = world.pending("probe", **fields)
    world.end(pending, Measured(measurement=judged))
    return pending


def html(client: Client, name: str, *args: object, query: str = "") -> str:
    response = client.get(reverse(f"web:{name}", args=args) + query)
    assert response.status_code == 200
    return response.content.decode()


def words(text: str) -> str:
    """What is read, in one line."""
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


def test_a_run_that_failed_is_never_said_to_be_well(world: World, client: Client) -> None:
    last = measurements.probe().hops[-1:]
    seen = replace(measurements.probe(), hops=last, evidence=GOOD, diagnosis=diagnose(GOOD, last))
    pending = world.pending("probe")
    world.end(pending, Failed(failure=failure(FailureKind.STATUS_UNEXPECTED, "404"), measurement=seen))
    page = html(client, "run", pending.run_id)
    assert "Nothing else was found" in page
    assert "Nothing to mend was found" not in page


def test_of_a_server_that_nobody_reached_nothing_is_told(world: World, client: Client) -> None:
    hop = replace(measurements.probe().hops[-1], status=None, timing=Timing(start_us=0, end_us=900))
    seen = replace(measurements.probe(), hops=(hop,), evidence=None, diagnosis=Diagnosis())
    pending = world.pending("probe")
    world.end(pending, Failed(failure=failure(FailureKind.DNS_NOT_FOUND, "shop.example"), measurement=seen))
    page = html(client, "run", pending.run_id)
    assert "The host name leads to no address" in page
    assert "Is TLS fast yet?" not in page
    assert "was found" not in page
    assert "Nothing found" not in page


def test_a_run_says_what_to_mend_what_it_costs_why_and_how(world: World, client: Client) -> None:
    run = probed(world, LARGE_RECORDS)
    page = html(client, "run", run.run_id)
    told, text = entry(FindingId.TLS_RECORD_OVERFLOW), words(page)
    assert "thing to mend; a new visitor could save" in text or "things to mend; a new visitor could save" in text
    for sentence in (told.title, told.explanation, told.advice):
        assert sentence in text.replace("&#x27;", "'").replace("&quot;", '"')
    assert re.search(r"costs \d+(\.\d)? ms for each new visitor", text)
    for setting in told.settings:
        assert f"<dt>{setting.server}</dt>" in page
    assert "deep probe" in text
    assert "style=" not in page


@pytest.mark.parametrize(
    ("server", "setting"),
    [("nginx/1.24.0", "nginx: ssl_buffer_size 4k;"), ("", "for example, in nginx: ssl_buffer_size 4k;")],
)
def test_the_setting_of_whoever_answered_needs_no_search(
    world: World, client: Client, server: str, setting: str
) -> None:
    probe = measurements.probe()
    last = replace(probe.hops[-1], response_headers=(Header(name="Server", value=server),))
    judged = replace(probe, hops=(last,), evidence=LARGE_RECORDS, diagnosis=diagnose(LARGE_RECORDS, (last,)))
    pending = world.pending("probe")
    world.end(pending, Measured(measurement=judged))
    for page in (html(client, "run", pending.run_id), html(client, "findings", world.site.public_id)):
        cause = page[page.index('id="tls.record_overflow"') :]
        assert f'<pre tabindex="0">{setting}' in cause[: cause.index("Settings by server")]


def test_causes_stand_in_the_order_in_which_to_mend_them_and_remarks_apart(world: World, client: Client) -> None:
    run = probed(world, LARGE_RECORDS)
    page = html(client, "run", run.run_id)
    expected = [one.id.value for one in diagnose(LARGE_RECORDS).findings]
    assert re.findall(r'<li class="finding is-\w+" id="([\w.]+)', page) == expected
    assert "more that could be better" in page


def test_what_could_be_better_is_no_more_where_there_is_nothing_to_mend(world: World, client: Client) -> None:
    text = words(html(client, "run", probed(world, GOOD).run_id))
    assert "that could be better" in text
    assert "more that could be better" not in text


def test_what_could_not_be_judged_is_told_with_the_reason(world: World, client: Client) -> None:
    text = words(html(client, "run", probed(world, GOOD).run_id))
    assert "Not judged, because " in text
    assert "Nothing to mend was found" in text


def test_a_light_run_says_that_it_saw_only_part(world: World, client: Client) -> None:
    text = words(html(client, "run", probed(world, light(PATH, Server())).run_id))
    assert "Nothing found in one connection" in text
    assert "light probe" in text


def test_the_ladder_shows_each_flight_and_marks_the_pause(world: World, client: Client) -> None:
    page = html(client, "run", probed(world, LARGE_RECORDS).run_id)
    ladder = page[page.index('<table class="ladder">') : page.index("</table>", page.index('<table class="ladder">'))]
    text = words(ladder)
    assert text.index("SYN , sent") < text.index("SYN, ACK , received") < text.index("ClientHello")
    assert 'class="marked pause-4"' in ladder
    assert "+1.00 RTT" in ladder
    assert "<summary>TLS 1.2</summary>" in page
    assert "New visitor" in page


def test_seconds_of_the_evidence_are_told_in_peoples_units() -> None:
    lived = (Fact(name="hsts_max_age_s", value=31_536_000), Fact(name="ticket_lifetime_s", value=7_200))
    assert [value for _, value in told_of(replace(OVERFLOW, evidence=lived)).evidence] == ["365 days", "2 h"]


def test_a_run_without_evidence_has_neither_findings_nor_ladder(world: World, client: Client) -> None:
    pending = world.pending("probe")
    world.end(pending)
    page = html(client, "run", pending.run_id)
    assert "ladder" not in page
    assert 'class="findings"' not in page
    assert "Is TLS fast yet" not in page


@pytest.mark.parametrize("is_slow", [True, False])
def test_a_page_run_tells_what_its_hosts_cost_and_nothing_where_they_are_fine(
    world: World, client: Client, is_slow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    cause = Finding(
        id=FindingId.PAGE_EXTRA_HOSTS_AND_LOST_MUX,
        severity=Severity.MEDIUM,
        confidence=Confidence.MEDIUM,
        saving_us=120_000,
        host="img.shop.example",
    )
    found = Diagnosis(findings=(cause,) if is_slow else ())
    monkeypatch.setattr(diagnoses, "diagnose_page", lambda page, **_: found)
    pending = world.pending("page")
    world.end(pending, Measured(measurement=measurements.page(10)))
    page = html(client, "run", pending.run_id)
    assert ('class="findings"' in page) is is_slow
    assert ("(img.shop.example)" in page) is is_slow
    assert "Is TLS fast yet" not in page


def test_a_run_that_only_an_agent_judged_is_told_in_its_words(world: World, client: Client) -> None:
    pending = world.pending("probe")
    outcome = diagnosed(OVERFLOW, ending=Measured(measurement=measurements.probe()))
    assert isinstance(outcome.measurement, ProbeMeasurement)
    world.end(pending, Measured(measurement=replace(outcome.measurement, evidence=None)))
    assert entry(FindingId.TLS_RECORD_OVERFLOW).title in html(client, "run", pending.run_id)


def test_the_page_of_a_site_names_the_first_thing_to_mend_and_the_gain(world: World, client: Client) -> None:
    probed(world, LARGE_RECORDS)
    text = words(html(client, "site", world.site.public_id))
    assert "could save" in text
    assert f"First: {entry(diagnose(LARGE_RECORDS).findings[0].id).title}, which costs " in text
    assert "Is TLS fast yet?" in text


def test_the_page_of_a_site_says_how_old_its_findings_are_and_how_to_look_again(world: World, client: Client) -> None:
    """Else a cause that was mended since looks as if it were still there."""
    probed(world, LARGE_RECORDS, scheduled_for=timezone.now() - timedelta(hours=3))
    assert "The newest deep probe looked 3 h ago ; a test looks again." in words(
        html(client, "site", world.site.public_id)
    )


def test_a_site_whose_page_is_held_up_is_not_said_to_have_nothing_to_mend(
    world: World, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    probed(world, GOOD)
    for name in ("site", "findings"):
        page = html(client, name, world.site.public_id)
        assert "Its probes found nothing to mend" in page
        assert "Nothing to mend was found" not in page
        assert "Page load:" not in page
    blocking = replace(
        OVERFLOW, id=FindingId.PAGE_THIRD_PARTY_BLOCKING, saving_us=1_600_000, host="cdn.widgets.example"
    )
    monkeypatch.setattr(diagnoses, "diagnose_page", lambda page, **_: Diagnosis(findings=(blocking,)))
    world.end(loaded := world.pending("page"))
    for name in ("site", "findings"):
        page = html(client, name, world.site.public_id)
        link = reverse("web:run", args=[loaded.run_id])
        assert f'<a href="{link}">Page load: 1 thing to mend; a new visitor could save 1.60 s</a>' in page
        assert "(cdn.widgets.example), which costs 1.60 s for each new visitor." in page


def test_causes_of_a_site_stand_by_what_each_costs_where_it_costs_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """One region's probe could not tell what the key costs, and put it behind what weighs more than that."""
    key = Finding(id=FindingId.TLS_KEY_COST, severity=Severity.MEDIUM, confidence=Confidence.HIGH)
    h2 = replace(key, id=FindingId.HTTP_H2_MISSING)
    chain = replace(key, id=FindingId.TLS_CHAIN_EXCEEDS_IW, saving_us=40_000)
    said = iter([(h2, key, chain), (replace(key, saving_us=73_000), h2, chain)])
    monkeypatch.setattr(diagnoses, "diagnosis_of", lambda _: Diagnosis(findings=next(said)))
    runs = [
        DeepRun(run=Run(), monitor=Monitor(), region=Region(name=name), measurement=measurements.probe())
        for name in ("Paris", "Oslo")
    ]
    found = open_findings(runs)
    assert [told.id for told in of_site(found).findings] == [key.id, h2.id, chain.id]
    assert of_site(found).findings[0].cost == "73 ms for each new visitor"


def test_a_cause_that_fails_visitors_in_one_region_is_told_as_that() -> None:
    costly = Finding(
        id=FindingId.IPV6_BROKEN_OR_SLOW, severity=Severity.HIGH, confidence=Confidence.HIGH, saving_us=250_000
    )
    broken = replace(costly, severity=Severity.CRITICAL, saving_us=None)
    assert gravest([costly, broken]) == broken
    assert gravest([replace(costly, saving_us=None), costly]) == costly


def test_a_site_that_nobody_looked_at_deeply_says_so(world: World, client: Client) -> None:
    assert "No deep probe has measured it yet" in html(client, "site", world.site.public_id)
    assert "No deep probe has measured it yet" in html(client, "findings", world.site.public_id)


def test_the_findings_of_a_site_stay_while_it_cannot_be_reached(world: World, client: Client) -> None:
    probed(world, LARGE_RECORDS)
    failed = world.pending("probe", scheduled_for=world.pending("page").scheduled_for)
    world.end(failed, FAILED)
    assert "could save" in html(client, "findings", world.site.public_id)


def test_the_checklist_has_twenty_lines_with_the_evidence_in_words(world: World, client: Client) -> None:
    run = probed(world, LARGE_RECORDS)
    page = html(client, "findings", world.site.public_id)
    table = page[page.index('class="table stacked checklist"') :]
    assert table.count("<tr>") == 21
    for one in CheckColumn:
        assert column(one).title in table
        assert column(one).explanation.replace("'", "&#x27;") in table
    for check in diagnose(LARGE_RECORDS).checklist:
        if check.detail:
            assert table.count(check.detail) >= 2, "for the pointer and for everybody"
    assert f'href="{reverse("web:run", args=[run.run_id])}' in page


def test_a_list_of_sites_names_the_worst_cause_of_each(world: World, client: Client) -> None:
    assert "hint-line" not in html(client, "sites")
    probed(world, LARGE_RECORDS)
    page = html(client, "sites")
    assert "hint-line bad" in page
    assert "Nothing fails, and no alert is open" in page
    assert reverse("web:findings", args=[world.site.public_id]) in page


def test_a_list_of_sites_names_what_holds_the_newest_page_load_up(world: World, client: Client) -> None:
    probed(world, GOOD)
    blocking = replace(OVERFLOW, id=FindingId.PAGE_THIRD_PARTY_BLOCKING, saving_us=1_600_000)
    compressed = replace(OVERFLOW, id=FindingId.PAGE_UNCOMPRESSED, saving_us=9_000_000)
    for hours, found in ((5, compressed), (4, blocking)):
        page = replace(measurements.page(10), diagnosis=Diagnosis(findings=(found,)))
        pending = world.pending("page", scheduled_for=timezone.now() - timedelta(hours=hours))
        world.end(pending, Measured(measurement=page))
    world.end(world.pending("page", scheduled_for=timezone.now() - timedelta(hours=3)), FAILED)
    text = html(client, "sites")
    assert "holds the first paint up: 1.60 s</a>" in text
    assert "uncompressed" not in text


def test_what_held_up_a_load_that_others_disturbed_is_told_on_its_own_page_alone(world: World, client: Client) -> None:
    blocking = replace(OVERFLOW, id=FindingId.PAGE_THIRD_PARTY_BLOCKING, saving_us=1_600_000)
    pending = world.pending("page")
    world.end(pending, Measured(measurement=replace(measurements.page(10), diagnosis=Diagnosis(findings=(blocking,)))))
    for is_disturbed in (False, True):
        Run.objects.filter(run_id=pending.run_id).update(contended=is_disturbed)
        assert ("Page load: " in html(client, "site", world.site.public_id)) is not is_disturbed
        assert ("hint-line" in html(client, "sites")) is not is_disturbed


def test_a_list_of_sites_names_what_the_page_of_the_site_names_first() -> None:
    """What costs most, although another cause is graver by its kind; of one cause the region where it costs most."""
    hint = hint_of(
        [
            _row(FindingId.TLS_CHAIN_EXCEEDS_IW, Severity.HIGH, 40_000),
            _row(FindingId.TLS_KEY_COST, Severity.MEDIUM, None),
            _row(FindingId.TLS_KEY_COST, Severity.MEDIUM, 73_000),
        ]
    )
    assert hint == Hint(text=f"{entry(FindingId.TLS_KEY_COST).title}: 73 ms", level="bad")


def test_a_list_of_sites_says_nothing_of_remarks_and_of_causes_that_are_not_known_here() -> None:
    remark = _row(FindingId.TLS_ZERO_RTT, Severity.INFO, 40_000)
    assert hint_of([remark, replace(remark, finding="tls.of_tomorrow", severity=Severity.HIGH)]) is None


def _row(id: FindingId, severity: Severity, saving_us: int | None) -> FoundCause:
    return FoundCause(finding=id, severity=severity, confidence=Confidence.HIGH, saving_us=saving_us, host=None)


def test_a_test_before_saving_shows_what_was_found(world: World, client: Client) -> None:
    run = probed(world, LARGE_RECORDS, trigger="manual")
    text = words(html(client, "trial", world.site.public_id, query=f"?run={run.run_id}"))
    assert entry(FindingId.TLS_RECORD_OVERFLOW).title in text


def test_each_of_several_times_has_its_unit_and_large_sizes_are_rounded() -> None:
    facts = (
        Fact(name="costs_ms", value=(60.717, 3.0)),
        Fact(name="again_bytes", value=9_457_586),
        Fact(name="chain_bytes", value=3_607),
    )
    told = told_of(
        Finding(id=FindingId.HTTP_REDIRECT_COST, severity=Severity.MEDIUM, confidence=Confidence.MEDIUM, evidence=facts)
    )
    assert told.evidence == (("costs", "61 ms, 3.0 ms"), ("again", "9.5 MB"), ("chain", "3,607 B"))


def test_settings_are_those_of_the_case_that_was_seen() -> None:
    lacking = Finding(id=FindingId.HTTP_H2_MISSING, severity=Severity.MEDIUM, confidence=Confidence.HIGH)
    assert told_of(lacking).settings == entry(lacking.id).settings
    assert told_of(replace(lacking, severity=Severity.CRITICAL)).settings == ()


def test_a_hostile_evidence_is_text_and_nothing_else(world: World, client: Client) -> None:
    bad = "<script>alert(1)</script>"
    trials = tuple(replace(one, address=bad) for one in LARGE_RECORDS.trials)
    page = html(client, "run", probed(world, replace(LARGE_RECORDS, trials=trials, host=bad)).run_id)
    assert bad not in page
