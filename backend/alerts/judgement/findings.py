"""Whether a cause is at a site to stay: what the last deep runs of each region found, one cause at a time.

A run that could not judge a cause says neither that it is there nor that it is gone, and does not count.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from backend.alerts.judgement.samples import Standing
from backend.alerts.states import State
from workers.measurement.finding import Severity
from workers.measurement.messages import Kind

_RANKS = {severity.value: rank for rank, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingLimit:
    """Which causes: those of `ids`, or all when there are none, from this severity on; seen in `found` of the last
    `of_last` deep runs in so many regions.
    """

    min_severity: Severity
    ids: frozenset[str]
    found: int
    of_last: int
    regions: int


class Found(NamedTuple):
    """A cause as a run found it; the one with the most to gain where it is there for several hosts."""

    severity: str
    saving_us: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeepLook:
    """An ended deep run of a region: the causes it found, and those it could not judge."""

    region: str
    at_us: int
    run_id: str
    found: Mapping[str, Found]
    not_judged: frozenset[str]


class Verdict(StrEnum):
    FOUND = "found"
    ABSENT = "absent"
    NOT_JUDGED = "not_judged"


# By region, the newest last.
Looks = Mapping[str, Sequence[DeepLook]]


def told_by(id: str) -> Kind:
    """Whose deep runs tell a cause. What a probe and a page load can both see is the probe's to tell."""
    return Kind.PAGE if id.startswith("page.") else Kind.PROBE


def causes(looks: Looks, limit: FindingLimit) -> set[str]:
    """Those that the rule has anything to say of."""
    return {id for mine in looks.values() for look in mine for id in look.found if _verdict(look, id, limit) is _FOUND}


def standing(id: str, looks: Looks, limit: FindingLimit, *, current: State, now_us: int) -> Standing:
    """What to make of a cause. It is over when the last runs that could judge it lack it in every region."""
    judged = {region: _judged(mine, id, limit) for region, mine in looks.items()}
    bad = {region: mine for region, mine in judged.items() if _count(mine, id, limit) >= limit.found}
    if len(bad) >= limit.regions:
        return _bad(id, bad, judged, now_us)
    is_clear = all(_is_clear(mine, id, limit) for mine in judged.values())
    if current is State.OK or (is_clear and any(judged.values())):
        return Standing(state=State.OK, since_us=now_us)
    return Standing(state=current, since_us=now_us, firm=False)


def undecided(id: str, looks: Looks, limit: FindingLimit, *, current: State) -> list[str]:
    """Regions in which one more deep run would help: something has come or gone, and not often enough to tell."""
    return sorted(
        region
        for region, mine in looks.items()
        if (judged := _judged(mine, id, limit)) and _is_turning(judged, id, limit, current)
    )


def _is_turning(judged: Sequence[DeepLook], id: str, limit: FindingLimit, current: State) -> bool:
    newest = _verdict(judged[-1], id, limit)
    if current is State.OK:
        return newest is _FOUND and _count(judged, id, limit) < limit.found
    return newest is Verdict.ABSENT and not _is_clear(judged, id, limit)


def _judged(looks: Iterable[DeepLook], id: str, limit: FindingLimit) -> list[DeepLook]:
    """The last of those that could judge it, the newest last."""
    return [look for look in looks if _verdict(look, id, limit) is not Verdict.NOT_JUDGED][-limit.of_last :]


def _verdict(look: DeepLook, id: str, limit: FindingLimit) -> Verdict:
    found = look.found.get(id)
    if found is None:
        return Verdict.NOT_JUDGED if id in look.not_judged else Verdict.ABSENT
    is_meant = not limit.ids or id in limit.ids
    is_severe = _RANKS.get(found.severity, len(_RANKS)) <= _RANKS[limit.min_severity.value]
    return _FOUND if is_meant and is_severe else Verdict.ABSENT


def _count(judged: Sequence[DeepLook], id: str, limit: FindingLimit) -> int:
    return sum(_verdict(look, id, limit) is _FOUND for look in judged)


def _is_clear(judged: Sequence[DeepLook], id: str, limit: FindingLimit) -> bool:
    """A region that never had it, or where it has been absent as often as it takes to say that it is there."""
    return _count(judged[-limit.found :], id, limit) == 0


def _bad(
    id: str, bad: Mapping[str, Sequence[DeepLook]], judged: Mapping[str, Sequence[DeepLook]], now_us: int
) -> Standing:
    regions = sorted(bad)
    mine = bad[regions[0]]
    having = [look for look in mine if id in look.found]
    before = [look for look in mine if look.at_us < having[0].at_us]
    told = [look.found[id] for look in (one for looks in bad.values() for one in looks) if id in look.found]
    worst = min(told, key=lambda one: _RANKS.get(one.severity, len(_RANKS)))
    savings = [one.saving_us for one in told if one.saving_us is not None]
    return Standing(
        state=State.FAILING if worst.severity == Severity.CRITICAL else State.DEGRADED,
        since_us=min(having[0].at_us, now_us),
        regions=tuple(regions),
        before=before[-1].run_id if before else "",
        after=having[-1].run_id,
        facts={
            "finding": id,
            "severity": worst.severity,
            "saving_us": max(savings, default=None),
            "seen": sum(id in look.found for looks in bad.values() for look in looks),
            "looked": sum(len(judged[region]) for region in regions),
        },
    )


_FOUND = Verdict.FOUND
