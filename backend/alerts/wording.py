"""What incidents say: the title, the sentences, the facts, and what a program reads. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from backend.alerts.judgement.blindness import Why
from backend.alerts.judgement.findings import told_by
from backend.alerts.message import MUTING, Event, Fact, Link, Message, Severity
from backend.alerts.metrics import metric_of, written, written_apart
from backend.alerts.states import WORDS, State
from backend.instants import from_us
from workers.diagnosis.catalogue import advice_of
from workers.diagnosis.catalogue import title_of as cause_title
from workers.measurement.finding import FindingId
from workers.measurement.messages import Kind

# What a run is called that looked for causes.
DEEP_RUNS = {Kind.PROBE: "deep probe", Kind.PAGE: "page load"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One member of an incident as it is told. `regions` are names, `facts` those of its standing; `ended_at` is when
    it was good again, None while it goes on."""

    kind: str
    rule: str
    state: State
    metric: str
    regions: tuple[str, ...]
    since: datetime
    facts: Mapping[str, Any]
    before_run: str | None = None
    after_run: str | None = None
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """An incident as it is told: `name` is the site's or the region's, `accounts` what its members say, worst first;
    `worst` is the worst state that it was in, `began_at` when it began last, None where it was never over meanwhile, or
    `came_and_went`."""

    incident_id: str
    name: str
    site_id: str | None
    cause: str
    state: State
    worst: State
    severity: Severity
    opened_at: datetime
    accounts: tuple[Account, ...]
    began_at: datetime | None = None
    came_and_went: bool = False

    @property
    def since(self) -> datetime:
        """When what is told of now began."""
        return self.began_at or self.opened_at


def title_of(name: str, account: Account) -> str:
    """What is wrong, where, in one line."""
    return _TITLES[account.kind](name, account)


def message_of(event: Event, story: Story, *, at: datetime, note: str = "", flapping: bool = False) -> Message:
    """What channels are told. `note` is a sentence about this very change."""
    lead = story.accounts[0]
    over = event in (Event.RECOVERED, Event.RESOLVED)
    title = _over_title(story, lead, event, _lasted(story, at)) if over else title_of(story.name, lead)
    if flapping:
        title = f"{title}: it keeps coming and going"
    sentences = [note] if note else []
    if event is Event.REMINDER:
        # Else it looks like the same message sent twice.
        title = f"Reminder: {title}"
        sentences.append(f"It has gone on for {length(at - story.since)}, and nobody has acknowledged it.")
    if over:
        sentences += [account.facts["end"] for account in story.accounts if "end" in account.facts]
    else:
        sentences += [sentence for account in story.accounts for sentence in _sentences(account)]
        sentences += [f"Also: {title_of(story.name, account)}." for account in story.accounts[1:]]
    return Message(
        event=event,
        severity=story.severity,
        title=title,
        at=at,
        sentences=tuple(sentences),
        facts=_facts(story, lead, at, over=over),
        context=(f"Rule: {lead.rule}",),
        links=_links(story, lead, over=over),
        data=_data(story, flapping=flapping),
    )


def joined(names: Sequence[str]) -> str:
    """Names in a sentence."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def length(spent: timedelta) -> str:
    """How long something took, in words."""
    seconds = max(0, round(spent.total_seconds()))
    if seconds < 60:
        return f"{seconds} s"
    minutes, hours = seconds // 60, seconds // 3600
    if minutes < 120:
        return f"{minutes} min"
    if hours < 48:
        return f"{hours} h {minutes % 60} min"
    days, rest = divmod(hours, 24)
    # Whole days alone would leave out a third of two of them.
    return f"{days} days {rest} h" if rest and days < 10 else f"{days} days"


def lasted(spent: timedelta, facts: Mapping[str, Any]) -> str:
    """How long something took that ended with these facts: less, where nobody saw the end."""
    return f"at most {length(spent)}" if "end" in facts else length(spent)


def clock(at: datetime) -> str:
    """An instant as everybody reads it alike: channels do not know their readers' zones."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def deploy_at(name: str, at: datetime) -> str:
    """A release by its name, which it may lack, and when it was in force."""
    return f"the deploy{f' of {name}' if name else ''} at {clock(at)}"


def _availability(name: str, account: Account) -> str:
    detail = str(account.facts.get("detail") or "")
    reason = f": {detail.rstrip('.')}" if detail else ""
    if account.state is State.DEGRADED:
        return f"{name} is down in {joined(account.regions)} only{reason}"
    where = f" in {joined(account.regions)}" if account.facts.get("up") or len(account.regions) == 1 else ""
    return f"{name} is down{where}{reason}"


def _failures(name: str, account: Account) -> str:
    failed = of_last(account.facts["failed"], account.facts["of_last"], "run")
    return f"{name}: {failed} failed in {joined(account.regions)}"


def of_last(some: int, among: int, what: str) -> str:
    """So many of the last ones; the last one where no more are looked at."""
    return f"{some} of the last {among} {what}s" if among > 1 else f"the last {what}"


def _budget(name: str, account: Account) -> str:
    facts, metric = account.facts, account.facts["metric"]
    value, limit = written_apart(metric, facts["value"], facts["limit"])
    return f"{name}: {metric_of(metric).label} {value} in {joined(account.regions)}, over the limit of {limit}"


def budget_evidence(facts: Mapping[str, Any]) -> str:
    """What a budget was held against when it was told: no single run opens an incident."""
    value, limit = written_apart(facts["metric"], facts["value"], facts["limit"])
    of_last = facts.get("of_last", 1)
    what = f"The median of the last {of_last} runs was {value}" if of_last > 1 else f"The last run took {value}"
    return f"{what}; the limit is {limit}."


def _certificate(name: str, account: Account) -> str:
    days, host = account.facts["days"], account.facts["host"]
    ends = from_us(account.facts["ends_us"])
    if days <= 0 and account.facts.get("expired"):
        return f"{name}: the certificate of {host} has expired"
    left = f"{days} day{'' if days == 1 else 's'}" if days else "less than a day"
    return f"{name}: the certificate of {host} ends in {left}, on {ends:%Y-%m-%d}"


def _no_data(name: str, account: Account) -> str:
    return f"{name}: no measurement since {clock(account.since)}, although agents are running"


def _regression(name: str, account: Account) -> str:
    facts, metric = account.facts, account.metric
    level, baseline = written_apart(metric, facts["level"], facts["baseline"])
    where = f" in {joined(account.regions)}" if account.regions else ""
    only = " only" if account.state is State.DEGRADED else ""
    return f"{name} is slower{where}{only}: {metric_of(metric).label} {level} (was {baseline})"


def _cdn(name: str, account: Account) -> str:
    return str(account.facts.get("title") or f"{name}: the CDN is slower than the origin")


def _finding(name: str, account: Account) -> str:
    saving_us = account.facts.get("saving_us")
    cost = f", which costs {written('ttfb_ms', saving_us / 1000)}" if saving_us else ""
    where = f" in {joined(account.regions)}" if account.regions else ""
    return f"{name}: {_cause_title(account)}{cost}{where}"


def _cause_title(account: Account) -> str:
    """The finding in today's words, within a sentence; by its id where it is one that we do not know any more."""
    id = str(account.facts.get("finding", ""))
    severity = str(account.facts.get("severity"))
    title = cause_title(FindingId(id), severity) if id in set(FindingId) else id
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]


def _agent(name: str, account: Account) -> str:
    match account.facts.get("why"):
        case Why.CUT_OFF:
            return f"Region {name} has reached none of its sites since {clock(account.since)}"
        case Why.IDLE:
            return f"Region {name} has brought no measurement since {clock(account.since)}, although agents are running"
    return f"Region {name} is silent: no agent heard since {clock(account.since)}"


_TITLES = {
    "availability": _availability,
    "failures": _failures,
    "budget": _budget,
    "certificate": _certificate,
    "no_data": _no_data,
    "regression": _regression,
    "finding": _finding,
    "cdn": _cdn,
    "agent": _agent,
}
_OVER = {
    "availability": "{name} can be reached again",
    "speed": "{name} is as fast as it was",
    "certificate": "{name} has a certificate with time left",
    "no_data": "{name} is measured again",
    "finding": "{name}: what was found is mended",
    "cdn": "{name}: the CDN is no longer slower than the origin",
    "agent": "Region {name} is back",
}


def _lasted(story: Story, at: datetime) -> str:
    """To the end, which may be told much later: after a silence, or once it is sure."""
    last = max(story.accounts, key=lambda account: account.ended_at or at)
    return lasted((last.ended_at or at) - story.since, last.facts)


def _over_title(story: Story, lead: Account, event: Event, spent: str) -> str:
    if event is Event.RESOLVED:
        return f"Closed after {spent}: {title_of(story.name, lead)}"
    title = _OVER[story.cause].format(name=story.name)
    if lead.kind == "availability" and story.worst is State.DEGRADED:
        title = f"{story.name} can be reached from everywhere again"
    if all(account.kind == "budget" for account in story.accounts):
        title = f"{story.name} is within its limits again"
    if all(account.kind == "failures" for account in story.accounts):
        title = f"{story.name}: runs no longer fail"
    if lead.kind == "finding":
        title = f"{story.name}: mended: {_cause_title(lead)}"
    return f"{title}, after {spent}{' of coming and going' if story.came_and_went else ''}"


def _sentences(account: Account) -> list[str]:
    """Since when, on what evidence, and what is suspected."""
    facts = account.facts
    told = [f"Since {clock(account.since)}."]
    if account.kind == "availability" and facts.get("up"):
        told.append(f"It can be reached from {joined(facts['up'])}.")
    if facts.get("why") == Why.CUT_OFF:
        told.append("Other regions reach sites that it does not: it is the network of its agents that is broken.")
    if account.kind == "agent":
        told.append(_not_measured(facts["monitors"]))
    if account.kind in ("failures", "no_data") and facts.get("detail"):
        told.append(f"The last failure: {str(facts['detail']).rstrip('.')}.")
    if account.kind == "budget":
        told.append(budget_evidence(facts))
    if account.kind == "finding":
        told += _about_finding(facts)
    told += [str(sentence) for sentence in facts.get("sentences", ())]
    return told


def _not_measured(monitors: int) -> str:
    if monitors == 1:
        return "1 monitor is not measured there; its site raises no alert of its own for it."
    return f"{monitors} monitors are not measured there; their sites raise no alerts of their own for it."


def _about_finding(facts: Mapping[str, Any]) -> list[str]:
    look = DEEP_RUNS[told_by(str(facts["finding"]))]
    told = [f"Seen in {of_last(facts['seen'], facts['looked'], look)}."]
    if facts["finding"] in set(FindingId):
        told.append(_first_sentence(advice_of(FindingId(facts["finding"]), facts.get("severity", ""))))
    return told


def _first_sentence(text: str) -> str:
    """Up to the first full stop that ends a sentence: those of versions and names have no space behind them."""
    end = text.find(". ")
    return text if end < 0 else text[: end + 1]


def _facts(story: Story, lead: Account, at: datetime, *, over: bool) -> tuple[Fact, ...]:
    facts = [Fact(label="Region" if story.site_id is None else "Site", value=story.name)]
    if lead.regions and story.site_id is not None and not over:
        facts.append(Fact(label="Regions", value=joined(lead.regions)))
    if over:
        return (*facts, Fact(label="Since", value=clock(story.since)), Fact(label="Lasted", value=_lasted(story, at)))
    is_again = clock(lead.since) != clock(story.opened_at)
    facts.append(Fact(label="First opened" if is_again else "Since", value=clock(story.opened_at)))
    return (*facts, Fact(label="State", value=WORDS[story.state]))


def _links(story: Story, lead: Account, *, over: bool) -> tuple[Link, ...]:
    """Each name stands by itself, since most incidents have no run before them. What is over cannot be muted."""
    links = [Link(label="Open the incident", path=f"/alerts/{story.incident_id}/")]
    if lead.before_run:
        links.append(Link(label="Last run without it", path=f"/runs/{lead.before_run}/"))
    if lead.after_run:
        links.append(Link(label=f"A run that {'showed' if over else 'shows'} it", path=f"/runs/{lead.after_run}/"))
    if not over:
        links.append(Link(label="Mute", path=f"/alerts/{story.incident_id}/{MUTING}"))
    return tuple(links)


def _data(story: Story, *, flapping: bool) -> dict[str, Any]:
    return {
        "incident": story.incident_id,
        "site": None if story.site_id is None else {"id": story.site_id, "name": story.name},
        "region": story.name if story.site_id is None else None,
        "cause": story.cause,
        "state": story.state.value,
        "severity": story.severity.value,
        "opened_at": story.opened_at.isoformat(),
        "flapping": flapping,
        "members": [
            {
                "kind": account.kind,
                "metric": account.metric or None,
                "finding": account.facts.get("finding"),
                "state": account.state.value,
                "regions": list(account.regions),
                "since": account.since.isoformat(),
                "before_run": account.before_run,
                "after_run": account.after_run,
            }
            for account in story.accounts
        ],
    }
