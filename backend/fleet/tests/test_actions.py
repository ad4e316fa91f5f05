from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from pytest_django import DjangoAssertNumQueries

from backend.accounts.models import AuditEntry
from backend.cast import Member
from backend.fleet import actions, queries
from backend.fleet.credentials import Credentials, digest
from backend.fleet.models import Agent, Region
from backend.fleet.queries import Health
from backend.fleet.tests.accounts import accounts_at
from backend.tests.side_by_side import both_having_read
from workers.measurement.messages import Heartbeat

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
BEAT = Heartbeat(
    agent="box-1", agent_version="0.1.0", sent_at=NOW + timedelta(seconds=3), browser_version="156.0", spooled=2
)


@pytest.fixture
def eu(alice: Member, broker: str) -> Credentials:
    return actions.add_region(actor=alice.user, organisation=alice.organisation, code="eu", name="Frankfurt")


def test_only_digests_of_the_secrets_are_kept(eu: Credentials) -> None:
    stored = " ".join(str(value) for value in Region.objects.values().get().values())
    assert eu.token not in stored
    assert eu.broker_password not in stored
    assert digest(eu.token) in stored


def test_secrets_stay_out_of_reprs_and_of_the_audit_log(eu: Credentials) -> None:
    assert eu.token not in repr(eu)
    assert eu.token not in str(AuditEntry.objects.values().get(action="add_region"))


def test_a_region_is_found_by_its_token(eu: Credentials) -> None:
    found = queries.region_by_token(eu.token)
    assert found is not None
    assert found.code == "eu"


@pytest.mark.parametrize(
    "token", ["", "fb_agent_", "fb_user_x", "fb_agent_" + "a" * 43, "fb_agent_" + "a" * 4096, "fb_agent_\0"]
)
def test_no_other_token_finds_a_region(eu: Credentials, token: str) -> None:
    assert queries.region_by_token(token) is None


def test_a_disabled_region_has_no_token(eu: Credentials) -> None:
    Region.objects.update(enabled=False)
    assert queries.region_by_token(eu.token) is None


def test_a_region_that_was_removed_meanwhile_comes_back_by_nothing(eu: Credentials, alice: Member, broker: str) -> None:
    read_before = Region.objects.get()
    actions.remove_region(actor=alice.user, region=Region.objects.get())
    for act in (actions.rotate_token, actions.remove_region):
        with pytest.raises(actions.RegionError, match="Region eu was removed"):
            act(actor=alice.user, region=read_before)
    assert not Region.objects.get().enabled
    assert "region-eu" not in accounts_at(broker)


def test_new_secrets_change_nothing_else_of_a_region(eu: Credentials, alice: Member) -> None:
    read_before = Region.objects.get()
    actions.record_heartbeat(region=Region.objects.get(), heartbeat=BEAT, now=NOW)
    Region.objects.update(name="Frankfurt am Main")
    actions.rotate_token(actor=alice.user, region=read_before)
    now = Region.objects.get()
    assert (now.name, now.joined_at) == ("Frankfurt am Main", NOW)


@pytest.mark.parametrize("code", ["", "e", "EU", "eu_west", "-eu", "eu-", "eu:us", "e" * 21, "eu\n", "*"])
def test_a_code_that_could_mislead_the_broker_is_refused(alice: Member, broker: str, code: str) -> None:
    with pytest.raises(actions.RegionError, match="lower-case letters"):
        actions.add_region(actor=alice.user, organisation=alice.organisation, code=code, name="x")


@pytest.mark.parametrize("name", ["Frank\nfurt", "\x1b[2KFrankfurt", "turned \u202e round"])
def test_a_name_that_would_change_the_line_it_stands_in_is_refused(alice: Member, broker: str, name: str) -> None:
    with pytest.raises(actions.RegionNameError, match="one line"):
        actions.add_region(actor=alice.user, organisation=alice.organisation, code="eu", name=name)


def test_a_code_is_given_once(eu: Credentials, charlie: Member) -> None:
    with pytest.raises(actions.RegionError, match="choose another"):
        actions.add_region(actor=charlie.user, organisation=charlie.organisation, code="eu", name="x")


@pytest.mark.django_db(transaction=True)
def test_of_two_organisations_that_want_one_code_at_once_one_is_refused_it(
    alice: Member, charlie: Member, broker: str
) -> None:
    homes = (alice.organisation, charlie.organisation)

    def add(number: int) -> None:
        actions.add_region(actor=None, organisation=homes[number], code="ap", name="")

    refused = both_having_read('SELECT 1 AS "a" FROM "fleet_region"', add)
    assert [type(error) for error in refused] == [actions.RegionError]
    assert Region.objects.filter(code="ap").count() == 1


def test_regions_and_members_are_bounded(eu: Credentials, alice: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions, "MAX_REGIONS", 1)
    with pytest.raises(actions.RegionError, match="no more can be added"):
        actions.add_region(actor=alice.user, organisation=alice.organisation, code="us", name="x")


def test_a_heartbeat_is_kept_with_the_skew_of_the_clock(eu: Credentials) -> None:
    agent = actions.record_heartbeat(region=Region.objects.get(), heartbeat=BEAT, now=NOW)
    assert (agent.name, agent.browser_version, agent.clock_skew_us, agent.spooled) == ("box-1", "156.0", 3_000_000, 2)
    assert Agent.objects.count() == 1


def test_hostile_words_of_an_agent_are_bounded_and_printable(eu: Credentials) -> None:
    beat = replace(BEAT, agent="a\0b\n" * 100, agent_version="9" * 500, spooled=-5, spool_fault="x\0" * 500)
    agent = actions.record_heartbeat(region=Region.objects.get(), heartbeat=beat, now=NOW)
    assert (len(agent.name), len(agent.version), agent.spooled, agent.spool_fault) == (100, 40, 0, "x" * 300)
    assert agent.name.isprintable()


def test_a_region_cannot_fill_the_table_with_agents(eu: Credentials, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions, "MAX_AGENTS", 1)
    region = Region.objects.get()
    actions.record_heartbeat(region=region, heartbeat=BEAT, now=NOW)
    actions.record_heartbeat(region=region, heartbeat=BEAT, now=NOW)
    with pytest.raises(actions.RegionError, match="no more"):
        actions.record_heartbeat(region=region, heartbeat=replace(BEAT, agent="box-2"), now=NOW)


def test_a_region_has_joined_since_its_first_heartbeat(eu: Credentials, alice: Member) -> None:
    assert queries.joined_regions(alice.organisation) == []
    for now in (NOW, NOW + timedelta(minutes=1)):
        actions.record_heartbeat(region=Region.objects.get(), heartbeat=BEAT, now=now)
    assert [region.joined_at for region in queries.joined_regions(alice.organisation)] == [NOW]


def test_a_region_whose_agents_are_forgotten_is_offline_and_was_not_never_there(eu: Credentials, alice: Member) -> None:
    def health() -> Health:
        return queries.regions_for(alice.organisation, now=NOW)[0].health

    assert health() is Health.NEVER
    actions.record_heartbeat(region=Region.objects.get(), heartbeat=BEAT, now=NOW - timedelta(days=400))
    actions.forget_agents(before=NOW)
    assert health() is Health.OFFLINE


def test_agents_not_seen_for_long_are_forgotten(eu: Credentials) -> None:
    actions.record_heartbeat(region=Region.objects.get(), heartbeat=BEAT, now=NOW)
    assert actions.forget_agents(before=NOW) == 0
    assert actions.forget_agents(before=NOW + timedelta(seconds=1)) == 1


@pytest.mark.parametrize(
    ("age_s", "health"),
    [(0, Health.ONLINE), (44.9, Health.ONLINE), (45, Health.LATE), (89.9, Health.LATE), (90, Health.OFFLINE)],
)
def test_health_follows_from_the_age_of_the_last_heartbeat(age_s: float, health: Health) -> None:
    assert queries.health_at(NOW - timedelta(seconds=age_s), NOW) is health


def test_a_region_is_as_healthy_as_its_best_agent(eu: Credentials, alice: Member) -> None:
    region = Region.objects.get()
    actions.record_heartbeat(region=region, heartbeat=BEAT, now=NOW - timedelta(hours=1))
    actions.record_heartbeat(region=region, heartbeat=replace(BEAT, agent="box-2"), now=NOW)
    (state,) = queries.regions_for(alice.organisation, now=NOW)
    assert (state.health, state.last_seen_at) == (Health.ONLINE, NOW)
    assert [one.health for one in state.agents] == [Health.ONLINE, Health.OFFLINE]


def test_regions_of_another_organisation_are_not_seen(eu: Credentials, charlie: Member, broker: str) -> None:
    actions.add_region(actor=None, organisation=None, code="shared", name="Everywhere")
    assert [region.code for region in queries.usable_regions(charlie.organisation)] == ["shared"]
    assert queries.owned_region(charlie.organisation, "eu") is None


def test_regions_cost_two_statements(
    eu: Credentials, alice: Member, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    actions.add_region(actor=None, organisation=None, code="us", name="Virginia")
    with django_assert_num_queries(2):
        states = queries.regions_for(alice.organisation, now=NOW)
    assert [state.health for state in states] == [Health.NEVER, Health.NEVER]


@pytest.mark.parametrize(
    ("told_s", "sent_s", "skew_s"),
    [
        pytest.param(None, -30, -30, id="an older agent says nothing: it is guessed from when the heartbeat was read"),
        pytest.param(0, -30, 0, id="a heartbeat that lay unread while we began makes no clock wrong"),
        pytest.param(-7.3, -37, -7.3, id="nor does it make a clock that is behind look worse"),
        pytest.param(0, 3, 3, id="what was sent later than now is of a clock that is ahead, whatever it was held for"),
        pytest.param(-3600, -0.02, -0.02, id="a clock that was set right is so at once"),
        pytest.param(60, 59.9, 60, id="a clock that is ahead is so by what its agent knows"),
    ],
)
def test_the_agent_knows_its_clock_better_than_when_its_heartbeat_was_read(
    eu: Credentials, told_s: float | None, sent_s: float, skew_s: float
) -> None:
    ahead_us = None if told_s is None else round(told_s * 1e6)
    beat = replace(BEAT, sent_at=NOW + timedelta(seconds=sent_s), clock_ahead_us=ahead_us)
    agent = actions.record_heartbeat(region=Region.objects.get(), heartbeat=beat, now=NOW)
    assert agent.clock_skew_us == round(skew_s * 1e6)


def test_no_word_of_an_agent_on_its_clock_is_too_large_to_keep(eu: Credentials) -> None:
    beat = replace(BEAT, clock_ahead_us=10**30)
    agent = actions.record_heartbeat(region=Region.objects.get(), heartbeat=beat, now=NOW)
    agent.refresh_from_db()
    assert agent.clock_skew_us > 10**15
