"""One waterfall of a page, or two on one axis, with the tools over them: chosen from measurements and the URL."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from backend.web.waterfall.axis import Axis, box_of, part_of
from backend.web.waterfall.connections import connection_chart
from backend.web.waterfall.data import FilmData, chart_data, document, film_data
from backend.web.waterfall.details import Details, connection_details, hop_details, request_details
from backend.web.waterfall.film import film_html, film_text
from backend.web.waterfall.phases import PhaseTable, phase_table
from backend.web.waterfall.rows import Chart, page_chart, probe_chart
from backend.web.waterfall.shapes import TRAITS, Trait
from backend.web.waterfall.strips import Strip, strips_of
from backend.web.waterfall.wanted import ORDERS, Wanted, Window, wanted_of, window_of
from workers.measurement.compute.probe.pair_hops import as_probe
from workers.measurement.connection import Connection
from workers.measurement.messages import Measurement, PageMeasurement, ProbeMeasurement

Drawn = PageMeasurement | ProbeMeasurement


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A waterfall as the URL wants it. `prefix` begins the ids of its rows; `name` is said where there are two.

    `matched` is the row that is the same request as the one that is looked at in the other waterfall.
    """

    chart: Chart
    window: Window
    wanted: Wanted
    view: Axis
    selected: int | None = None
    matched: int | None = None
    film: FilmData | None = None
    strips: tuple[Strip, ...] = ()
    prefix: str = "r"
    name: str = ""

    @property
    def box(self) -> str:
        """From where and how much of the axis is looked at, in percent."""
        return box_of(self.chart.axis, self.view)

    @property
    def pictures(self) -> str:
        """The film as HTML; empty without one."""
        return "" if self.film is None else film_html(self.film, self.view)

    @property
    def film_text(self) -> str:
        """The film in words: when something was first seen, and when all of it."""
        return "" if self.film is None else film_text(self.film)

    @property
    def data_id(self) -> str:
        return f"wf-data-{self.prefix}"

    @property
    def data(self) -> dict[str, object]:
        """For the script: times, and all rows when not all of them are in the page."""
        return document(chart_data(self.chart, with_rows=not self.window.complete, film=self.film))


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """All that the component draws. `selected` is the row's name in the URL: `18`, and `a18` where there are two.

    `has_views` offers rows by connection, `has_repeat` the second view of the run; `phases` is of a probe.
    """

    pictures: tuple[Picture, ...]
    wanted: Wanted
    selected: str = ""
    details: Details | None = None
    phases: PhaseTable | None = None
    has_views: bool = False
    has_repeat: bool = False

    @property
    def chart(self) -> Chart:
        return self.pictures[0].chart

    @property
    def prefix(self) -> str:
        """What the name of the row that is looked at begins with in the URL."""
        return self.selected[:1] if self.selected[:1].isalpha() else ""

    @property
    def address(self) -> str:
        """The URL's query as it is, ready for the name of another row."""
        return _ready(self.wanted.query)

    @property
    def requests(self) -> str:
        """The same for a row of the view by requests."""
        return _ready(self.wanted.query_with(view="", q="", kind="", only="", sort=""))

    @property
    def has_rows(self) -> bool:
        return any(picture.chart.rows for picture in self.pictures)

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(sorted({host for picture in self.pictures for host in picture.chart.hosts}))

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(sorted({kind for picture in self.pictures for kind in picture.chart.kinds}))

    @property
    def orders(self) -> dict[str, str]:
        """What rows can be sorted by, and how a list of choices says it."""
        return ORDERS

    @property
    def traits(self) -> dict[Trait, str]:
        """What rows can be chosen by, with its name, and what the address chooses them by."""
        found = {self.wanted.only, *(trait for picture in self.pictures for trait in picture.chart.traits)}
        return {trait: name for trait, name in TRAITS.items() if trait in found}

    @property
    def matching(self) -> int:
        return sum(picture.window.matching for picture in self.pictures)

    @property
    def total(self) -> int:
        return sum(picture.window.total for picture in self.pictures)

    @property
    def has_strips(self) -> bool:
        return any(picture.strips for picture in self.pictures)

    @property
    def has_film(self) -> bool:
        return any(picture.pictures for picture in self.pictures)


def board_of(measurement: Measurement, parameters: Mapping[str, str], film_url: str = "") -> Board:
    """The one waterfall of a run: its rows, the window of them, and the one row that is looked at."""
    wanted = wanted_of(parameters)
    drawn = drawn_of(measurement, visit=wanted.visit)
    chart = chart_of(drawn, wanted)
    selected = _selected(drawn, chart, parameters.get("request", ""))
    picture = picture_of(drawn, chart, wanted, selected=selected, film_url=film_url)
    return Board(
        pictures=(picture,),
        wanted=wanted,
        selected="" if selected is None else str(selected),
        details=None if selected is None else details_of(drawn, chart.unit, selected),
        phases=_phases(drawn),
        has_views=isinstance(drawn, PageMeasurement),
        has_repeat=isinstance(measurement, PageMeasurement) and measurement.repeat is not None,
    )


def picture_of(
    drawn: Drawn, chart: Chart, wanted: Wanted, *, selected: int | None = None, film_url: str = "", prefix: str = "r"
) -> Picture:
    """A chart with what stands around it."""
    page = drawn if isinstance(drawn, PageMeasurement) else None
    return Picture(
        chart=chart,
        window=window_of(chart.rows, wanted),
        wanted=wanted,
        view=part_of(chart.axis, wanted.zoom),
        selected=selected,
        film=film_data(page.film, film_url) if page and film_url else None,
        strips=strips_of(page, chart.axis) if page else (),
        prefix=prefix,
    )


def drawn_of(measurement: Measurement, visit: str = "") -> Drawn:
    """What of a measurement is drawn: of a pair its exchanges as hops, of a page the view that is meant."""
    return as_probe(of_visit(measurement, visit))


def of_visit(measurement: Measurement, visit: str) -> Measurement:
    """A page as its repeat visit found it, where that is meant and took place; else the measurement as it is."""
    if visit != "repeat" or not isinstance(measurement, PageMeasurement) or measurement.repeat is None:
        return measurement
    view = measurement.repeat
    return replace(
        measurement,
        waterfall=view.waterfall,
        vitals=view.vitals,
        document=view.document,
        film=None,
        activity=None,
        console=(),
    )


def chart_of(drawn: Drawn, wanted: Wanted, axis: Axis | None = None) -> Chart:
    """The rows that the URL asks for, on an axis of their own or one that is shared."""
    if isinstance(drawn, ProbeMeasurement):
        return probe_chart(drawn, axis)
    return connection_chart(drawn, axis) if wanted.view else page_chart(drawn, axis)


def details_of(measurement: Measurement, unit: str, number: int) -> Details | None:
    """What the side panel says of one row; None when there is no such row."""
    measurement = as_probe(measurement)
    if isinstance(measurement, PageMeasurement):
        return connection_details(measurement, number) if unit == "connection" else request_details(measurement, number)
    if not 1 <= number <= len(measurement.hops):
        return None
    hop = measurement.hops[number - 1]
    return hop_details(number, hop, _connection(measurement, hop.connection))


def _selected(drawn: Drawn, chart: Chart, asked: str) -> int | None:
    """The row that the URL names, else the one people look for: the final document, the last hop, the first row."""
    numbers = {row.number for row in chart.rows}
    if asked.isascii() and asked.isdigit() and len(asked) < 7 and int(asked) in numbers:
        return int(asked)
    if isinstance(drawn, PageMeasurement) and chart.unit == "request" and drawn.document in numbers:
        return drawn.document
    if not chart.rows:
        return None
    return chart.rows[-1].number if chart.unit == "hop" else chart.rows[0].number


def _ready(query: str) -> str:
    return f"?{query}&" if query else "?"


def _phases(drawn: Drawn) -> PhaseTable | None:
    if not isinstance(drawn, ProbeMeasurement) or not drawn.hops:
        return None
    last = drawn.hops[-1]
    table = phase_table(last, _connection(drawn, last.connection))
    return table if len(drawn.hops) == 1 else replace(table, total_name=f"{table.total_name}, without redirects")


def _connection(probe: ProbeMeasurement, number: int | None) -> Connection | None:
    return next((connection for connection in probe.connections if connection.number == number), None)
