"""Which load of each pair is made first.

A coin for each pair would let one kind be first too often, and the page's own drift would then look like its doing: of
all orders in which both are first equally often one is drawn. Then drift cancels, and where the hosts cost nothing the
differences are as likely above zero as below.
"""

from random import Random

from workers.diagnosis.without.samples import Side


def drawn_turns(pairs: int, random: Random) -> list[Side]:
    """Who is first in each of that many pairs; of an odd number a coin decides who is so once more."""
    sides = [Side.WITH, Side.WITHOUT] * (pairs // 2) + [random.choice(list(Side))] * (pairs % 2)
    random.shuffle(sides)
    return sides
