"""What is said of sites side by side: who is quickest, from where and by how much, or why it cannot be told. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from backend.analysis.side_by_side import DOUBT, LEAST_BLOCKS, Difference
from backend.runs.queries.days import DAY_S
from backend.runs.queries.side_by_side import SideBySide
from backend.sites.models import Monitor
from backend.web import units
from backend.web.phrases import listed, number_of
from backend.web.waterfall.text import printable

_NAME_CHARS = 60
# More regions than these are counted.
_NAMED = 3
SURELY = f"{100 * (1 - DOUBT):.0f} %"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`text` says on what it stands, and what else is sure."""

    level: Literal["good", "info", "warn"]
    mark: str
    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What is sure of a difference; `mark` says it without a colour."""

    level: Literal["good", "bad", "quiet"]
    mark: str
    word: str


def name_of(monitor: Monitor) -> str:
    return printable(monitor.site.name, _NAME_CHARS)


def signed(us: float) -> str:
    """`+120 ms`."""
    return f"{'+' if round(us) > 0 else ''}{units.duration(round(us))}"


def interval_of(difference: Difference) -> str:
    """`90 ms to 150 ms`."""
    return f"{units.duration(round(difference.low_us))} to {units.duration(round(difference.high_us))}"


def told_of(difference: Difference) -> Told:
    """Of the site that is held against another."""
    if difference.is_slower:
        return Told(level="bad", mark="▲", word="slower")
    if difference.is_faster:
        return Told(level="good", mark="▼", word="quicker")
    return Told(level="quiet", mark="≈", word="cannot be told apart")


def verdict_of(found: SideBySide, period: str, metric: str) -> Verdict:
    """The sentence that the page opens with; `period` and `metric` as people call them."""
    if found.unlike:
        return _open(
            "These sites are not measured alike",
            f"Their monitors differ in {listed(found.unlike)}: how far their times differ may come from that as well.",
            level="warn",
        )
    if found.is_seldom:
        return _open(
            "These sites are measured too seldom to tell which is quicker",
            "A monitor that runs more seldom than each four hours meets its site at the same hours of each day, busy or"
            " quiet: the figures may be those of the hour. Where all of them run each four hours or more often, it is"
            " said who is quickest.",
        )
    if not found.plan.is_judged:
        return _open(
            f"{period} is too short a time to tell surely which is quicker",
            "Every site has quiet hours and busy ones, and a day alone cannot tell them from chance. From seven days on"
            " it is said who is quickest, and how surely.",
        )
    if not found.compared or not found.behind:
        return _open("Too little was measured at the same times to tell which is quicker", _too_little(found))
    if found.quickest is None:
        return _undecided(found, metric)
    return Verdict(level="good", mark="✓", title=_headline(found), text=" ".join(_grounds(found, metric)))


def _open(title: str, text: str, level: Literal["info", "warn"] = "info") -> Verdict:
    return Verdict(level=level, mark="!" if level == "warn" else "?", title=title, text=text)


def _too_little(found: SideBySide) -> str:
    if len(found.rivals) > 1 and not found.compared:
        return "No region has measured all of them. Take one away, or choose a region."
    return (
        f"At least {LEAST_BLOCKS} of {found.plan.blocks} {_blocks(found)} are needed, of each half the hours, with half"
        " the runs that were due. What was measured before a monitor was changed does not count."
    )


def _headline(found: SideBySide) -> str:
    first, second, *others = found.rivals
    grade, which = ("quickest", f"the next, {name_of(second)},") if others else ("quicker", name_of(second))
    difference = found.behind[second.pk]
    later = f"{units.duration(round(difference.value_us))} longer ({interval_of(difference)})"
    return f"{name_of(first)} is {grade} {_where(found)}: {which} takes {later}"


def _undecided(found: SideBySide, metric: str) -> Verdict:
    first = found.rivals[0]
    level = [one for one in found.rivals[1:] if one.pk in found.behind and not found.behind[one.pk].is_slower]
    names = listed([name_of(one) for one in (first, *level)])
    parts = [_apart(first, one, found.behind[one.pk]) for one in level]
    text = " ".join((*parts, *_grounds(found, metric)))
    grade = "quickest" if len(found.rivals) > 2 else "quicker"
    return _open(f"Which is {grade} {_where(found)} cannot be told: {names}", text)


def _apart(first: Monitor, other: Monitor, difference: Difference) -> str:
    low, high, least = (
        units.duration(round(abs(us))) for us in (difference.low_us, difference.high_us, difference.least_us)
    )
    more = "more" if difference.high_us > 0 else "less"
    return (
        f"{name_of(other)} takes between {low} less and {high} {more} than {name_of(first)}; a difference of {least}"
        " would have been seen four times in five."
    )


def _where(found: SideBySide) -> str:
    names = [region.name for region in found.compared]
    return f"from {listed(names)}" if len(names) <= _NAMED else f"from {number_of(len(names), 'region')}"


def _grounds(found: SideBySide, metric: str) -> Iterator[str]:
    """Where it is otherwise, and what it goes by."""
    first = found.rivals[0]
    for region in found.compared if len(found.compared) > 1 else ():
        beside = found.beside(first.pk, region.pk)
        for one in found.rivals[1:]:
            if one.pk in beside and beside[one.pk].is_faster:
                by = units.duration(round(-beside[one.pk].value_us))
                yield f"From {region.name} {name_of(one)} is quicker than {name_of(first)}, by {by}."
    yield f"{metric}, by the medians of the same {_blocks(found)}; the intervals hold together with {SURELY}."
    left_out = [name_of(one) for one in found.sites if one not in found.rivals]
    if left_out:
        yield f"Too little was measured of {listed(left_out)} to compare."


def _blocks(found: SideBySide) -> str:
    days = found.plan.per_block * found.plan.width_s // DAY_S
    return "days" if days == 1 else f"stretches of {days} days"
