"""Two waterfalls on one axis, so that a longer bar is a longer time in both."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from backend.web.waterfall.axis import Axis
from backend.web.waterfall.board import Board, Drawn, chart_of, details_of, drawn_of, picture_of
from backend.web.waterfall.details import Details
from backend.web.waterfall.matching import matched
from backend.web.waterfall.rows import Chart, Row, own_axis
from backend.web.waterfall.wanted import Wanted, wanted_of
from workers.measurement.messages import Measurement, PageMeasurement
from workers.measurement.page_options import PageState

# What the names of the rows of each waterfall begin with in the URL: `a18`.
PREFIXES = ("a", "b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two, with the words that stand above it."""

    name: str
    measurement: Measurement
    film_url: str = ""


def charts_on_one_axis(*measurements: Measurement) -> tuple[Chart, ...]:
    """A chart for each measurement, all on the axis that holds every one of them."""
    drawn = [drawn_of(measurement) for measurement in measurements]
    axis = _shared_axis(drawn)
    return tuple(chart_of(one, Wanted(), axis) for one in drawn)


def board_of_two(sides: tuple[Side, Side], parameters: Mapping[str, str]) -> Board:
    """Both waterfalls, each request knowing its partner in the other. The URL names the two as `a` and `b`.

    The second view is of both or of neither, and in one state: else two things would be compared that are none.
    """
    kept = tuple((prefix, parameters.get(prefix, "")) for prefix in PREFIXES)
    states = [_repeat_state(side.measurement) for side in sides]
    has_repeat = states[0] is not None and states[0] == states[1]
    wanted = wanted_of(parameters, kept=kept)
    wanted = wanted if has_repeat else replace(wanted, visit="")
    drawn = [drawn_of(side.measurement, visit=wanted.visit) for side in sides]
    axis = _shared_axis(drawn)
    charts = dict(zip(PREFIXES, matched(*(chart_of(one, wanted, axis) for one in drawn)), strict=True))
    prefix, row = _chosen(charts, parameters.get("request", ""))
    pictures = tuple(
        replace(
            picture_of(one, charts[name], wanted, film_url=side.film_url, prefix=name),
            name=side.name,
            selected=row.number if row and name == prefix else None,
            matched=row.match if row and name != prefix else None,
        )
        for name, side, one in zip(PREFIXES, sides, drawn, strict=True)
    )
    unit = charts["a"].unit
    return Board(
        pictures=pictures,
        wanted=wanted,
        selected="" if row is None else f"{prefix}{row.number}",
        details=None if row is None else details_of(drawn[PREFIXES.index(prefix)], unit, row.number),
        has_views=all(isinstance(one, PageMeasurement) for one in drawn),
        has_repeat=has_repeat,
    )


def details_of_side(measurement: Measurement, wanted: Wanted, number: int) -> Details | None:
    """What the side panel says of one row of one of the two; None when there is no such row."""
    unit = "connection" if wanted.view else "request"
    return details_of(drawn_of(measurement, visit=wanted.visit), unit, number)


def _repeat_state(measurement: Measurement) -> PageState | None:
    """What the second view found; None without one."""
    if not isinstance(measurement, PageMeasurement) or measurement.repeat is None:
        return None
    return measurement.repeat.state


def _chosen(charts: Mapping[str, Chart], asked: str) -> tuple[str, Row | None]:
    """The row that the URL names; else the first of the first waterfall."""
    prefix, number = asked[:1], asked[1:]
    if prefix in charts and number.isascii() and number.isdigit():
        row = next((row for row in charts[prefix].rows if str(row.number) == number), None)
        if row:
            return prefix, row
    return PREFIXES[0], next(iter(charts[PREFIXES[0]].rows), None)


def _shared_axis(drawn: Iterable[Drawn]) -> Axis | None:
    axes = [own_axis(one) for one in drawn]
    if not axes:
        return None
    return Axis(start_us=min(axis.start_us for axis in axes), end_us=max(axis.end_us for axis in axes))
