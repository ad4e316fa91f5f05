"""How well a gate knows the noise of runs and of batches, against what it was made of."""

import numpy as np
import pytest

from backend.analysis.gate_noise import BLOCK, LEAST_SD, Noise, noise_of, restless_variances, unseen_variance
from backend.analysis.noise import Floats

RUN_SD = 0.05


def history(blocks: int, *, batch_sd: float, regions: int = 1, common: float = 0.0, seed: int = 1) -> list[Floats]:
    """Runs in batches, of which regions have a part of the variance in common."""
    rng = np.random.default_rng(seed)
    shared, own = rng.normal(0, 1, blocks), rng.normal(0, 1, (regions, blocks))
    batches = batch_sd * (common**0.5 * shared + (1 - common) ** 0.5 * own)
    runs = np.repeat(batches, BLOCK, axis=1) + rng.normal(0, RUN_SD, (regions, blocks * BLOCK))
    return list(runs)


@pytest.mark.parametrize("regions", [1, 3])
def test_the_variance_of_batches_is_that_of_an_analysis_of_variance(regions: int) -> None:
    runs = history(300, batch_sd=0.06, regions=regions)
    blocks = [values.reshape(-1, BLOCK) for values in runs]
    between = np.mean([BLOCK * one.mean(axis=1).var(ddof=1) for one in blocks])
    within = np.mean([one.var(axis=1, ddof=1).mean() for one in blocks])
    noise = noise_of(runs)
    assert noise.batch_variance == pytest.approx((between - within) / BLOCK, rel=0.04)
    assert noise.batches == 300


def test_of_too_few_runs_for_blocks_what_is_usual_is_believed() -> None:
    noise = noise_of([values[: 2 * BLOCK - 1] for values in history(2, batch_sd=0.3, regions=2)])
    assert (noise.batch_variance, noise.batch_freedom, noise.batches, noise.shared) == (0.03**2, 8, 1, 0.5)


@pytest.mark.parametrize("batch_sd", [0.0, 0.2, 0.4])
def test_what_is_seen_of_batches_is_drawn_towards_the_usual_by_how_badly_it_is_known(batch_sd: float) -> None:
    """Each side counts by one over its own doubt. What lies more than two deviations above the usual casts doubt on it,
    and blocks that happen to differ by no more than their runs do not."""
    (runs,) = history(12, batch_sd=batch_sd)
    blocks = runs.reshape(-1, BLOCK)
    between = max(blocks.mean(axis=1).var(ddof=1) - blocks.var(axis=1, ddof=1).mean() / BLOCK, 0)
    spread = between + blocks.var(axis=1, ddof=1).mean() / BLOCK
    seen_doubt = 2 * spread**2 / 11
    doubts = (seen_doubt, max(2 * 0.03**4 / 8, max(between - 0.03**2, 0) ** 2 - 4 * seen_doubt))
    expected = (between / doubts[0] + 0.03**2 / doubts[1]) / (1 / doubts[0] + 1 / doubts[1])
    noise = noise_of([runs])
    assert noise.batch_variance == pytest.approx(expected, rel=0.05)
    assert noise.batch_freedom == pytest.approx(2 * expected**2 * (1 / doubts[0] + 1 / doubts[1]), rel=0.1)


def test_regions_of_other_levels_and_lengths_share_what_they_did_before() -> None:
    runs = history(300, batch_sd=0.06, regions=3, common=1.0)
    assert noise_of([runs[0][100 * BLOCK :], 2 + runs[1], 5 + runs[2]]).shared > 0.9


def test_what_does_not_fill_a_block_is_the_oldest() -> None:
    (runs,) = history(300, batch_sd=0.06)
    with_more = noise_of([np.append([0.01, -0.02, 0.0], runs)])
    assert with_more.batch_variance == pytest.approx(noise_of([runs]).batch_variance, rel=0.02)


@pytest.mark.parametrize(("batch_sd", "regions"), [(0.03, 1), (0.12, 1), (0.12, 3)])
def test_the_freedom_of_the_variance_of_batches_is_how_far_it_varies_from_history_to_history(
    batch_sd: float, regions: int
) -> None:
    """Of a variance known by so many squares: twice its square, divided by them. What is drawn towards the usual varies
    less than the doubt that is left of it."""
    found = [noise_of(history(24, batch_sd=batch_sd, regions=regions, common=0.5, seed=seed)) for seed in range(300)]
    seen = float(np.var([one.batch_variance for one in found]))
    told = float(np.mean([2 * one.batch_variance**2 / one.batch_freedom for one in found]))
    assert 0.25 < seen / told < 1.6
    assert np.mean([one.batch_variance for one in found]) == pytest.approx(batch_sd**2, rel=0.25)


@pytest.mark.parametrize(("common", "least", "most"), [(0.0, 0.5, 0.56), (0.75, 0.67, 0.83), (1.0, 0.93, 1.0)])
def test_what_regions_have_in_common_is_found_and_half_of_it_believed_at_least(
    common: float, least: float, most: float
) -> None:
    noise = noise_of(history(300, batch_sd=0.06, regions=4, common=common))
    assert least <= noise.shared <= most


def test_of_a_single_region_half_is_believed_to_be_shared() -> None:
    assert noise_of(history(300, batch_sd=0.06)).shared == 0.5


def test_a_region_of_few_runs_scatters_as_all_together_do() -> None:
    calm, restless = history(20, batch_sd=0)[0], 4 * history(20, batch_sd=0, seed=2)[0]
    own, few = noise_of([calm, restless]).run_sds, noise_of([calm, restless[:9]]).run_sds
    assert own == pytest.approx([RUN_SD, 4 * RUN_SD], rel=0.25)
    assert few[0] == own[0]
    assert RUN_SD < few[1] < 2.5 * RUN_SD


def test_no_clock_is_better_than_a_two_hundredth() -> None:
    assert list(noise_of([np.zeros(60)]).run_sds) == [LEAST_SD]


def known(run_sd: float, *, batch_sd: float = 0.01, regions: int = 3) -> Noise:
    """Noise of a long history."""
    return Noise(
        run_sds=np.full(regions, run_sd),
        run_freedom=200.0,
        batch_variance=batch_sd**2,
        batch_freedom=8.0,
        batches=12.0,
        shared=0.5,
    )


def fresh(sd: float, *, runs: int = 6, regions: int = 3) -> list[Floats]:
    """Spread evenly, so that its deviation is what is asked for: squares about the middle over all but one of them."""
    places = np.arange(runs) - (runs - 1) / 2
    return [places * sd * ((runs - 1) / float((places**2).sum())) ** 0.5] * regions


def test_what_history_scatters_beyond_the_fresh_runs_may_be_what_a_batch_shares() -> None:
    """15 squares tell that of the fresh runs, 200 that of history; half of that doubt is taken off, and the known."""
    noise, whole, within = known(0.1), 0.1**2, 0.04**2
    doubt = (2 * within**2 / 15 + 2 * whole**2 / 200) ** 0.5
    assert unseen_variance(noise, fresh(0.04)) == pytest.approx(whole - within - doubt / 2 - 0.01**2)
    assert unseen_variance(noise, fresh(0.1)) == 0


def test_a_fresh_run_far_off_the_others_counts_as_if_it_were_three_deviations_away() -> None:
    noise, calm = known(0.1, regions=1), [-0.01, 0.01] * 15
    wild, far = (unseen_variance(noise, [np.array([*calm, at])]) for at in (9.0, 0.31))
    assert wild == pytest.approx(far)
    assert 0 < wild < unseen_variance(noise, [np.array(calm)])


def test_fresh_runs_that_scatter_far_more_than_history_add_what_they_scatter_more() -> None:
    values = np.array([-0.5, -0.3, -0.1, 0.0, 0.1, 0.3, 0.5])
    (variance,), (freedom,) = restless_variances(known(0.05, regions=1), [values])
    # The middle one is the median itself and no deviation.
    assert freedom == 6
    assert variance == pytest.approx(float((values**2).sum()) / 6 - 0.05**2)
    assert list(restless_variances(known(0.25, regions=1), [values])[0]) == [0]


@pytest.mark.parametrize(("times", "is_restless"), [(2.4, False), (2.6, True)])
def test_two_and_a_half_times_the_variance_of_history_is_no_chance(times: float, is_restless: bool) -> None:
    """A deviation of 0.1 on each side of the middle, of three runs."""
    ((variance,), _) = restless_variances(known((0.01 / times) ** 0.5, regions=1), [np.array([-0.1, 0.0, 0.1])])
    assert bool(variance > 0) is is_restless


def test_a_region_that_is_restless_alone_is_known_by_its_own_runs_beside_however_many_calm_ones() -> None:
    calm, wild = np.array([-0.05, 0.0, 0.05]), np.array([-0.4, 0.0, 0.3])
    variances, freedoms = restless_variances(known(0.05, regions=4), [calm, wild, calm, calm])
    assert variances == pytest.approx([0, (0.4**2 + 0.3**2) / 2 - 0.05**2, 0, 0])
    assert list(freedoms) == [2, 2, 2, 2]


def test_a_run_far_off_the_rest_of_its_region_makes_it_hardly_restless() -> None:
    near, far = (
        restless_variances(known(0.02, regions=1), [np.array([-0.1, -0.1, 0.0, 0.1, at])])[0][0] for at in (0.3, 9.0)
    )
    assert near == pytest.approx(far)
