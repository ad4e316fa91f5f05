"""What every impairment is made of: a packet on its way, and who says when it leaves instead."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from random import Random
from typing import ClassVar, Self

from workers.shaping.settings import Direction

MS = 1_000_000


@dataclass(frozen=True, slots=True)
class Passage:
    """A packet on its way: when it came onto the link, and when it would leave it but for the impairment."""

    direction: Direction
    frame: bytes
    arrival_ns: int
    due_ns: int


class Behaviour(ABC):
    """One impairment of one way. Where it `keeps_order`, `Way` lets no packet leave before one that came earlier."""

    keeps_order: ClassVar[bool] = True

    @abstractmethod
    def __init__(self, dice: Random) -> None:
        """All its chances are of these dice, so that the same seed makes the same way."""

    @abstractmethod
    def leaves_ns(self, passage: Passage) -> int | None:
        """When the packet leaves, not earlier than it is due; None if it never does."""


@dataclass(frozen=True, slots=True)
class Slots:
    """Instants at which something may happen: one in every period."""

    period_ns: int
    phase_ns: int

    @classmethod
    def by_chance(cls, period_ns: int, dice: Random) -> Self:
        return cls(period_ns, dice.randrange(period_ns))

    def next_ns(self, at_ns: int) -> int:
        """The first of them that is not before `at_ns`."""
        return at_ns + (self.phase_ns - at_ns) % self.period_ns
