"""Evidence adds up for what is there and falls away for what is not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.analysis.cusum import LARGEST_D, STEPS, Bank, gains, step_sizes
from backend.analysis.fusion import Noise
from backend.analysis.noise import Floats
from backend.analysis.onset import Samples, onset, rounds
from backend.analysis.persistence import Watch

LOG_STEPS = [float(np.log1p(step)) for step in STEPS]
GAINS = gains(LOG_STEPS, scale=0.15, variance=1.0, allowance=0.0)
deviations = st.lists(st.floats(min_value=-3, max_value=3), max_size=60)


def alarm_after(shift: float) -> int:
    """How many samples of noise shifted by so many standard deviations it takes; 0 for never in 5,000."""
    bank = Bank()
    for count, deviation in enumerate(np.random.default_rng(1).normal(size=5_000) + shift, start=1):
        if bank.add(float(np.clip(deviation, -3, 3)), GAINS, threshold=13):
            return count
    return 0


def test_quiet_noise_raises_no_alarm() -> None:
    assert alarm_after(0) == 0


def test_the_larger_the_shift_the_sooner_the_alarm() -> None:
    delays = [alarm_after(shift) for shift in (0.5, 1, 2, 4)]
    assert delays == sorted(delays, reverse=True)
    assert delays[1] < 60
    assert delays[3] <= 7


@given(deviations)
def test_a_bank_is_the_largest_sum_over_all_beginnings(seen: list[float]) -> None:
    """Page's recursion against its definition."""
    bank = Bank()
    for deviation in seen:
        bank.add(deviation, GAINS, 1e9)
    for step, (gain, reference) in enumerate(GAINS):
        sums = [sum(gain * (d - reference) for d in seen[start:]) for start in range(len(seen) + 1)]
        assert bank.up[step] == pytest.approx(max(sums), abs=1e-6)


@given(deviations)
def test_down_is_the_mirror_of_up(seen: list[float]) -> None:
    bank, mirror = Bank(), Bank()
    for deviation in seen:
        bank.add(deviation, GAINS, 1e9)
        mirror.add(-deviation, GAINS, 1e9)
    assert bank.up == pytest.approx(mirror.down)
    assert bank.down == pytest.approx(mirror.up)


def test_a_single_spike_is_never_an_alarm() -> None:
    bank = Bank()
    assert bank.add(3.0, gains(LOG_STEPS, scale=0.01, variance=1.0, allowance=0.0), 13) == 0


def test_a_cleared_bank_knows_nothing() -> None:
    bank = Bank([1.0] * 4, [2.0] * 4)
    bank.clear()
    assert bank.state() == Bank().state()


NOISE = Noise(1.0, 0.0, 100_000)


def test_a_shift_that_stays_has_stayed_and_one_that_goes_is_gone() -> None:
    watch = Watch(0.0, 0.0, 0.0)
    for at in range(12):
        watch.add(at, 1.0, 1.0, NOISE)
    assert watch.has_stayed
    assert not watch.is_gone
    for at in range(12, 40):
        watch.add(at, 0.0, 1.0, NOISE)
    assert watch.is_gone
    assert not watch.has_stayed
    assert watch.gone_since == 11
    assert watch.back_at == 12


def test_what_is_half_gone_has_neither_stayed_nor_gone() -> None:
    watch = Watch(0.0, 0.0, 0.0)
    for at in range(40):
        watch.add(at, 1.0, 1.0, NOISE)
    for at in range(40, 52):
        watch.add(at, 0.0, 1.0, NOISE)
    # Twelve deviations of half a unit of evidence each speak against it; it takes eight to be gone.
    assert watch.gone == pytest.approx(6)
    assert watch.stays >= 3
    assert not watch.has_stayed
    assert not watch.is_gone


def test_whoever_waits_for_more_evidence_asks_again_once_there_is() -> None:
    watch = Watch(0.0, 8.2, 0.0)
    assert watch.is_gone
    watch.wait()
    for at, gone in enumerate((False, True)):
        watch.add(at, 0.0, 1.0, NOISE)
        assert watch.is_gone is gone
    watch.look_anew(3)
    assert watch == Watch(watch.stays, 0.0, 3, watch.back_at)


@pytest.mark.parametrize(("of_three", "needed"), [((2.7, 2.7, 2.7), 3), ((2.7, 2.7, 0.0), 7)])
def test_where_only_some_runs_are_slow_it_takes_more_quick_ones_to_be_gone(
    of_three: tuple[float, ...], needed: int
) -> None:
    """As behind a balancer with one quick server: three quick runs on end come by chance again and again."""
    watch = Watch(0.0, 0.0, 0.0)
    for at, deviation in enumerate(of_three * 20 + (2.7,)):
        watch.add(at, deviation, 2.7, NOISE)
        assert not watch.is_gone
    runs = 0
    while not watch.is_gone:
        watch.add(100 + runs, 0.0, 2.7, NOISE)
        runs += 1
    assert runs == needed


@pytest.mark.parametrize(("spike", "as_much_as"), [(100.0, 3.0), (-100.0, -3.0)])
def test_a_spike_says_no_more_of_what_stays_than_three_deviations(spike: float, as_much_as: float) -> None:
    spiked, usual = Watch(0.0, 0.0, 0.0), Watch(0.0, 0.0, 0.0)
    for watch, deviation in ((spiked, spike), (usual, as_much_as)):
        watch.add(0, 1.0, 1.0, NOISE)
        watch.add(1, deviation, 1.0, NOISE)
    assert spiked == usual


def test_a_step_beyond_what_deviations_are_clipped_at_is_looked_for_as_the_largest() -> None:
    assert step_sizes([0.1, 5.0], scale=0.1) == [1.0, LARGEST_D]


def test_where_the_level_lies_is_as_sure_as_its_runs_and_its_days_let_it() -> None:
    assert Noise(2.0, 0.0, 600).uncertainty == pytest.approx((3 * 2 / 600) ** 0.5)
    assert Noise(2.0, 0.3, 600).uncertainty == pytest.approx((3 * 2 / 600 + 0.3**2) ** 0.5)
    assert Noise(2.0, 0.3, 0).uncertainty == pytest.approx((3 * 2 + 0.3**2) ** 0.5)


def test_more_runs_of_a_stretch_of_time_say_no_more_of_where_its_level_lies() -> None:
    few = Noise(2.0, 0.3, 600)
    many = few.of(5)
    assert (many.variance, many.count) == (10.0, 3_000)
    assert many.uncertainty == pytest.approx(few.uncertainty)


def test_fewer_runs_have_less_in_common_and_are_believed_no_more_than_they_may_be() -> None:
    many = Noise(2.0, 0.3, 600)
    few = many.of(1 / 5)
    assert few.variance == pytest.approx(1.2)
    assert few.count == 360
    assert few.uncertainty == pytest.approx(many.uncertainty)
    for keep in (0.1, 0.5, 0.9, 0.99):
        # Where each run has so much of the one before it, each fifth has the fifth power.
        every, fifth = ((1 + shared) / (1 - shared) for shared in (keep, keep**5))
        assert fifth <= Noise(every, 0.0, 600).of(1 / 5).variance


def test_a_baseline_that_is_little_known_makes_nothing_stay() -> None:
    watch = Watch(0.0, 0.0, 0.0)
    for at in range(40):
        watch.add(at, 0.6, 1.0, Noise(1.0, 0.3, 100_000))
    assert not watch.has_stayed


@pytest.mark.parametrize("rise", [30, 150, 290])
def test_the_onset_of_a_rise_lies_within_its_bounds(rise: int) -> None:
    times: Floats = 300 * np.arange(300, dtype=np.float64)
    seen = np.random.default_rng(rise).normal(size=300) + np.where(np.arange(300) < rise, 0, 2)
    found = onset(rounds(Samples(times, np.clip(seen, -3, 3), np.ones(300)), interval_s=300), variance=1.0)
    assert found.earliest <= found.at <= found.latest
    assert found.earliest - 600 <= 300 * rise <= found.latest + 600


def test_a_day_of_runs_every_minute_has_rounds_of_a_minute() -> None:
    times: Floats = 60 * np.arange(1440, dtype=np.float64)
    assert rounds(Samples(times, np.zeros(1440), np.ones(1440)), interval_s=60).times.size == 1440


def test_rounds_put_the_regions_of_one_interval_together() -> None:
    times = np.array([0.0, 100, 200, 300, 400, 900])
    made = rounds(Samples(times, np.array([1.0, 2, 3, 4, 6, 7]), np.array([1.0, 1, 2, 1, 1, 1])), interval_s=300)
    assert made.times.tolist() == [0, 300, 900]
    assert made.means.tolist() == [2.25, 5, 7]
    assert made.weights.tolist() == [4, 2, 1]
