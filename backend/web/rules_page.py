"""What the page of rules says: what each looks for in words, and what is suggested. No I/O."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from uuid import UUID

from backend.alerts.judgement.findings import told_by
from backend.alerts.metrics import METRICS, metric_of, written
from backend.alerts.models import Rule
from backend.alerts.parameters import KINDS
from backend.alerts.queries.rules import RuleBrief, RuleRow
from backend.alerts.queries.silent_timings import LOADS, SilentTiming
from backend.alerts.wording import DEEP_RUNS, joined
from backend.analysis.user_timings import is_user_timing
from backend.web import units
from backend.web.phrases import number_of
from backend.web.verdict import Verdict
from backend.web.waterfall.text import printable


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A rule that most people want, and that is not there. `kind` and `params` are what it would be."""

    slug: str
    kind: str
    params: Mapping[str, Any]
    title: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The rules of one site, or of all."""

    name: str
    rows: tuple[RuleRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """The rules of one site in a list of many: how many there are, how many are off, and which have open incidents."""

    site: UUID
    name: str
    rules: int
    off: int
    open: tuple[str, ...]


# The rules of more sites than this are shown a site at a time.
UNFOLDED_SITES = 8

SUGGESTIONS = (
    Suggestion(
        slug="findings",
        kind="finding",
        params={"min_severity": "high"},
        # By what it looks for: messages about whatever it finds name it.
        title="A high or critical cause appeared",
        reason="what costs each new visitor a round trip, as a lost session cache does, or shuts visitors out",
    ),
    Suggestion(
        slug="lcp",
        kind="budget",
        params={"metric": "lcp_ms", "limit": 2_500, "critical_limit": 4_000},
        title="Largest paint over 2.5 s",
        reason="the limit of good in Core Web Vitals",
    ),
    Suggestion(
        slug="ttfb",
        kind="budget",
        params={"metric": "ttfb_ms", "limit": 800, "critical_limit": 1_800},
        title="First byte over 800 ms",
        reason="the limit of good for the first byte",
    ),
    Suggestion(
        slug="failures",
        kind="failures",
        params={"failed": 3, "of_last": 5},
        title="3 of the last 5 runs failed",
        reason="finds what fails now and then without ever being down",
    ),
)


def suggestions_for(rules: Sequence[RuleBrief]) -> list[Suggestion]:
    """Those whose like is not there yet."""
    present = {_like(rule.kind, rule.params) for rule in rules}
    return [one for one in SUGGESTIONS if _like(one.kind, one.params) not in present]


def groups_of(rows: Sequence[RuleRow]) -> list[Group]:
    """Rules by site, those for all sites first; each site's lie together in `rows`."""
    everywhere = tuple(row for row in rows if row.rule.site is None)
    groups = [Group(name="All sites", rows=everywhere)] if everywhere else []
    own = groupby((row for row in rows if row.rule.site is not None), key=lambda row: row.rule.site)
    groups += [Group(name=printable(site.name, 100), rows=tuple(found)) for site, found in own if site is not None]
    return groups


def folded_of(rules: Sequence[RuleBrief]) -> list[Folded]:
    """What there is of each site, in a line; nothing where all of it can be shown."""
    own = [(site, list(found)) for site, found in groupby(rules, key=lambda rule: rule.site) if site is not None]
    if len(own) <= UNFOLDED_SITES:
        return []
    return [
        Folded(
            site=site,
            name=printable(found[0].site_name or "", 100),
            rules=len(found),
            off=sum(not rule.enabled for rule in found),
            open=tuple(rule.title for rule in found if rule.open and rule.enabled),
        )
        for site, found in own
    ]


def verdict_of(rules: Sequence[RuleBrief], untold: Verdict | None = None) -> Verdict:
    """What would wake me? `untold` is what keeps alerts from people: with that not all is well."""
    telling = [rule for rule in rules if rule.enabled and rule.tells]
    if not telling:
        return Verdict(level="warn", title="Nothing would wake you", text=_silence(rules))
    names = dict.fromkeys(name for rule in telling for name in rule.tells)
    told = printable(joined(list(names)[:5]), 300)
    number = number_of(len(telling), "rule")
    if untold is not None:
        text = f"{number} would tell {told}. {untold.text}".strip()
        return Verdict(level=untold.level, title=untold.title, text=text)
    text = f"They tell {told}."
    title = f"{number} would wake you"
    return Verdict(level="good", title=title, text=text)


def wants_channel(rules: Sequence[RuleBrief]) -> bool:
    """Whether some rule would tell somebody, and no channel is there and switched on to do it."""
    wanting = [rule for rule in rules if rule.enabled and rule.notify]
    return bool(wanting) and not any(rule.tells for rule in wanting)


def in_words(rule: Rule) -> str:
    """What a rule looks for, with its figures."""
    describe = _WORDS.get(rule.kind)
    return describe({**KINDS[rule.kind].defaults, **rule.params}) if describe else KINDS[rule.kind].question


def silence_of(silent: Iterable[SilentTiming]) -> list[str]:
    """What a rule goes by and no page tells, in sentences."""
    return [_silent_sentence(one) for one in silent]


def _silent_sentence(one: SilentTiming) -> str:
    name = metric_of(one.timing).label
    if one.site is None:
        return f"No page that this rule looks at follows {name}: choose it in the settings of a site."
    return f"{printable(one.site, 100)}: none of the last {LOADS} page loads from {joined(one.regions)} told {name}."


def _silence(rules: Sequence[RuleBrief]) -> str:
    """Why nobody is told."""
    if not rules:
        return "There is no rule yet."
    if not any(rule.enabled for rule in rules):
        return "No rule is switched on."
    why = "no channel is there and switched on" if wants_channel(rules) else "no rule tells a channel"
    return f"Incidents stand on the alerts page only: {why}."


def _like(kind: str, params: Mapping[str, Any]) -> tuple[str, object]:
    return kind, params.get("metric") or params.get("min_severity")


def _budget(params: Mapping[str, Any]) -> str:
    metric = params["metric"]
    critical = params["critical_limit"]
    also = f", critical over {written(metric, critical)}" if critical is not None else ""
    return f"{metric_of(metric).label} over {written(metric, params['limit'])}{also}; {_count(params)}"


def _count(params: Mapping[str, Any]) -> str:
    regions, of_last = params["regions"], params["of_last"]
    told = " that told it" if is_user_timing(params["metric"]) else ""
    what = f"the last run{told}" if of_last == 1 else f"median of the last {of_last} runs{told}"
    return f"{what} in {regions} region{'' if regions == 1 else 's or more'}"


def _failures(params: Mapping[str, Any]) -> str:
    regions = params["regions"]
    place = "any region" if regions == 1 else f"{regions} regions or more"
    runs = _of_the_last(params["failed"], params["of_last"], "run")
    return f"{runs[:1].upper()}{runs[1:]} failed in {place}"


def _of_the_last(number: int, of_last: int, *nouns: str) -> str:
    if of_last == 1:
        return f"the last {' or '.join(nouns)}"
    return f"{number} of the last {of_last} {' or '.join(f'{noun}s' for noun in nouns)}"


def _regression(params: Mapping[str, Any]) -> str:
    # The name that a page gave stays as it is.
    labels = joined(
        [METRICS[name].label.lower() if name in METRICS else metric_of(name).label for name in params["metrics"]]
    )
    when = "at once" if params["tell"] == "slowdown" else "once it has lasted"
    return f"{labels[:1].upper()}{labels[1:]} slower than usual by {params['min_change_pct']:g} % or more; told {when}"


def _finding(params: Mapping[str, Any]) -> str:
    ids = params["ids"]
    what = f"One of {units.count(len(ids))} chosen causes" if ids else "Any cause"
    if len(ids) == 1:
        what = f"The cause {ids[0]}"
    regions = params["regions"]
    place = "any region" if regions == 1 else f"{regions} regions or more"
    least = "" if params["min_severity"] == "info" else f", {params['min_severity']} or worse"
    if params["min_severity"] == "critical":
        least = " that makes visitors fail"
    kinds = {told_by(id) for id in ids}
    looks = [noun for kind, noun in DEEP_RUNS.items() if kind in kinds or not ids]
    return f"{what}{least}; found by {_of_the_last(params['found'], params['of_last'], *looks)} in {place}"


def _certificate(params: Mapping[str, Any]) -> str:
    days = "1 day" if params["warn_days"] == 1 else f"{params['warn_days']} days"
    critical = params["critical_days"]
    least = "or a quarter of its life where that is less"
    return f"The certificate ends within {days}, {least}; critical within {critical}, or an eighth"


_WORDS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "availability": lambda params: (
        "It cannot be reached" + ("; another region is asked before it counts" if params["confirm"] else "")
    ),
    "failures": _failures,
    "budget": _budget,
    "certificate": _certificate,
    "no_data": lambda params: f"No measurement for {params['intervals']} intervals although agents run",
    "regression": _regression,
    "finding": _finding,
    "cdn": lambda _: "The CDN is slower than the origin, by the verdict of a pairing",
    "agent": lambda params: f"No agent of a region was heard for {units.interval(params['silent_s'])}",
}
