"""The inbox and the page of one incident."""

import json
import re
from collections.abc import Callable
from datetime import timedelta
from html import unescape
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from backend.alerts.actions.channels import delete_channel, switch_channel
from backend.alerts.message import Event, Message, Severity
from backend.alerts.models import Delivery, Incident, Watch
from backend.alerts.notices import tell
from backend.alerts.wording import clock
from backend.cast import Member
from backend.runs.tests.results import OVERFLOW, diagnosed
from backend.web.tests.incidents import TITLE, make_incident, make_over, make_rule, make_window
from backend.web.tests.world import World, make_channel
from backend.web.times import as_read, short
from backend.web.views.alerts import RECENT

pytestmark = pytest.mark.django_db


@pytest.fixture
def look(client: Client) -> Callable[..., str]:
    def get(who: Member, path: str) -> str:
        client.force_login(who.user)
        return client.get(path).content.decode()

    return get


def test_where_no_site_is_watched_nothing_is_said_to_be_right(look: Callable[..., str], charlie: Member) -> None:
    text = look(charlie, "/alerts/")
    assert "Nothing is watched yet" in text
    assert "Nothing is wrong" not in text


@pytest.mark.parametrize("page", ["alerts", "site", "rules"])
def test_pages_of_what_is_watched_say_what_keeps_alerts_from_people(
    look: Callable[..., str], alice: Member, world: World, page: str
) -> None:
    path = reverse("web:site", args=[world.site.public_id]) if page == "site" else reverse(f"web:{page}")
    nobody, failing = "Nobody would be told", "ops-acme did not take the last message"
    assert nobody in look(alice, path)
    assert f'href="{reverse("web:channels")}">See the channels' in look(alice, path)
    channel = make_channel(alice)
    assert nobody not in look(alice, path)
    message = Message(event=Event.OPENED, severity=Severity.CRITICAL, title=TITLE, at=timezone.now())
    tell(organisation=alice.organisation, about=uuid4(), message=message, channels=[channel])
    Delivery.objects.update(state="failed", attempts=3, answer="no_service", status=404)
    assert failing in look(alice, path)
    assert nobody not in look(alice, path)
    switch_channel(actor=alice.user, channel=channel, enabled=False)
    assert nobody in look(alice, path)


def runs_of(world: World) -> tuple[UUID, UUID]:
    """Two ended probes."""
    pending = [world.pending("probe"), world.pending("probe", scheduled_for=timezone.now() - timedelta(hours=5))]
    for one in pending:
        world.end(one)
    return pending[0].run_id, pending[1].run_id


def path_of(incident: Incident) -> str:
    return reverse("web:incident", args=[incident.public_id])


Look = Callable[..., str]


def test_when_nothing_ever_happened_the_page_says_so(world: World, look: Look) -> None:
    text = look(world.member, "/alerts/")
    assert "Nothing is wrong" in text
    assert "There was never an alert" in text
    assert "What would wake me?" in text


def test_when_all_is_over_the_page_says_how_long_ago_it_was(world: World, look: Look) -> None:
    make_over(world)
    text = look(world.member, "/alerts/")
    assert "Nothing is wrong" in text
    assert "Last alert 9 days ago." in text
    assert "Before and after" in text


def test_what_is_open_is_said_first_and_counted_everywhere(world: World, look: Look) -> None:
    make_incident(world)
    make_incident(world, title="Shop is down", severity="critical", state="failing", cause="availability")
    text = look(world.member, "/alerts/")
    assert "2 open alerts: Shop is down" in text
    assert "All on one site." in text
    assert "<title>(2) Alerts" in text
    assert 'class="badge">2<' in look(world.member, "/sites/")


def test_a_muted_alert_is_not_counted_and_says_until_when(world: World, look: Look) -> None:
    make_incident(world, muted_until_recovery=True)
    text = look(world.member, "/alerts/")
    assert "Nothing new is wrong" in text
    assert "until it has recovered" in text
    assert "Unmute" in text
    assert 'class="badge"' not in text


def test_what_comes_by_the_clock_says_how_often_and_whether_it_is_well_now(world: World, look: Look) -> None:
    now = timezone.now()
    begins = [now - timedelta(hours=hours) for hours in (3, 2, 1)]
    incident = make_incident(world, flapping=True, every=timedelta(hours=1), longest=timedelta(minutes=5), flips=begins)
    often = "It has come 3 times within a day, every 60 min, and was over within 5 min each time."
    text = look(world.member, path_of(incident))
    assert often in text
    assert "It is over once it has stayed away twice." in text
    assert "well at the moment" not in text
    Incident.objects.update(quiet_since=now)
    text = look(world.member, path_of(incident))
    assert "It keeps coming and going, and is well at the moment" in text
    assert f"While it lasts: {TITLE}" in text


def test_what_people_did_is_not_said_to_be_as_old_as_the_alert(world: World, look: Look) -> None:
    now = timezone.now()
    user = world.member.user
    known = make_incident(world, opened_at=now - timedelta(days=3), acknowledged_at=now, acknowledged_by=user)
    assert "Open for 3 days. Acknowledged by alice@acme.example. No channel" in look(world.member, path_of(known))
    muted = make_incident(world, opened_at=now - timedelta(days=3), muted_until_recovery=True)
    assert "Open for 3 days. Muted until it has recovered. No channel" in look(world.member, path_of(muted))


def test_what_is_only_watched_stands_beside(world: World, look: Look) -> None:
    rule = make_rule(world, "failures")
    monitor = world.monitor("probe")
    began = int((timezone.now() - timedelta(minutes=4)).timestamp() * 1e6)
    memory = {
        "rules": {
            str(rule.pk): {"v": 1, "m": {}, "t": {"state": "degraded", "since_us": began, "told": None}, "r": []}
        },
        "asks": [[uuid4().hex, "eu", began]],
    }
    Watch.objects.create(monitor=monitor, due_at=timezone.now(), memory=json.dumps(memory, separators=(",", ":")))
    text = look(world.member, "/alerts/")
    assert text.count("Watching</span>") == 2
    assert "another region is being asked before it counts" in text
    assert "Failed runs: degraded" in text
    assert "Nothing is wrong so far" in text


def test_the_list_is_filtered_by_state_and_site(world: World, look: Look) -> None:
    make_incident(world)
    make_over(world)
    over = look(world.member, "/alerts/?state=over")
    assert "Shop was slow" in over
    assert over.count(TITLE) == 1, "the verdict is always of what is open"
    assert TITLE in look(world.member, f"/alerts/?site={world.site.public_id}")
    assert look(world.member, "/alerts/?site=nonsense&state=nonsense").count(TITLE) > 1


def test_maintenance_is_said_where_nothing_is_told(world: World, look: Look) -> None:
    incident = make_incident(world)
    make_window(world)
    assert "maintenance: nothing is told" in look(world.member, "/alerts/")
    assert "It is a time of maintenance" in look(world.member, path_of(incident))


def test_an_incident_shows_what_happened_before_and_after(world: World, look: Look) -> None:
    before, after = runs_of(world)
    incident = make_incident(world, runs=(before, after))
    text = look(world.member, path_of(incident))
    assert TITLE in text
    assert "Waiting for the server grew by 320 ms." in text
    assert text.count('<table class="wf"') == 2
    assert f'href="/runs/{before}/?request=1#details"' in text
    assert ' id="r1"' not in text
    assert "Both on one axis" in text
    assert "Opened" in text


def test_an_incident_of_speed_leads_to_what_deep_probes_found(world: World, look: Look) -> None:
    incident, others = make_incident(world), [make_incident(world, cause="availability"), make_over(world)]
    found = "What the newest deep probes found first:"
    assert found not in look(world.member, path_of(incident))
    world.end(world.pending("probe"), diagnosed(OVERFLOW))
    link = reverse("web:findings", args=[world.site.public_id])
    text = look(world.member, path_of(incident))
    assert f'{found} <a class="hint-line bad" href="{link}">The first record is too large' in text
    assert "read in time: 380 ms</a>" in text
    # What is over may have been mended since they looked.
    assert all(found not in look(world.member, path_of(one)) for one in others)


def test_without_runs_an_incident_says_why_there_is_no_picture(world: World, look: Look) -> None:
    assert "No run shows it" in look(world.member, path_of(make_incident(world)))
    gone = make_incident(world, runs=(uuid4(), uuid4()))
    assert "no longer kept" in look(world.member, path_of(gone))


def test_who_was_told_is_in_the_verdict_and_the_log(world: World, look: Look) -> None:
    incident = make_incident(world)
    channel = make_channel(world.member)
    message = Message(event=Event.OPENED, severity=Severity.WARNING, title=TITLE, at=timezone.now())
    notice = tell(organisation=world.member.organisation, about=incident.public_id, message=message, channels=[channel])
    assert "The message is on its way." in look(world.member, path_of(incident))
    notice.deliveries.update(state="delivered", status=200, answer="ok", attempts=1)
    text = look(world.member, path_of(incident))
    assert "ops-acme was told." in text
    assert "200 ok" in text
    page = reverse("web:channel", args=[channel.public_id])
    assert f'<a href="{page}">ops-acme</a>' in text
    delete_channel(actor=None, channel=channel)
    text = look(world.member, path_of(incident))
    assert "200 ok" in text
    assert "<a" not in text[text.index("<h2>Delivery log</h2>") : text.index("</table>", text.index("Delivery log"))]


def test_instants_in_titles_and_sentences_are_the_readers_as_all_others_on_the_page_are(
    world: World, look: Look
) -> None:
    """Channels are told in UTC, since they know no reader; what people write stays as they wrote it."""
    world.member.user.time_zone = "Asia/Tokyo"
    world.member.user.save()
    since = (timezone.now() - timedelta(days=7)).replace(hour=13, minute=32)
    year = "" if since.year == timezone.now().year else f" {since.year}"
    theirs = f"{since:%-d %b}{year} 22:32"
    incident = make_incident(world, title=f"Shop: no measurement since {clock(since)}, although agents are running")
    incident.members.update(facts={"level": 640, "baseline": 320, "sentences": [f"It began at {clock(since)}."]})
    incident.events.create(kind="comment", text="We restarted at 2020-01-01 10:00 UTC.", at=timezone.now())
    for path in (path_of(incident), "/alerts/", "/sites/", reverse("web:site", args=[world.site.public_id])):
        text = look(world.member, path)
        assert f"no measurement since {theirs}, although" in text, path
        assert clock(since) not in text, path
    text = look(world.member, path_of(incident))
    assert f"<title>Shop: no measurement since {theirs}, although" in text
    assert f"It began at {theirs}." in text
    assert "We restarted at 2020-01-01 10:00 UTC." in text


def test_what_is_over_is_told_from_when_to_when_and_what_is_not_since_when(world: World, look: Look) -> None:
    over, going_on = make_over(world), make_incident(world)
    assert over.resolved_at is not None
    heads = []
    for incident in (over, going_on):
        text = look(world.member, path_of(incident))
        heads.append(re.sub(r"<[^>]+>", "", text[text.index("<h1>") : text.index('<section class="verdict')]))
    assert f"{short(over.opened_at)} to {short(over.resolved_at)}" in heads[0]
    assert ["since" in head for head in heads] == [False, True]


def test_the_list_says_of_what_is_over_whether_anybody_was_told(world: World, look: Look) -> None:
    over = make_over(world)
    assert "nobody was told" in look(world.member, "/alerts/")
    Incident.objects.filter(pk=over.pk).update(told_at=over.opened_at)
    assert "nobody was told" not in look(world.member, "/alerts/")


def test_the_page_of_what_is_over_says_first_that_it_is(world: World, look: Look) -> None:
    over = make_over(world, title="Shop is slower in Frankfurt")
    text = look(world.member, path_of(over))
    (verdict,) = re.findall(r'<section class="verdict.*?</section>', text, re.DOTALL)
    told = " ".join(re.sub(r"<[^>]+>", " ", verdict).split())
    assert re.match(r"✓ (Recovered|Over) after [^.]+ While it lasted: Shop is slower in Frankfurt\. ", told), told


def test_what_was_over_while_nobody_looked_is_said_to_have_lasted_at_most_so_long(world: World, look: Look) -> None:
    over = make_over(world)
    end = "Nothing was measured from 2020-01-01 10:00 UTC to 2020-01-01 12:00 UTC: it was over at some time between."
    over.members.update(facts={"end": end})
    text = look(world.member, path_of(over))
    assert "Recovered after at most 28 min" in text
    assert as_read(end) in text
    assert "at most 28 min" in look(world.member, "/alerts/")


def test_what_is_long_over_is_found_page_by_page(world: World, look: Look) -> None:
    for number in range(RECENT + 2):
        make_over(world, title=f"Shop was slow, the {number}. time")
    newest = look(world.member, "/alerts/")
    assert f"the {RECENT + 1}. time" in newest
    assert "the 1. time" not in newest
    (older,) = re.findall(r'href="(\?state=over[^"]*)">Older<', newest)
    text = look(world.member, f"/alerts/{unescape(older)}")
    assert [f"the {number}. time" in text for number in range(4)] == [True, True, False, False]
    assert ">Newest<" in text
    assert ">Older<" not in text
    assert ">Older<" not in look(world.member, "/alerts/?state=open")
    # What is newest of the list that is read, and not of another one.
    assert 'href="/alerts/?state=over">Newest<' in text


def test_behind_the_last_page_nothing_is_said_of_the_state_and_the_way_back_stays(world: World, look: Look) -> None:
    over = make_over(world)
    for state in ("over", "now"):
        text = look(world.member, f"/alerts/?state={state}&before=2020-01-01T00:00:00Z,{over.pk}")
        assert "Nothing older" in text
        assert "No incident is in this state" not in text
        assert "No alerts yet" not in text
        assert f'href="/alerts/?state={state}">Newest<' in text


def test_a_time_line_does_not_run_backwards_and_says_when_older_evidence_was_seen(world: World, look: Look) -> None:
    incident = make_incident(world)
    opened = incident.events.get()
    moments = [("joined", timedelta(minutes=-3), "page load"), ("joined", timedelta(seconds=1), "another")]
    for kind, apart, text in moments:
        incident.events.create(kind=kind, at=opened.at + apart, text=text)
    shown = look(world.member, path_of(incident))
    line = shown[shown.index('<ol class="timeline">') : shown.index("</ol>", shown.index('<ol class="timeline">'))]
    entries = re.findall(r"<li>.*?</li>", line)
    instants = [re.findall(r">(\d+ \w+ \d\d:\d\d)<", entry) for entry in entries]
    at, before = short(opened.at), short(opened.at - timedelta(minutes=3))
    assert instants[:2] == [[at], [at, before]]
    assert "(seen " in entries[1]
    assert "(seen " not in entries[0] + entries[2]


@pytest.mark.parametrize(
    ("state", "word"),
    [("delivered", "told"), ("waiting", "on its way"), ("failed", "no channel was told"), ("", "no channel was told")],
)
def test_the_time_line_says_told_only_of_what_a_channel_has(world: World, look: Look, state: str, word: str) -> None:
    incident = make_incident(world)
    message = Message(event=Event.OPENED, severity=Severity.WARNING, title=TITLE, at=timezone.now())
    channels = [make_channel(world.member)] if state else []
    notice = tell(organisation=world.member.organisation, about=incident.public_id, message=message, channels=channels)
    notice.deliveries.update(state=state)
    incident.events.update(notice=notice)
    assert f"({word})" in look(world.member, path_of(incident))


def test_hostile_names_are_only_text(world: World, look: Look) -> None:
    world.site.name = "<b>Shop</b>"
    world.site.save()
    incident = make_incident(world, title="<script>alert(1)</script>\u202e is down")
    incident.members.update(facts={"detail": "<i>refused</i>", "sentences": ["<u>x</u>"]})
    for path in ("/alerts/", path_of(incident)):
        text = look(world.member, path)
        for tag in ("<script>alert", "<b>Shop", "<i>refused", "<u>x"):
            assert tag not in text, path


def test_a_viewer_reads_and_has_no_buttons(world: World, vera: Member, look: Look) -> None:
    incident = make_incident(world)
    for path in ("/alerts/", path_of(incident)):
        text = look(vera, path)
        assert TITLE in text
        for button in ("Acknowledge<", "Mute<", "Close<", "Add the comment"):
            assert button not in text, (path, button)


def queries_of(client: Client, path: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert client.get(path).status_code == 200
    return len(captured)


def test_the_pages_cost_the_same_for_one_incident_and_for_many(world: World, client: Client) -> None:
    client.force_login(world.member.user)
    runs = runs_of(world)
    first = make_incident(world, runs=runs)
    make_over(world)
    few = queries_of(client, "/alerts/"), queries_of(client, path_of(first))
    for _ in range(10):
        make_incident(world, runs=runs)
        make_over(world)
    for _ in range(10):
        incident = Incident.objects.get(pk=first.pk)
        channel = make_channel(world.member, f"hook {timezone.now()}")
        message = Message(event=Event.REMINDER, severity=Severity.WARNING, title=TITLE, at=timezone.now())
        tell(organisation=world.member.organisation, about=incident.public_id, message=message, channels=[channel])
    assert (queries_of(client, "/alerts/"), queries_of(client, path_of(first))) == few
    assert few[0] <= 16
    assert few[1] <= 24
