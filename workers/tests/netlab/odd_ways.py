"""Twins behind odd ways: what a diagnosis tells of a broken site and of its repaired twin where much of what is seen is
the way's. There it may leave open what it cannot tell, and says why; what it tells must be true.
"""

from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from multiprocessing import get_context
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from workers.measurement.finding import Diagnosis, FindingId
from workers.shaping.settings import Impairment
from workers.tests.netlab.chains import Vault
from workers.tests.netlab.column import diagnosis_of, measure, sites_of
from workers.tests.netlab.twin import Twin
from workers.tests.netlab.twins import OF_THE_NETWORK

# By name, what makes a lab's link such a way, by the keywords of LabNetwork.
ODD_WAYS: Mapping[str, Mapping[str, Any]] = {
    **{impairment.value: {"impairment": impairment} for impairment in Impairment},
    "loss_of_1_percent": {"loss_ppm": 10_000},
    "loss_of_3_percent": {"loss_ppm": 30_000},
}


class Verdict(StrEnum):
    """What a diagnosis is worth: it tells the cause, leaves it open and says why, says nothing of it, or tells another.

    Of a site without the fault it is `right` where it tells nothing else.
    """

    RIGHT = "right"
    OPEN = "left open"
    SILENT = "silent"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One of ODD_WAYS with all its chances."""

    name: str
    rtt_ms: int
    seed: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """The verdict on one site. `why` is what was told wrongly, or why the cause is left open."""

    way: Way
    twin: Twin
    repaired: bool
    verdict: Verdict
    why: str = ""

    def __str__(self) -> str:
        site = "repaired" if self.repaired else "broken"
        way = f"{self.way.name}, {self.way.rtt_ms} ms, seed {self.way.seed}"
        return f"{way}: {self.twin.name} ({site}): {self.verdict} {self.why}".rstrip()


def side_by_side(at_once: int) -> ProcessPoolExecutor:
    """Processes for `told_behind`, so many that they do not disturb each other: they mostly wait."""
    return ProcessPoolExecutor(at_once, get_context("spawn"))


def told_behind(way: Way, twins: Iterable[Twin], folder: Path) -> list[Told]:
    """What is told of both sides of these twins, each probed once; of those that differ at that round trip."""
    chosen = [twin for twin in twins if way.rtt_ms in twin.rtts_ms]
    link = {"rtt_ms": way.rtt_ms, "seed": way.seed, **ODD_WAYS[way.name]}
    place = Path(mkdtemp(dir=folder))
    measured = measure(sites_of(chosen), vault=Vault(place), folder=place, **link)
    return [
        _told(way, twin, diagnosis_of(measured[site]), repaired=repaired)
        for twin in chosen
        for repaired, site in ((False, twin.positive), (True, twin.repaired))
    ]


def _told(way: Way, twin: Twin, diagnosis: Diagnosis, *, repaired: bool) -> Told:
    verdict, why = _judged(twin, diagnosis, _true_of(twin, way.rtt_ms, repaired=repaired), repaired=repaired)
    return Told(way=way, twin=twin, repaired=repaired, verdict=verdict, why=why)


def _true_of(twin: Twin, rtt_ms: int, *, repaired: bool) -> frozenset[FindingId]:
    """All that may be told: what is true of the site, also where the fault usually hides it, and of the way."""
    hidden = frozenset() if repaired else twin.hidden | twin.instead
    return twin.expected(rtt_ms, repaired=repaired) | hidden | OF_THE_NETWORK


def _judged(twin: Twin, diagnosis: Diagnosis, true: frozenset[FindingId], *, repaired: bool) -> tuple[Verdict, str]:
    wrong = [f"{one.id} ({one.confidence})" for one in diagnosis.findings if one.id not in true]
    if wrong:
        return Verdict.WRONG, ", ".join(wrong)
    if repaired or any(one.id is twin.id for one in diagnosis.findings):
        return Verdict.RIGHT, ""
    reasons = [one.reason.value for one in diagnosis.not_judged if one.id is twin.id]
    return (Verdict.OPEN, ", ".join(reasons)) if reasons else (Verdict.SILENT, "")
