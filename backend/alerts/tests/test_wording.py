"""The sentences of incidents."""

from datetime import UTC, datetime, timedelta

import pytest

from backend.alerts.message import Event, Message, Severity
from backend.alerts.metrics import written, written_apart
from backend.alerts.states import WORDS, State
from backend.alerts.wording import Account, Story, clock, length, message_of, title_of

NOW = datetime(2026, 11, 21, 22, 29, tzinfo=UTC)


@pytest.mark.parametrize(
    ("state", "word"),
    [
        (State.DEGRADED, "degraded"),
        (State.REGRESSED, "slower than it was"),
        (State.FAILING, "failing"),
        (State.NO_DATA, "not measured"),
    ],
)
def test_messages_name_a_state_as_pages_do(state: State, word: str) -> None:
    account = Account(
        kind="availability", rule="Rule", state=state, metric="", regions=("Local A",), since=NOW, facts={}
    )
    story = Story(
        incident_id="1", name="Shop", site_id="2", cause="availability", state=state, worst=state,
        severity=Severity.WARNING, opened_at=NOW, accounts=(account,),
    )  # fmt: skip
    facts = {fact.label: fact.value for fact in message_of(Event.OPENED, story, at=NOW).facts}
    assert facts["State"] == word == WORDS[state]


@pytest.mark.parametrize("detail", ["The server reset the connection", "The server reset the connection."])
def test_failures_now_and_then_say_why_the_last_one_failed(detail: str) -> None:
    account = Account(
        kind="failures", rule="Rule", state=State.FAILING, metric="", regions=("Local A",), since=NOW,
        facts={"failed": 3, "of_last": 5, "detail": detail},
    )  # fmt: skip
    story = Story(
        incident_id="1", name="Shop", site_id="2", cause="availability", state=State.FAILING, worst=State.FAILING,
        severity=Severity.WARNING, opened_at=NOW, accounts=(account,),
    )  # fmt: skip
    message = message_of(Event.OPENED, story, at=NOW)
    assert message.title == "Shop: 3 of the last 5 runs failed in Local A"
    assert message.sentences == (f"Since {clock(NOW)}.", "The last failure: The server reset the connection.")


@pytest.mark.parametrize(
    ("kind", "facts", "said"),
    [
        ("failures", {"failed": 1, "of_last": 1}, "Shop: the last run failed in Local A"),
        ("failures", {"failed": 1, "of_last": 2}, "Shop: 1 of the last 2 runs failed in Local A"),
        ("finding", {"finding": "tls.record_overflow", "seen": 1, "looked": 1}, "Seen in the last deep probe."),
        ("finding", {"finding": "page.third_party_blocking", "seen": 1, "looked": 1}, "Seen in the last page load."),
        ("finding", {"finding": "tls.record_overflow", "seen": 1, "looked": 2}, "Seen in 1 of the last 2 deep probes."),
    ],
)
def test_one_run_alone_is_not_counted(kind: str, facts: dict[str, object], said: str) -> None:
    account = Account(
        kind=kind, rule="Rule", state=State.FAILING, metric="", regions=("Local A",), since=NOW, facts=facts
    )  # fmt: skip
    story = Story(
        incident_id="1", name="Shop", site_id="2", cause=kind, state=State.FAILING, worst=State.FAILING,
        severity=Severity.WARNING, opened_at=NOW, accounts=(account,),
    )  # fmt: skip
    message = message_of(Event.OPENED, story, at=NOW)
    assert said in (message.title, *message.sentences)


@pytest.mark.parametrize(
    ("before", "event", "names"),
    [
        (None, Event.OPENED, ["A run that shows it", "Mute"]),
        ("7", Event.WORSE, ["Last run without it", "A run that shows it", "Mute"]),
        (None, Event.RECOVERED, ["A run that showed it"]),
    ],
)
def test_a_link_says_what_is_to_be_seen_there_and_leads_to_nothing_that_is_over(
    before: str | None, event: Event, names: list[str]
) -> None:
    account = Account(
        kind="availability", rule="Rule", state=State.FAILING, metric="", regions=("Local A",), since=NOW, facts={},
        before_run=before, after_run="8",
    )  # fmt: skip
    story = Story(
        incident_id="1", name="Shop", site_id="2", cause="availability", state=State.FAILING, worst=State.FAILING,
        severity=Severity.CRITICAL, opened_at=NOW, accounts=(account,),
    )  # fmt: skip
    links = message_of(event, story, at=NOW).links
    assert [link.label for link in links] == ["Open the incident", *names]


def told(
    value: float, limit: float, *, opened_before: timedelta = timedelta(0), event: Event = Event.OPENED
) -> Message:
    account = Account(
        kind="budget",
        rule="Budget",
        state=State.DEGRADED,
        metric="",
        regions=("Local A",),
        since=NOW,
        facts={"metric": "ttfb_ms", "value": value, "limit": limit, "of_last": 3},
    )
    story = Story(
        incident_id="1",
        name="Shop",
        site_id="2",
        cause="speed",
        state=State.DEGRADED,
        worst=State.DEGRADED,
        severity=Severity.WARNING,
        opened_at=NOW - opened_before,
        accounts=(account,),
    )
    return message_of(event, story, at=NOW)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 ms"),
        (0.5, "0.50 ms"),
        (0.04, "0.04 ms"),
        (0.6, "0.60 ms"),
        (1.433, "1.4 ms"),
        (9.96, "10 ms"),
        (12, "12 ms"),
        (10_200, "10.20 s"),
    ],
)
def test_few_milliseconds_are_told_with_a_fraction_and_none_is_said_to_have_taken_none(value: float, text: str) -> None:
    assert written("ttfb_ms", value) == text


@pytest.mark.parametrize(
    ("metric", "value", "limit", "texts"),
    [
        ("ttfb_ms", 328.2, 285, ("328 ms", "285 ms")),
        ("ttfb_ms", 262.31, 262, ("262.3 ms", "262.0 ms")),
        ("lcp_ms", 2_500.4, 2_500, ("2.5004 s", "2.5000 s")),
        ("cls", 0.1004, 0.1, ("0.1004", "0.1000")),
        ("bytes", 1_200_400, 1_200_000, ("1.2004 MB", "1.2000 MB")),
        ("requests", 61, 60, ("61", "60")),
    ],
)
def test_what_is_over_a_limit_is_never_written_like_the_limit(
    metric: str, value: float, limit: float, texts: tuple[str, str]
) -> None:
    assert written_apart(metric, value, limit) == texts


def test_a_budget_says_what_was_held_against_its_limit() -> None:
    message = told(262.31, 262)
    assert message.title == "Shop: First byte 262.3 ms in Local A, over the limit of 262.0 ms"
    assert message.sentences == (
        "Since 2026-11-21 22:29 UTC.",
        "The median of the last 3 runs was 262.3 ms; the limit is 262.0 ms.",
    )


@pytest.mark.parametrize(
    ("hours", "told"),
    [(1.5, "90 min"), (47, "47 h 0 min"), (71, "2 days 23 h"), (72, "3 days"), (200, "8 days 8 h"), (263, "10 days")],
)
def test_a_length_is_told_to_a_tenth(hours: float, told: str) -> None:
    assert length(timedelta(hours=hours)) == told


def test_one_message_names_no_two_times_for_one_thing() -> None:
    assert ("Since", "2026-11-21 22:29 UTC") in [(fact.label, fact.value) for fact in told(328, 285).facts]
    again = [(fact.label, fact.value) for fact in told(328, 285, opened_before=timedelta(minutes=4)).facts]
    assert ("First opened", "2026-11-21 22:25 UTC") in again
    assert "Since" not in dict(again)
    over = told(328, 285, opened_before=timedelta(minutes=4), event=Event.RECOVERED)
    assert "Since" in [fact.label for fact in over.facts]


def test_what_became_more_is_never_written_like_what_it_was() -> None:
    account = Account(
        kind="regression",
        rule="Regression",
        state=State.REGRESSED,
        metric="tls_round_trips",
        regions=(),
        since=NOW,
        facts={"level": 2.4, "baseline": 1.9},
    )
    assert title_of("Shop", account) == "Shop is slower: Round trips of TLS 2.4 (was 1.9)"
