"""Several loads and second visits in the terminal."""

from dataclasses import replace

from workers.measurement.messages import PageMeasurement
from workers.measurement.page_options import PageState
from workers.measurement.page_view import RepeatView, ViewSample
from workers.measurement.views_drawing import view_facts
from workers.measurement.vitals import Vitals
from workers.tests.builders import build_page


def view(load: int, lcp_us: int, state: PageState = PageState.COLD, failure: str | None = None) -> ViewSample:
    return ViewSample(load=load, state=state, vitals=Vitals(lcp_us=lcp_us), ttfb_us=90_000, failure=failure)


def with_views(*samples: ViewSample, repeat: RepeatView | None = None) -> PageMeasurement:
    return replace(build_page(), samples=samples, repeat=repeat)


def test_one_view_says_nothing_more() -> None:
    assert view_facts(build_page()) == []


def test_several_loads_are_told_by_median_and_quartiles_and_which_is_shown() -> None:
    (facts,) = view_facts(with_views(view(1, 300_000), view(2, 200_000), view(3, 100_000)))
    assert facts[0] == "3 loads, number 2 shown; their medians"
    assert "LCP 200 ms (150 ms \N{EN DASH} 250 ms)" in facts


def test_loads_that_failed_are_counted_and_not_averaged() -> None:
    (facts,) = view_facts(with_views(view(1, 300_000), view(2, 1, failure="timeout"), view(3, 300_000)))
    assert facts[0].startswith("2 of 3 loads")
    assert "LCP 300 ms (300 ms \N{EN DASH} 300 ms)" in facts


def test_a_second_visit_says_what_it_found_and_what_it_took() -> None:
    second = view(1, 50_000, PageState.WARM_CACHE)
    repeat = RepeatView(state=PageState.WARM_CACHE, waterfall=build_page().waterfall, vitals=second.vitals, document=1)
    page = with_views(view(1, 300_000), second, repeat=repeat)
    assert view_facts(page) == [["second visit, with the cache", "first byte 90.0 ms", "LCP 50.0 ms"]]
