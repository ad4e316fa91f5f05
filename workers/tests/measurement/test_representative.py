"""Which load stands for a run, and what all loads say together."""

import statistics
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.compute.page.representative import representative, spreads
from workers.measurement.page_options import PageState
from workers.measurement.page_view import ViewSample
from workers.measurement.vitals import Vitals


def view(load: int, ttfb_us: int | None = None, *, failure: str | None = None, **vitals: Any) -> ViewSample:
    state = vitals.pop("state", PageState.COLD)
    return ViewSample(load=load, state=state, vitals=Vitals(**vitals), ttfb_us=ttfb_us, failure=failure)


def test_of_an_odd_number_the_middle_one_stands_for_all() -> None:
    assert representative([view(1, 300), view(2, 100), view(3, 200)]) == 3


def test_of_two_the_earlier_stands_for_both() -> None:
    assert representative([view(1, 300), view(2, 100)]) == 1


def test_a_load_in_the_middle_of_all_metrics_is_nearer_than_one_in_the_middle_of_one() -> None:
    loads = [
        view(1, 200, lcp_us=900, fcp_us=900),
        view(2, 100, lcp_us=400, fcp_us=400),
        view(3, 250, lcp_us=500, fcp_us=500),
    ]
    assert representative(loads) == 3


def test_failed_loads_never_stand_for_a_run() -> None:
    loads = [view(1, 100, failure="page_timeout"), view(2, 900), view(3, 100, failure="page_timeout")]
    assert representative(loads) == 2
    assert representative([view(1, 100, failure="page_timeout")]) is None
    assert representative([]) is None


def test_loads_that_other_work_disturbed_stand_for_a_run_only_where_there_are_no_others() -> None:
    busy: dict[str, Any] = {"load_us": 1_000_000, "contention_us": 500_000}
    loads = [view(1, 100, **busy), view(2, 900, load_us=500_000), view(3, 200, **busy)]
    assert representative(loads) == 2
    assert (spreads(loads)["ttfb"].n, spreads(loads)["ttfb"].median) == (1, 900)
    assert representative(loads[::2]) == 1
    assert spreads(loads[::2])["ttfb"].n == 2


def test_views_of_another_state_are_another_matter() -> None:
    warm = PageState.WARM_CACHE
    loads = [view(1, 300), view(1, 10, state=warm), view(2, 200), view(2, 20, state=warm), view(3, 100)]
    assert representative(loads) == 2
    assert spreads(loads)["ttfb"].n == 3
    assert spreads(loads, warm)["ttfb"].median == 15


def test_what_never_came_counts_as_later_than_all_that_did() -> None:
    assert representative([view(1, 100), view(2, None), view(3, 200)]) == 3


def test_a_metric_has_its_median_its_quartiles_and_how_many_saw_it() -> None:
    loads = [view(n, 100 * n, cls=0.1 if n < 3 else None) for n in range(1, 6)]
    told = spreads(loads)
    assert (told["ttfb"].n, told["ttfb"].median, told["ttfb"].low, told["ttfb"].high) == (5, 300, 200, 400)
    assert told["cls"].n == 2
    assert told["cls"].median == pytest.approx(0.1)
    assert "lcp" not in told
    assert spreads([view(1, 70)])["ttfb"].low == 70


TIMES = st.none() | st.integers(0, 60_000_000)
LOADS = st.lists(st.tuples(TIMES, TIMES, TIMES, st.booleans()), min_size=1, max_size=9)


def built(rows: list[tuple[int | None, int | None, int | None, bool]]) -> list[ViewSample]:
    return [
        view(number, ttfb, lcp_us=lcp, load_us=load, failure="page_timeout" if failed else None)
        for number, (ttfb, lcp, load, failed) in enumerate(rows, 1)
    ]


@given(LOADS)
def test_the_choice_is_a_valid_load_whenever_there_is_one(rows: Any) -> None:
    loads = built(rows)
    valid = {each.load for each in loads if each.failure is None}
    chosen = representative(loads)
    assert chosen in valid if valid else chosen is None


@given(LOADS, st.randoms())
def test_the_order_of_telling_does_not_matter(rows: Any, random: Any) -> None:
    loads = built(rows)
    shuffled = random.sample(loads, len(loads))
    assert representative(shuffled) == representative(loads)
    assert spreads(shuffled) == spreads(loads)


@given(LOADS, st.integers(1, 1000), st.integers(0, 10_000_000))
def test_only_ranks_count(rows: Any, factor: int, more: int) -> None:
    moved = [(*(None if each is None else each * factor + more for each in row[:3]), row[3]) for row in rows]
    assert representative(built(moved)) == representative(built(rows))


@given(st.lists(st.integers(0, 10**9), min_size=3, max_size=9, unique=True).filter(lambda values: len(values) % 2))
def test_of_one_metric_alone_the_choice_is_the_median(values: list[int]) -> None:
    loads = [view(number, value) for number, value in enumerate(values, 1)]
    chosen = representative(loads)
    assert chosen is not None
    assert values[chosen - 1] == statistics.median(values)


@given(LOADS)
def test_quartiles_stand_around_the_median(rows: Any) -> None:
    for spread in spreads(built(rows)).values():
        assert spread.low <= spread.median <= spread.high
