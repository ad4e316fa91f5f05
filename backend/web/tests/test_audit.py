"""The audit log as owners and admins read it."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from backend.accounts import actions, sign_ins
from backend.accounts.audit import acting_with, record
from backend.accounts.models import AuditEntry
from backend.accounts.permissions import Role
from backend.alerts.actions import channels, incidents, rules
from backend.alerts.actions.maintenance import end_maintenance, plan_maintenance
from backend.cast import Member
from backend.gates import actions as gates
from backend.sites import actions as sites
from backend.web.audit_page import KINDS, said
from backend.web.tests.browsing import browsing
from backend.web.tests.incidents import TITLE, make_incident, make_rule
from backend.web.tests.world import World, make_channel, make_gate, make_pairing, make_token
from backend.web.views.audit import SHOWN

pytestmark = pytest.mark.django_db
BACKEND = Path(__file__).parents[2]
# Those whose name is made when they are recorded.
MADE = (
    *("pause_monitor", "resume_monitor", "enable_rule", "disable_rule", "change_rule", "change_role"),
    *("enable_channel", "disable_channel", "acknowledged_incident", "unacknowledged_incident", "muted_incident"),
    *("unmuted_incident", "resolved_incident", "accepted_incident", "comment_incident"),
    *("sign_in", "sign_out", "refuse_sign_in", "change_password"),
    *("enable_second_factor", "disable_second_factor", "renew_recovery_codes"),
)


@pytest.fixture
def signed_in(client: Client, alice: Member) -> Client:
    client.force_login(alice.user)
    return client


def text_of(client: Client, query: str = "") -> str:
    page = client.get(reverse("web:audit") + query).content.decode()
    return " ".join(re.sub(r"<[^>]+>", " ", page.partition("<main")[2]).split())


def test_every_act_that_is_recorded_is_told_in_words() -> None:
    sources = [path.read_text() for path in BACKEND.rglob("*.py") if "tests" not in path.parts]
    written = {name for source in sources for name in re.findall(r"[^_]record\(\s*\"([a-z_]+)\"", source)}
    assert len(written) > 30
    for action in (*written, *MADE):
        assert re.fullmatch(r"[a-z]+(ed|ade|aid|ent|ave|old)\b( [a-zA-Z]+)+", said(action)), (action, said(action))


def test_a_line_says_who_did_what_when_and_from_where(signed_in: Client, world: World, bob: Member) -> None:
    signed_in.post(reverse("web:member_role", args=[bob.membership.pk]), {"role": "viewer"}, REMOTE_ADDR="203.0.113.9")
    text = text_of(signed_in)
    assert f"Changed a role: {bob.user.email} member → viewer {world.member.user.email}" in text
    assert "203.0.113.9" in text
    assert "Times are in UTC. What is older than 400 days is forgotten." in text


def test_what_was_done_to_a_site_that_is_gone_still_says_which_one_it_was(signed_in: Client, world: World) -> None:
    sites.set_paused(actor=world.member.user, monitor=world.monitor("page"), paused=True)
    sites.delete_site(actor=world.member.user, site=world.site)
    assert "Paused a monitor: Shop kind: page" in text_of(signed_in)


def test_what_was_done_to_what_a_site_had_still_says_of_which_site(signed_in: Client, world: World) -> None:
    actor, probe = world.member.user, world.monitor("probe")
    incident = make_incident(world, rule=make_rule(world, "budget", name="Slow shop", monitor=probe))
    incidents.acknowledge(actor=actor, incident=incident)
    incidents.comment(actor=actor, incident=incident, text="Looking.")
    narrow, wide = make_rule(world, monitor=probe), make_rule(world, "agent", site=None)
    for rule in (narrow, wide):
        rules.switch_rule(actor=actor, rule=rule, enabled=False)
        rules.change_rule(actor=actor, rule=rule, settings=rules.settings_of(rule))
        rules.delete_rule(actor=actor, rule=rule)
    now = timezone.now()
    window = plan_maintenance(
        actor=actor, organisation=world.member.organisation, site=world.site, starts_at=now, ends_at=now + timedelta(1)
    )
    end_maintenance(actor=actor, window=window)
    gates.cancel_gate(actor=actor, gate=make_gate(world))
    sites.delete_site(actor=actor, site=world.site)
    text = text_of(signed_in)
    assert f"Acknowledged an incident: {TITLE} site: Shop" in text
    assert f"Commented on an incident: {TITLE} site: Shop" in text
    for act in ("Switched off", "Changed", "Deleted"):
        assert f"{act} a rule: Regression site: Shop monitor: probe" in text
        assert f"{act} a rule: Silent region site: all" in text
    assert "Planned maintenance: Shop" in text
    assert "Ended maintenance: Shop" in text
    assert "Made a gate: Shop" in text
    assert "Cancelled a gate: Shop" in text


def test_settings_are_named_in_words(signed_in: Client, world: World) -> None:
    user, home = world.member.user, world.member.organisation
    changed = ["interval_s", "body_text"]
    record("change_monitor", world.monitor("probe"), actor=user, organisation=home, name="Shop", changed=changed)
    assert "changed: interval, text that must be there" in text_of(signed_in)


def test_each_act_on_a_channel_names_it(signed_in: Client, world: World) -> None:
    channel = make_channel(world.member)
    channels.change_channel(actor=world.member.user, channel=channel, name="night shift")
    channels.rotate_secret(actor=world.member.user, channel=channel)
    text = text_of(signed_in)
    assert "Changed a channel: night shift changed: name" in text
    assert "Gave a channel a new secret: night shift" in text


def test_sign_ins_are_told_of_who_came_and_refusals_of_nobody(signed_in: Client, world: World, bob: Member) -> None:
    sign_ins.note_sign_in(actor=bob.user)
    sign_ins.change_password(actor=bob.user, password="another fine phrase", by_mail=True)
    sign_ins.note_refusal(email=bob.user.email)
    sign_ins.note_refusal(email=bob.user.email)
    sign_ins.note_refusal(email=bob.user.email, why=sign_ins.WRONG_CODE)
    sign_ins.note_second_factor_on(actor=bob.user)
    for query in ("", f"?who={bob.user.email}", "?kind=user"):
        text = text_of(signed_in, query)
        assert f"Signed in {bob.user.email}" in text
        assert f"Changed a password with: a link sent by mail {bob.user.email}" in text
        refused = f"Failed to sign in: {bob.user.email} tries within an hour: 3 of these right password wrong code: 1"
        assert f"{refused} not known" in text
        assert f"Switched on the second factor {bob.user.email}" in text
    assert "to sign in:" not in text_of(signed_in, "?who=service")


def test_what_comes_from_no_known_address_is_done_all_the_same(signed_in: Client, bob: Member) -> None:
    role = reverse("web:member_role", args=[bob.membership.pk])
    assert signed_in.post(role, {"role": "viewer"}, REMOTE_ADDR="").status_code == 302
    assert "member → viewer" in text_of(signed_in)


def test_what_a_token_did_names_it_and_what_a_monitor_lost_names_its_site(signed_in: Client, world: World) -> None:
    token = make_token(world.member)
    with acting_with(token):
        monitor = world.monitor("probe")
        record("pause_monitor", monitor, actor=world.member.user, organisation=world.member.organisation)
    text = text_of(signed_in)
    assert f"Paused a monitor: {world.site.name}" in text
    assert f"with the token {token}" in text


def test_ids_and_times_in_what_is_known_of_an_act_are_told_as_people_say_them(signed_in: Client, world: World) -> None:
    make_gate(world)
    record("create_organisation", world.member.organisation, actor=None, organisation=world.member.organisation)
    now = timezone.now()
    member = world.member
    later, organisation = now + timedelta(hours=1), member.organisation
    plan_maintenance(actor=member.user, organisation=organisation, site=None, starts_at=now, ends_at=later)
    text = text_of(signed_in)
    assert f"Made a gate: {world.site.name}" in text
    assert "Made an organisation: Acme" in text
    assert str(world.site.public_id) not in text
    assert re.search(r"starts at: \d+ [A-Z][a-z]+ \d{4} \d\d:\d\d:\d\d ", text)


def test_it_is_read_in_parts_that_keep_the_filter(signed_in: Client, world: World) -> None:
    organisation = world.member.organisation
    for number in range(SHOWN + 5):
        record("add_region", world.region, actor=world.member.user, organisation=organisation, code=f"r{number}")
    AuditEntry.objects.filter(action="add_region").update(at=timezone.now() - timedelta(days=1))
    page = signed_in.get(reverse("web:audit") + "?kind=region").content.decode()
    (older,) = re.findall(r'href="(\?kind=region&amp;before=[^"]+)"', page)
    codes = re.findall(r"Added a region: (r\d+)", page)
    assert len(codes) == SHOWN
    rest = signed_in.get(reverse("web:audit") + older.replace("&amp;", "&")).content.decode()
    codes += re.findall(r"Added a region: (r\d+)", rest)
    assert codes == [f"r{number}" for number in reversed(range(SHOWN + 5))]
    assert f'href="{reverse("web:audit")}?kind=region"' in rest
    assert "Saved a site" not in page


@pytest.mark.parametrize("query", ["?who=nobody%40x", "?kind=%00", "?before=x,1", "?who=%00&kind=site%27"])
def test_an_address_that_asks_for_nothing_there_is_shows_all(signed_in: Client, world: World, query: str) -> None:
    assert "Saved a site" in text_of(signed_in, query)


def test_where_nothing_was_done_it_says_how_to_see_all(signed_in: Client, world: World) -> None:
    text = text_of(signed_in, "?kind=upload")
    assert "Nobody did anything of this kind. Show all" in text


def test_as_many_statements_for_many_acts_as_for_few(signed_in: Client, world: World) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as caught:
            text_of(signed_in)
        return len(caught)

    statements()
    few = statements()
    for _ in range(40):
        record("pause_monitor", world.monitor("page"), actor=world.member.user, organisation=world.member.organisation)
    assert statements() == few


def test_every_kind_of_thing_that_is_recorded_can_be_asked_for(world: World) -> None:
    make_channel(world.member)
    make_token(world.member)
    actions.create_organisation(actor=world.member.user, name="Initech")
    assert {entry.object_type for entry in AuditEntry.objects.all()} <= KINDS.keys()


@pytest.mark.django_db(transaction=True)
def test_the_page_is_accessible_in_every_look(world: World, server: LiveServer) -> None:
    bob = actions.add_member(
        actor=world.member.user, organisation=world.member.organisation, email="b@acme.example", role=Role.VIEWER
    )
    actions.remove_member(actor=world.member.user, membership=bob.membership)
    with browsing(world, server) as site:
        site.look_over(reverse("web:audit"))
        assert site.complaints == []


def test_addresses_are_called_what_their_forms_call_them(signed_in: Client, world: World) -> None:
    make_pairing(world.site)
    text = text_of(signed_in)
    assert "address: https://shop.example/" in text
    assert "asset at the CDN: https://cdn.shop.example/app.js" in text
    assert "url:" not in text
