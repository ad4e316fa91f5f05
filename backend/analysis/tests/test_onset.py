"""When a change is said to have begun."""

import numpy as np

from backend.analysis.noise import Floats
from backend.analysis.onset import Rounds, onset


def test_runs_that_hardly_differ_before_a_step_are_no_part_of_it() -> None:
    random = np.random.default_rng(5)
    times: Floats = np.arange(48, dtype=np.float64) * 1800.0
    for _ in range(20):
        means: Floats = 0.003 * random.normal(size=48)
        means[35:42] += 0.006
        means[42:] = 8.0
        began = onset(Rounds(times, means, np.ones(48)), variance=1.1)
        assert began.at == times[42]
