"""What each column of the checklist is asked of, and the words that several answers need."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from workers.diagnosis.case import Case
from workers.measurement.evidence import Depth
from workers.measurement.finding import Answer, Finding, FindingId, NotJudgedReason


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A probe with what the rules said of it: the checklist never contradicts a finding."""

    case: Case
    found: Mapping[FindingId, Finding]
    left_open: Mapping[FindingId, NotJudgedReason]


class Told(NamedTuple):
    """An answer with its evidence in a few words."""

    answer: Answer
    detail: str = ""


Check = Callable[[Judged], Told]


def yes(detail: str = "") -> Told:
    return Told(Answer.YES, detail)


def no(detail: str) -> Told:
    return Told(Answer.NO, detail)


def not_applicable(detail: str) -> Told:
    return Told(Answer.NOT_APPLICABLE, detail)


def unknown(judged: Judged, detail: str = "not measured") -> Told:
    """What one connection cannot show needs a deep probe, where anybody answered."""
    if not judged.case.is_reached:
        return Told(Answer.UNKNOWN, "nothing answered")
    light = judged.case.evidence.depth is Depth.LIGHT
    return Told(Answer.UNKNOWN, "needs a deep probe" if light else detail)
