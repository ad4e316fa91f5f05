import re
from base64 import b64encode
from dataclasses import replace
from datetime import timedelta

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.test import Client
from django.urls import reverse

from backend.alerts.models import Incident
from backend.cast import Member
from backend.runs.agents import picture_name
from backend.runs.models import PendingRun
from backend.runs.tests.factories import NOW
from backend.runs.tests.results import FAILED
from backend.sites import actions
from backend.web.compare_page import growth_of, lines_of
from backend.web.tests import measurements
from backend.web.tests.world import World
from backend.web.units import ABSENT
from workers.measurement.messages import Measured, Missed, MissedReason, Outcome, PageMeasurement, ProbeMeasurement
from workers.measurement.routes import PictureKind
from workers.measurement.timing import Span
from workers.measurement.vitals import TimingKind, UserTiming
from workers.tests.builders import build_page

pytestmark = pytest.mark.django_db

BEFORE = measurements.eventful_page(12)


def slower(page: PageMeasurement) -> PageMeasurement:
    """One request is gone, one failed, and the largest paint comes later."""
    requests = [replace(one, status=503) if one.number == 3 else one for one in page.waterfall.requests[:-1]]
    vitals = replace(page.vitals, lcp_us=1_400_000)
    return replace(page, waterfall=replace(page.waterfall, requests=tuple(requests)), vitals=vitals)


def ended(world: World, outcome: Outcome, minutes: int, kind: str = "page") -> PendingRun:
    pending = world.pending(kind, scheduled_for=NOW - timedelta(minutes=minutes))
    world.end(pending, outcome)
    return pending


def both(world: World) -> tuple[PendingRun, PendingRun]:
    return ended(world, Measured(measurement=BEFORE), 9), ended(world, Measured(measurement=slower(BEFORE)), 5)


def html(client: Client, query: str, status: int = 200) -> str:
    response = client.get(f"{reverse('web:compare')}?{query}")
    assert response.status_code == status
    return response.content.decode()


def test_two_runs_lie_on_one_axis_and_the_first_sentence_says_what_differs(world: World, client: Client) -> None:
    first, second = both(world)
    text = html(client, f"a={first.run_id}&b={second.run_id}")
    assert "B is 560 ms slower to the largest paint: 1.40 s against 840 ms" in text
    assert "Of the requests: 1 only in A, 1 with another status." in text
    assert text.count('class="wf-row') == 12 + 11
    assert text.count('id="a1"') == text.count('id="b1"') == 1
    assert "+560 ms (+67 %)" in text
    assert "style=" not in text


def test_a_difference_of_no_whole_per_cent_is_told_without_one() -> None:
    first = measurements.page(30)
    row, *others = first.waterfall.requests
    larger = replace(row, transferred_bytes=(row.transferred_bytes or 0) + 62)
    second = replace(first, waterfall=replace(first.waterfall, requests=(larger, *others)))
    line = next(one for one in lines_of(first, second) if one.name == "Transferred")
    assert line.difference == "+62 B"


def test_what_pages_measured_themselves_is_compared_by_name() -> None:
    page = build_page()
    before = (UserTiming(kind=TimingKind.MARK, name="hero", at_us=300_000),)
    after = (
        UserTiming(kind=TimingKind.MARK, name="hero", at_us=450_000),
        UserTiming(kind=TimingKind.MEASURE, name="hero", at_us=1, duration_us=20_000),
    )
    first, second = (replace(page, vitals=replace(page.vitals, user_timings=told)) for told in (before, after))
    lines = {line.name: (line.first, line.second) for line in lines_of(first, second)}
    assert lines["mark hero"] == ("300 ms", "450 ms")
    assert lines["measure hero"] == (ABSENT, "20 ms")


def test_connections_that_nobody_used_are_no_difference() -> None:
    first = measurements.page(30)
    used = first.waterfall.connections
    idle = replace(used[0], number=90, requests=0, preconnected=True)
    second = replace(first, waterfall=replace(first.waterfall, connections=(*used, idle)))
    line = next(one for one in lines_of(first, second) if one.name == "Connections used")
    assert (line.first, line.second) == (str(len(used)), str(len(used)))


def test_only_differences_leaves_what_differs_in_either(world: World, client: Client) -> None:
    first, second = both(world)
    text = html(client, f"a={first.run_id}&b={second.run_id}&only=differs")
    assert "3 of 23" in text
    assert f'name="a" value="{first.run_id}"' in text


def test_the_row_that_is_looked_at_marks_its_partner(world: World, client: Client) -> None:
    first, second = both(world)
    text = html(client, f"a={first.run_id}&b={second.run_id}&request=b4")
    assert 'selected" id="b4"' in text
    assert 'matched" id="a4"' in text
    assert f"?a={first.run_id}&amp;b={second.run_id}&amp;request=a5#details" in text


def test_the_panel_is_of_either_side_and_its_links_lead_back_there(world: World, client: Client) -> None:
    first, second = both(world)
    query = f"?a={first.run_id}&b={second.run_id}&unit=request"
    response = client.get(reverse("web:compare_details", args=["b3"]) + query)
    assert response.status_code == 200
    assert "503" in response.content.decode()
    assert client.get(reverse("web:compare_details", args=["b99"]) + query).status_code == 404


def test_connections_of_both_lie_side_by_side_too(world: World, client: Client) -> None:
    first, second = both(world)
    assert "Of the connections" in html(client, f"a={first.run_id}&b={second.run_id}&view=connections")


def test_runs_of_two_sites_are_told_apart_wherever_they_are_named(world: World, client: Client) -> None:
    first, second = both(world)
    assert "Shop, " not in html(client, f"a={first.run_id}&b={second.run_id}")
    site = actions.create_draft(
        actor=world.member.user, organisation=world.member.organisation, url="https://cdn.shop.example/"
    )
    other = replace(world, site=actions.activate(actor=world.member.user, site=site, name="Shop on its CDN"))
    far = ended(other, Measured(measurement=slower(BEFORE)), 5)
    text = html(client, f"a={first.run_id}&b={far.run_id}")
    for part in (">Shop, ", ">Shop on its CDN, ", "from Eu (Shop)</a>", "from Eu (Shop on its CDN)</a>"):
        assert part in text, part


def test_both_are_saved_as_one_picture(world: World, client: Client) -> None:
    first, second = both(world)
    response = client.get(f"{reverse('web:compare_waterfall')}?a={first.run_id}&b={second.run_id}")
    assert "A: Shop from Eu" in response.content.decode()
    assert "B: Shop from Eu" in response.content.decode()


def test_the_saved_picture_holds_the_films_of_both(world: World, client: Client) -> None:
    runs = []
    for minutes, film in ((9, b"\xff\xd8\xff first"), (5, b"\xff\xd8\xff second")):
        run = world.pending("page", scheduled_for=NOW - timedelta(minutes=minutes), has_film=True)
        default_storage.save(picture_name(PictureKind.FILM, run.run_id, run.scheduled_for), ContentFile(film))
        world.end(run, Measured(measurement=BEFORE))
        runs.append((run.run_id, b64encode(film).decode()))
    response = client.get(f"{reverse('web:compare_waterfall')}?a={runs[0][0]}&b={runs[1][0]}")
    for prefix, (_, told) in zip("ab", runs, strict=True):
        assert f'id="film-{prefix}" href="data:image/jpeg;base64,{told}"' in response.content.decode()


def test_one_run_alone_asks_for_the_other(world: World, client: Client) -> None:
    first, second = both(world)
    text = html(client, f"a={first.run_id}")
    assert "Choose what to lay beside it" in text
    assert str(second.run_id) in text


def test_what_did_not_take_place_is_not_offered(world: World, client: Client) -> None:
    first, second = both(world)
    missed = ended(world, Missed(reason=MissedReason.NO_AGENT), 7)
    text = html(client, f"a={first.run_id}")
    assert f'value="{second.run_id}"' in text
    assert f'value="{missed.run_id}"' not in text


def test_a_run_without_a_measurement_is_told_of(world: World, client: Client) -> None:
    first, failed = ended(world, Measured(measurement=BEFORE), 9), ended(world, FAILED, 5)
    assert "cannot be laid side by side" in html(client, f"a={first.run_id}&b={failed.run_id}")


def test_probes_are_compared_as_hops(world: World, client: Client) -> None:
    outcome = Measured(measurement=measurements.probe())
    first, second = ended(world, outcome, 9, "probe"), ended(world, outcome, 5, "probe")
    assert "Hardly a difference: last byte" in html(client, f"a={first.run_id}&b={second.run_id}")


def test_runs_of_others_and_nonsense_are_not_found(world: World, client: Client, charlie: Member) -> None:
    first, _ = both(world)
    html(client, "a=nonsense", 404)
    html(client, f"a={first.run_id}&b=5bd1a33e-0000-4000-8000-000000000000", 404)
    client.force_login(charlie.user)
    html(client, f"a={first.run_id}", 404)


def test_the_earlier_runs_that_people_mean_are_one_click_away(world: World, client: Client) -> None:
    week = ended(world, Measured(measurement=BEFORE), 7 * 1440 + 30)
    good = ended(world, Measured(measurement=BEFORE), 60)
    first, second = both(world)
    ended(world, FAILED, 7)
    Incident.objects.create(
        organisation=world.member.organisation,
        site=world.site,
        cause="speed",
        key="1",
        state="regressed",
        worst_state="regressed",
        severity="warning",
        title="Slower",
        opened_at=NOW - timedelta(minutes=30),
        changed_at=NOW,
    )
    text = html(client, f"a={first.run_id}&b={second.run_id}")
    for run, name in ((good, "last good run"), (week, "one week before")):
        assert f'<a href="?a={run.run_id}&amp;b={second.run_id}">{name}</a>' in text
    assert f'<a href="?a={first.run_id}&amp;b={second.run_id}" aria-current="true">previous run</a>' in text
    alone = html(client, f"a={second.run_id}")
    assert f'<a href="?a={first.run_id}&amp;b={second.run_id}">previous run</a>' in alone


def test_a_first_run_and_such_as_say_nothing_offer_no_earlier_ones(world: World, client: Client) -> None:
    ended(world, Measured(measurement=replace(BEFORE, profile_verified=False)), 20)
    ended(world, FAILED, 12)
    first, second = both(world)
    assert "previous run" not in html(client, f"a={first.run_id}")
    assert "previous run" in html(client, f"a={second.run_id}")


def slow_handshake(probe: ProbeMeasurement, by_us: int) -> ProbeMeasurement:
    """TLS takes so much longer, and all behind it comes so much later."""
    timing = probe.hops[-1].timing
    assert timing.tls is not None

    def moved(span: Span | None) -> Span | None:
        return span and Span(start_us=span.start_us + by_us, end_us=span.end_us + by_us)

    later = replace(
        timing,
        tls=replace(timing.tls, end_us=timing.tls.end_us + by_us),
        send=moved(timing.send),
        wait=moved(timing.wait),
        download=moved(timing.download),
        end_us=(timing.end_us or 0) + by_us,
    )
    return replace(probe, hops=(*probe.hops[:-1], replace(probe.hops[-1], timing=later)))


def test_two_probes_are_compared_phase_by_phase(world: World, client: Client) -> None:
    before = measurements.probe()
    first = ended(world, Measured(measurement=before), 9, "probe")
    second = ended(world, Measured(measurement=slow_handshake(before, 90_000)), 5, "probe")
    text = html(client, f"a={first.run_id}&b={second.run_id}")
    rows = dict(re.findall(r'class="main-cell">([^<]+)</th>.*?data-label="Difference" class="num([^"]*)"', text))
    assert (rows["TLS"], rows["First byte"], rows["Waiting for the server"]) == (" bad", " bad", "")


@pytest.mark.parametrize(("by_us", "told"), [(90_000, True), (1_000, False), (-1_000, False)])
def test_what_made_a_first_byte_later_is_named_where_one_phase_did(by_us: int, told: bool) -> None:
    before = measurements.probe()
    sentence = growth_of(before, slow_handshake(before, by_us))
    assert sentence.startswith("In the second the first byte came 90 ms later, most of it in TLS: ") is told
    assert bool(sentence) is told
    assert not growth_of(BEFORE, BEFORE)
