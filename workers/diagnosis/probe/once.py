"""What many rules ask of the same connection is found once in a diagnosis.

Of a deep probe some are asked five hundred times, which was half of the whole diagnosis.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from workers.measurement.evidence import TrialEvidence

Answer = TypeVar("Answer")
More = ParamSpec("More")

# By question, connection and what else was asked. With the connection itself, so that no other gets its identity.
_Known = dict[tuple[Any, ...], tuple[TrialEvidence, Any]]
_KNOWN: ContextVar[_Known | None] = ContextVar("known", default=None)


@contextmanager
def one_diagnosis() -> Iterator[None]:
    """Within it the questions below are remembered, and forgotten with its end."""
    token = _KNOWN.set({})
    try:
        yield
    finally:
        _KNOWN.reset(token)


def once_a_trial(
    question: Callable[Concatenate[TrialEvidence, More], Answer],
) -> Callable[Concatenate[TrialEvidence, More], Answer]:
    """The question, which is worked out once for the same connection; anew each time where no diagnosis is made."""

    @wraps(question)
    def ask(trial: TrialEvidence, /, *more: More.args, **named: More.kwargs) -> Answer:
        known = _KNOWN.get()
        if known is None:
            return question(trial, *more, **named)
        key = (question, id(trial), more, *named.items())
        if key not in known:
            known[key] = trial, question(trial, *more, **named)
        answer: Answer = known[key][1]
        return answer

    return ask
