"""What the other views of a page run say, as facts for a terminal: several loads, a second visit."""

from workers.measurement.canvas import format_duration
from workers.measurement.compute.page.representative import Spread, representative, spreads
from workers.measurement.messages import PageMeasurement
from workers.measurement.page_options import PageState
from workers.measurement.page_view import RepeatView, ViewSample

_NAMES = {"lcp": "LCP", "ttfb": "first byte", "fcp": "FCP", "load": "load", "speed_index": "speed index"}
_VISITS = {
    PageState.COLD: "second visit",
    PageState.WARM_CACHE: "second visit, with the cache",
    PageState.WARM_CONNECTION: "second visit, with cache and connections",
}


def view_facts(page: PageMeasurement) -> list[list[str]]:
    """A list of facts for each line; none of a single view."""
    return [facts for facts in (_loads(page), _repeat(page)) if facts]


def _loads(page: PageMeasurement) -> list[str]:
    """Medians of all valid cold loads, with their quartiles."""
    cold = [view for view in page.samples if view.state is PageState.COLD]
    if len(cold) < 2:
        return []
    valid = sum(view.failure is None for view in cold)
    counted = f"{len(cold)} loads" if valid == len(cold) else f"{valid} of {len(cold)} loads"
    shown = f"{counted}, number {representative(page.samples) or 1} shown; their medians"
    found = spreads(page.samples)
    return [shown, *(f"{name} {_spread(found[metric])}" for metric, name in _NAMES.items() if metric in found)]


def _spread(spread: Spread) -> str:
    low, median, high = (format_duration(round(us)) for us in (spread.low, spread.median, spread.high))
    return f"{median} ({low} \N{EN DASH} {high})"


def _repeat(page: PageMeasurement) -> list[str]:
    if page.repeat is None:
        return []
    sample = _sample(page, page.repeat)
    vitals = page.repeat.vitals
    marks = {
        "first byte": sample.ttfb_us if sample else None,
        "FCP": vitals.fcp_us,
        "LCP": vitals.lcp_us,
        "load": vitals.load_us,
    }
    return [
        _VISITS[page.repeat.state],
        *(f"{name} {format_duration(us)}" for name, us in marks.items() if us is not None),
    ]


def _sample(page: PageMeasurement, repeat: RepeatView) -> ViewSample | None:
    load = representative(page.samples) or 1
    return next((view for view in page.samples if view.load == load and view.state is repeat.state), None)
