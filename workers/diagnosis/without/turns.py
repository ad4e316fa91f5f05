"""Which load of each pair is made first, which pairs are made, and when there are enough.

A coin for each pair would let one kind be first too often, and the page's own drift would then look like its doing: of
all orders in which both are first equally often one is drawn. Then drift cancels, and where the hosts cost nothing the
differences are as likely above zero as below.
"""

from collections.abc import Sequence
from random import Random

from workers.diagnosis.without.samples import LoadPair, Side, complete

# A verdict needs 8; some more bear one load that is unlike the others.
PAIRS, MAX_PAIRS = 10, 100
# What failed this often in a row goes on failing. Other pairs that are left out are made up for by half as many again.
_FAILURES_IN_A_ROW = 3


def drawn_turns(pairs: int, random: Random) -> list[Side]:
    """Who is first in each of that many pairs; of an odd number a coin decides who is so once more."""
    sides = [Side.WITH, Side.WITHOUT] * (pairs // 2) + [random.choice(list(Side))] * (pairs % 2)
    random.shuffle(sides)
    return sides


def pairs_to_make(wanted: int, random: Random) -> list[tuple[Side, Side]]:
    """Both loads of each pair in their order: as many pairs as are wanted, and those made in place of others."""
    firsts = [*drawn_turns(wanted, random), *drawn_turns(wanted // 2, random)]
    return [(first, next(side for side in Side if side is not first)) for first in firsts]


def is_over(pairs: Sequence[LoadPair], wanted: int) -> bool:
    """Whether as many pairs as are wanted are complete, or no further one would be."""
    last = pairs[-_FAILURES_IN_A_ROW:]
    fails = len(last) == _FAILURES_IN_A_ROW and all(_failed(pair) for pair in last)
    return fails or len(complete(pairs)) >= wanted


def _failed(pair: LoadPair) -> bool:
    return pair.with_hosts.failure is not None or pair.without.failure is not None
