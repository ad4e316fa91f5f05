"""For how long a page was kept waiting by others, from readings of processors."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.captures_sight import ProcessorTime, ThreadSample
from workers.measurement.compute.contention import contention_us
from workers.measurement.contention import contention_told, is_contended, is_probe_contended
from workers.measurement.vitals import Vitals

ZERO_S = 1_000.0


def sample(
    at_s: float,
    *,
    ours: float = 0.0,
    machine: float = 0.0,
    idle: float = 0.0,
    stolen: float = 0.0,
    waited: Sequence[float] = (0.0,),
) -> ThreadSample:
    used = ProcessorTime(ours_s=ours, machine_s=machine, idle_s=idle, stolen_s=stolen, waited_s=dict(enumerate(waited)))
    return ThreadSample(monotonic_s=ZERO_S + at_s, counters={}, processors=used)


def test_others_are_charged_with_their_share_of_what_was_used_meanwhile() -> None:
    """Two processors, one of which another had all the time."""
    assert contention_us([sample(0), sample(0.1, ours=0.1, machine=0.2, waited=[0.06])], ZERO_S, None) == 30_000


def test_a_browser_whose_threads_wait_for_each_other_is_not_contended() -> None:
    assert contention_us([sample(0), sample(0.1, ours=0.2, machine=0.2, waited=[0.09])], ZERO_S, None) == 0


def test_others_that_leave_a_processor_free_keep_nobody_waiting() -> None:
    assert contention_us([sample(0), sample(0.1, ours=0.1, machine=0.2)], ZERO_S, None) == 0


def test_who_waits_beside_a_free_processor_is_kept_by_a_quota_of_its_own() -> None:
    """Of sixteen processors others had twelve; in the second case, of two, one and a half."""
    large = sample(0.1, ours=0.1, machine=1.3, idle=0.3, waited=[0.06])
    small = sample(0.1, ours=0.04, machine=0.19, idle=0.01, waited=[0.06])
    assert contention_us([sample(0), large], ZERO_S, None) == 0
    assert contention_us([sample(0), small], ZERO_S, None) == round(60_000 * 0.15 / 0.19)


def test_of_threads_that_wait_at_the_same_time_the_longest_wait_counts() -> None:
    seen = [
        sample(0, waited=[0, 0]),
        sample(0.1, machine=0.2, waited=[0.08, 0.05]),
        sample(0.2, machine=0.4, waited=[0.09, 0.10]),
    ]
    assert contention_us(seen, ZERO_S, None) == 130_000


def test_a_thread_that_is_new_has_waited_since_it_began() -> None:
    assert contention_us([sample(0), sample(0.1, machine=0.2, waited=[0, 0.03])], ZERO_S, None) == 30_000


def test_only_the_time_of_the_load_counts() -> None:
    """Before it the browser was at an empty page, and after it nobody looks at a clock."""
    seen = [sample(-0.1), sample(0.1, machine=0.4, waited=[0.1]), sample(0.3, machine=0.8, waited=[0.2])]
    assert contention_us(seen, ZERO_S, 200_000) == 100_000


def test_what_the_host_gives_to_other_machines_is_lost_by_who_ran() -> None:
    """Of one processor a fifth was stolen, and nobody else ran."""
    assert contention_us([sample(0), sample(0.1, ours=0.08, machine=0.1, stolen=0.02)], ZERO_S, None) == 20_000


def test_processors_that_are_stolen_side_by_side_hold_a_page_up_once() -> None:
    assert contention_us([sample(0), sample(0.1, ours=0.16, machine=0.2, stolen=0.04)], ZERO_S, None) == 25_000


def test_a_kernel_that_does_not_tell_says_nothing() -> None:
    bare = ThreadSample(monotonic_s=ZERO_S, counters={})
    assert contention_us([bare, sample(0.1, machine=0.2)], ZERO_S, None) is None
    assert contention_us([sample(0), sample(0.1, machine=0.2, waited=[])], ZERO_S, None) is None
    assert contention_us([sample(0)], ZERO_S, None) is None


amounts = st.floats(0, 10, allow_nan=False)


@given(st.lists(st.tuples(st.floats(0.001, 2), amounts, amounts, amounts, amounts), min_size=1, max_size=12))
def test_nobody_waits_longer_than_the_load_takes(steps: list[tuple[float, float, float, float, float]]) -> None:
    """However absurd the readings are: ticks of one file and of another are never read at the same instant."""
    at, seen = 0.0, [sample(0)]
    for seconds, ours, machine, stolen, waited in steps:
        at += seconds
        seen.append(sample(at, ours=ours, machine=machine, stolen=stolen, waited=[waited]))
    found = contention_us(seen, ZERO_S, None)
    assert found is not None
    assert 0 <= found <= at * 1e6 + 1


@pytest.mark.parametrize(
    ("contention_us", "load_us", "contended"),
    [(99_000, 1_000_000, False), (100_000, 1_000_000, True), (49_000, 100_000, False), (None, 1_000_000, False)],
)
def test_times_are_not_the_pages_own_from_a_tenth_and_a_twentieth_of_a_second_on(
    contention_us: int | None, load_us: int, *, contended: bool
) -> None:
    assert is_contended(Vitals(load_us=load_us, contention_us=contention_us)) is contended


def test_what_was_painted_after_the_load_counts_too() -> None:
    assert not is_contended(Vitals(load_us=500_000, lcp_us=2_000_000, contention_us=100_000))
    assert not is_contended(Vitals(contention_us=100_000))


def test_people_are_told_for_how_long_the_browser_was_kept_waiting() -> None:
    told = contention_told(Vitals(load_us=1_000_000, contention_us=340_000))
    assert told is not None
    assert "busy with other work" in told
    assert "0.34 s" in told
    assert contention_told(Vitals(load_us=1_000_000, contention_us=1_000)) is None


@pytest.mark.parametrize(
    ("late_us", "ttfb_us", "contended"),
    [
        (4_999, 10_000, False),
        (5_000, 10_000, True),
        (9_999, 100_000, False),
        (10_000, 100_000, True),
        (None, 100_000, False),
        (10_000, None, False),
    ],
)
def test_a_probe_looked_too_late_from_a_tenth_and_five_milliseconds_on(
    late_us: int | None, ttfb_us: int | None, *, contended: bool
) -> None:
    assert is_probe_contended(late_us, ttfb_us) is contended
