"""Every rule is asked about a case, whatever becomes of one of them."""

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from workers.diagnosis.case import Verdicts
from workers.measurement.finding import Finding, NotJudged

T = TypeVar("T")
# What to do when a rule itself is at fault.
OnFault = Callable[[Callable[..., object], Exception], None]
_log = logging.getLogger(__name__)


def log_fault(rule: Callable[..., object], error: Exception) -> None:
    """One rule that is wrong must not take the others' findings with it; its error stands in the log."""
    _log.error("rule %s failed: its cause is neither found nor excluded", rule.__qualname__, exc_info=error)


def all_said(rules: Iterable[Callable[[T], Verdicts]], case: T, on_fault: OnFault) -> Iterator[Finding | NotJudged]:
    """The verdicts of all rules that are not at fault, in their order."""
    for rule in rules:
        try:
            yield from tuple(rule(case))
        except Exception as error:
            on_fault(rule, error)
