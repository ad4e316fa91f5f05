"""Ways on which single packets fare worse by chance: repeats, contention, fading, other paths."""

from random import Random
from typing import ClassVar

from workers.shaping.impairments.behaviour import MS, Behaviour, Passage
from workers.shaping.settings import Direction


class Contention(Behaviour):
    """A crowded Wi-Fi: each packet waits for its turn on the air, 9 ms on average, seldom 40 and never over 100.

    The gamma distribution is what is usual for such waits; its numbers are chosen.
    """

    _SHAPE, _SCALE_MS, _MOST_MS = 1.5, 6.0, 100.0

    def __init__(self, dice: Random) -> None:
        self._dice = dice

    def leaves_ns(self, passage: Passage) -> int:
        waits_ms = min(self._MOST_MS, self._dice.gammavariate(self._SHAPE, self._SCALE_MS))
        return passage.due_ns + round(waits_ms * MS)


class _Repeats(Behaviour):
    """Who misses a packet asks for it again, and hands on what came behind it when it is there."""

    _share: ClassVar[float]
    _later_ns: ClassVar[int]

    def __init__(self, dice: Random) -> None:
        self._dice = dice

    def leaves_ns(self, passage: Passage) -> int:
        return passage.due_ns + (self._later_ns if self._dice.random() < self._share else 0)


class RadioRepeats(_Repeats):
    """A bad radio link in RLC's acknowledged mode (3GPP TS 36.322): one packet in twenty comes after a report of what
    is missing and a repeat, 150 ms later (`t-StatusProhibit` and `t-PollRetransmit` of TS 36.331 are tens of ms each).
    """

    _share = 0.05
    _later_ns = 150 * MS


class QuickRepeats(_Repeats):
    """A usual radio link: one packet in ten must be repeated (the aim of 3GPP TS 36.213, 7.2.3, for first tries), and
    is there three turns of 8 ms later.
    """

    _share = 0.1
    _later_ns = 25 * MS


class LossBursts(Behaviour):
    """A way that fades now and then (Gilbert's model): with one packet in 125 everything is lost for 60 ms. Chosen so
    that many connections lose nothing.
    """

    _share = 0.008
    _lasts_ns = 60 * MS

    def __init__(self, dice: Random) -> None:
        self._dice = dice
        self._faded_until_ns = 0

    def leaves_ns(self, passage: Passage) -> int | None:
        if passage.arrival_ns < self._faded_until_ns:
            return None
        if self._dice.random() < self._share:
            self._faded_until_ns = passage.arrival_ns + self._lasts_ns
            return None
        return passage.due_ns


class Reordering(Behaviour):
    """Paths side by side, packet by packet: one in ten takes the one that is 4 ms longer, and others overtake it.

    More than the quarter of the shortest round trip that TCP's RACK waits for (RFC 8985, 6.2), so that it may show.
    """

    keeps_order = False
    _share = 0.1
    _later_ns = 4 * MS

    def __init__(self, dice: Random) -> None:
        self._dice = dice

    def leaves_ns(self, passage: Passage) -> int:
        return passage.due_ns + (self._later_ns if self._dice.random() < self._share else 0)


class PathChanges(Behaviour):
    """A way that is now one and now another, the longer by 60 ms towards the client, for 2 s each: routes that flap, or
    a satellite's next cell. Chosen so that it changes within a probe.
    """

    _longer_ns = 60 * MS
    _lasts_ns = 2000 * MS

    def __init__(self, dice: Random) -> None:
        self._phase_ns = dice.randrange(2 * self._lasts_ns)

    def leaves_ns(self, passage: Passage) -> int:
        longer = (passage.arrival_ns + self._phase_ns) // self._lasts_ns % 2 == 1
        return passage.due_ns + (self._longer_ns if longer and passage.direction is Direction.DOWN else 0)
