"""Which load of each pair is made first."""

from collections import Counter
from random import Random

import pytest

from workers.diagnosis.without.samples import Side
from workers.diagnosis.without.turns import drawn_turns


@pytest.mark.parametrize("pairs", [0, 1, 2, 7, 10])
def test_both_kinds_are_first_equally_often_or_one_once_more(pairs: int) -> None:
    for seed in range(20):
        counts = Counter(drawn_turns(pairs, Random(seed)))
        assert counts.total() == pairs
        assert abs(counts[Side.WITH] - counts[Side.WITHOUT]) == pairs % 2


def test_a_coin_decides_which_is_first_once_more_and_a_lot_the_order() -> None:
    drawn = [drawn_turns(3, Random(seed)) for seed in range(40)]
    assert {Counter(turns)[Side.WITH] for turns in drawn} == {1, 2}
    assert {turns[0] for turns in drawn} == set(Side)
