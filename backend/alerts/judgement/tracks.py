"""What a rule thinks of one monitor over time, and which of its changes of mind are heard."""

from dataclasses import dataclass, replace
from typing import NamedTuple

from backend.alerts.judgement.samples import Memory, Standing
from backend.alerts.states import TABLE, Code, State, is_told
from backend.instants import from_us, to_us

__all__ = ["Step", "Track", "from_us", "to_us"]


class Step(NamedTuple):
    """A change that is heard: from what to what, seen when, with the standing that shows it."""

    code: Code
    before: State
    standing: Standing
    at_us: int

    @property
    def after(self) -> State:
        return self.standing.state


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """The state, since when it is, and which bad state was heard of last in this bad time."""

    state: State = State.OK
    since_us: int = 0
    told: State | None = None

    @classmethod
    def remembered(cls, memory: Memory | None) -> "Track":
        if not memory:
            return cls()
        told = memory.get("told")
        return cls(
            state=State(memory["state"]), since_us=int(memory["since_us"]), told=None if told is None else State(told)
        )

    def memory(self) -> Memory:
        """Nothing for the usual case, so that thousands of healthy monitors cost nothing to keep."""
        if self.state is State.OK and self.told is None:
            return {}
        return {"state": self.state.value, "since_us": self.since_us, "told": self.told and self.told.value}

    def advance(self, standing: Standing, at_us: int, delay_us: int) -> "tuple[Track, Step | None]":
        """The track after a standing that was seen at an instant, and the step if it is heard."""
        after = standing.state
        since_us = self.since_us if after is self.state else standing.since_us
        transition = TABLE[self.state, after]
        lasted = at_us - since_us >= delay_us
        heard = standing.firm and is_told(transition, after=after, told=self.told, lasted=lasted)
        told = (after if heard else self.told) if after is not State.OK else None
        track = replace(self, state=after, since_us=since_us, told=told)
        return track, Step(transition.code, self.state, standing, at_us) if heard else None
