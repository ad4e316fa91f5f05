"""How far a shift may be off, against how far it is off where the truth is known."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.analysis.gate_estimate import LOSS, Estimate, Sides, centre, level_of, shift_of, sides
from backend.analysis.gate_noise import BLOCK, Noise
from backend.analysis.noise import Floats

BLOCKS = 40
TRIALS = 300
LOGS = st.lists(st.floats(-5, 5), min_size=1, max_size=12)


def drawn(
    rng: np.random.Generator, *, regions: int, runs: int, batch_sd: float, run_sd: float = 0.1, restless: float = 1.0
) -> Sides:
    """An unchanged site. Batches of regions have nothing in common."""
    batches = np.repeat(rng.normal(0, batch_sd, (regions, BLOCKS)), BLOCK, axis=1)
    before = batches + rng.normal(0, run_sd, batches.shape)
    after = rng.normal(0, batch_sd, (regions, 1)) + rng.normal(0, restless * run_sd, (regions, runs))
    return Sides(
        regions=tuple(map(str, range(regions))), history=tuple(before), fresh=tuple(after), failed=0, left_out=()
    )


@pytest.mark.parametrize(
    ("regions", "runs", "batch_sd", "restless", "most"),
    [
        # Medians are taken to lose a fifth against means, and lose a twentieth; regions that share nothing are believed
        # to share half.
        (1, 4, 0.0, 1, 2.2),
        (1, 12, 0.1, 1, 1.6),
        (4, 4, 0.0, 1, 2.6),
        (4, 12, 0.1, 1, 3.0),
        (1, 6, 0.0, 4, 1.6),
        (3, 6, 0.0, 4, 1.6),
    ],
)
def test_the_variance_of_a_shift_is_what_it_varies_by_or_a_little_more(
    regions: int, runs: int, batch_sd: float, restless: float, most: float
) -> None:
    rng = np.random.default_rng(11)
    worlds = (drawn(rng, regions=regions, runs=runs, batch_sd=batch_sd, restless=restless) for _ in range(TRIALS))
    found = [shift_of(world) for world in worlds]
    seen = float(np.var([one.shift for one in found]))
    told = float(np.mean([one.variance for one in found]))
    assert 0.85 < told / seen < most
    alone = float(np.mean([part.variance for one in found for part in one.regions]))
    seen_alone = float(np.var([part.shift for one in found for part in one.regions]))
    assert 0.85 < alone / seen_alone < 2.2


def test_what_more_runs_do_not_take_away_is_the_noise_of_history_and_the_batches_of_both_sides() -> None:
    """Of ten earlier runs in each of four regions, which are two batches, and three fresh ones."""
    long, calm = drawn(np.random.default_rng(6), regions=4, runs=3, batch_sd=0.05), np.array([0.0, 0.01, 0.02])
    found = shift_of(replace(long, history=tuple(logs[-2 * BLOCK :] for logs in long.history), fresh=(calm,) * 4))
    noise, squares = found.noise, LOSS * found.noise.run_sds**2
    runs, history = (float((squares / count).sum()) / 4**2 for count in (3, 10))
    batches = 1.5 * noise.batch_variance * (noise.shared + (1 - noise.shared) / 4)
    assert found.other_variance == pytest.approx(history + batches)
    assert found.variance == pytest.approx(runs + history + batches)
    # Each part counts by the squares that tell it.
    doubt = (runs + history) ** 2 / noise.run_freedom + batches**2 / noise.batch_freedom
    assert found.freedom == pytest.approx(found.variance**2 / doubt)


def test_what_one_restless_region_adds_is_known_as_badly_as_its_few_runs_know_it() -> None:
    """Beside two calm regions hardly anything else is left of the variance, which two squares tell."""
    calm, wild = drawn(np.random.default_rng(5), regions=3, runs=3, batch_sd=0.0), np.array([4.4, 5.0, 5.7])
    found = shift_of(replace(calm, fresh=(calm.fresh[0], wild, calm.fresh[2])))
    assert found.freedom == pytest.approx(2, abs=0.4)
    assert shift_of(calm).freedom > 20
    alone = [part.variance for part in found.regions]
    assert alone[1] > 10 * max(alone[0], alone[2])


def estimate(**changes: float) -> Estimate:
    noise = Noise(run_sds=np.ones(1), run_freedom=9.0, batch_variance=0.0, batch_freedom=8.0, batches=1.0, shared=0.5)
    (part,) = shift_of(drawn(np.random.default_rng(1), regions=1, runs=3, batch_sd=0.0)).regions
    made = Estimate(
        shift=0.0,
        variance=0.02,
        freedom=9.0,
        fresh_variance=0.04,
        other_variance=0.01,
        fresh_runs=9,
        noise=noise,
        regions=(part,) * 3,
    )
    return replace(made, **changes)  # type: ignore[arg-type]  # field by field is what a test wants


@pytest.mark.parametrize(
    ("deviation", "extra"),
    [
        # 0.04 / 8 runs of each of three regions are 0.005 beside the 0.01 that no run takes away.
        (0.015**0.5, 15),
        (0.0151**0.5, 15),
        (0.0149**0.5, 18),
        # One more each at least: it is not decided yet.
        (9.0, 3),
        (0.0999, None),
    ],
)
def test_so_many_more_runs_bring_the_error_down_to_what_is_asked(deviation: float, extra: int | None) -> None:
    assert estimate().extra_runs(deviation * 1.000001 if extra else deviation) == extra


def test_a_value_that_takes_two_runs_takes_twice_as_many() -> None:
    assert estimate(runs_each=2).extra_runs(0.0151**0.5) == 30


@given(LOGS, LOGS)
def test_a_shift_is_the_median_of_all_differences(before: list[float], after: list[float]) -> None:
    both = Sides(regions=("fra",), history=(np.array(before * 3),), fresh=(np.array(after * 3),), failed=0, left_out=())
    assert shift_of(both).shift == pytest.approx(np.median([late - early for late in after for early in before]))


@given(LOGS)
def test_a_centre_is_the_median_of_all_means_of_two(values: list[float]) -> None:
    means = [(one + other) / 2 for place, one in enumerate(values) for other in values[place:]]
    assert centre(np.array(values)) == pytest.approx(np.median(means))


def test_of_a_long_history_as_much_is_asked_as_of_all_of_it() -> None:
    rng = np.random.default_rng(3)
    history: Floats = np.sort(rng.normal(0, 1, 5_000))
    both = Sides(regions=("fra",), history=(history,), fresh=(np.array([0.5, 0.7, 0.9]),), failed=0, left_out=())
    every = np.median(np.array([0.5, 0.7, 0.9])[:, None] - history[None, :])
    assert shift_of(both).shift == pytest.approx(float(every), abs=0.002)


def test_where_one_region_has_no_history_a_level_goes_by_the_scatter_of_the_fresh_runs() -> None:
    fresh = {"fra": [100.0, 110.0, 121.0], "sin": [100.0, 110.0, 121.0]}
    known = sides({"fra": [100.0] * 60}, fresh, offset=0, least_fresh=3, least_history=0)
    unknown = sides({}, fresh, offset=0, least_fresh=3, least_history=0)
    assert level_of(known, 4.0).variance == level_of(unknown, 4.0).variance


@pytest.mark.parametrize(("earlier", "is_known"), [(10, True), (9, False)])
def test_a_level_goes_by_the_scatter_of_ten_earlier_runs_and_of_no_fewer(earlier: int, is_known: bool) -> None:
    fresh, before = {"fra": [100.0, 101.0, 102.0]}, {"fra": [100.0, 200.0] * (earlier // 2) + [100.0] * (earlier % 2)}
    both = sides(before, fresh, offset=0, least_fresh=3, least_history=0)
    assert bool(level_of(both, 4.0).noise.run_sds[0] > 0.2) is is_known


def test_a_level_is_off_by_its_own_runs_and_batch_alone_however_long_its_history() -> None:
    found = level_of(drawn(np.random.default_rng(5), regions=1, runs=6, batch_sd=0.05), 4.0)
    single = LOSS * found.noise.run_sds[0] ** 2
    assert found.fresh_variance == pytest.approx(single)
    assert found.other_variance == pytest.approx(found.noise.batch_variance)
    assert found.variance == pytest.approx(single / 6 + found.noise.batch_variance)
