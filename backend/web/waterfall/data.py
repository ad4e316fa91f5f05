"""What the script is given of a waterfall beside the page's own HTML: times to zoom by, and rows that are not in it."""

from dataclasses import MISSING, asdict, dataclass, fields, replace

from backend.web.waterfall.axis import Moment
from backend.web.waterfall.rows import Bar, Chart, Row, Tint
from backend.web.waterfall.shapes import PHASES, Trait, number_text
from workers.measurement.page_view import Film


@dataclass(frozen=True, slots=True, kw_only=True)
class FilmData:
    """The film's pictures: where each begins in time, and how they lie in the one picture that holds them all."""

    url: str
    width: int
    height: int
    columns: int
    at_us: tuple[int, ...]
    complete_ppm: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowData:
    """A row for the script, small, since there are thousands: what is as usual is left out.

    `bars` has a line a bar: the phase's place among PHASES, from where and how wide in percent, and, where requests
    share a row, the lane and the title, all with a space between. It is only read when the row is drawn.
    """

    number: int
    name: str
    url: str
    status: str
    spoken: str
    start_us: int
    bars: str
    host: str = ""
    kind: str = ""
    notes: tuple[str, ...] = ()
    tint: Tint = ""
    traits: tuple[Trait, ...] = ()
    total_us: int | None = None
    size_bytes: int | None = None
    open_us: int | None = None
    lanes: int = 1
    match: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartData:
    """`rows` is absent where all of them are in the page."""

    start_us: int
    end_us: int
    zero_us: int
    moments: tuple[Moment, ...]
    film: FilmData | None
    rows: tuple[RowData, ...] | None


def chart_data(chart: Chart, *, with_rows: bool, film: FilmData | None = None) -> ChartData:
    """The data block of one chart."""
    return ChartData(
        start_us=chart.axis.start_us,
        end_us=chart.axis.end_us,
        zero_us=chart.axis.zero_us,
        moments=chart.moments,
        film=film,
        rows=tuple(row_data(row) for row in chart.rows) if with_rows else None,
    )


def row_data(row: Row) -> RowData:
    """A row as the script is given it; sizes and times it writes itself."""
    return RowData(
        number=row.number,
        name=row.name,
        url=row.url,
        status=row.status,
        spoken=row.spoken,
        start_us=row.start_us,
        bars="\n".join(_bar(bar) for bar in row.bars),
        host=row.host,
        kind=row.kind,
        notes=row.notes,
        tint=row.tint,
        traits=row.traits,
        total_us=row.total_us,
        size_bytes=row.size_bytes,
        open_us=row.open_us,
        lanes=row.lanes,
        match=row.match,
    )


def document(data: ChartData) -> dict[str, object]:
    """As the page's data block holds it."""
    rows = None if data.rows is None else [_without_defaults(row) for row in data.rows]
    return asdict(replace(data, rows=None)) | {"rows": rows}


def _bar(bar: Bar) -> str:
    place = f"{PHASES.index(bar.phase)} {number_text(bar.x)} {number_text(bar.width)}"
    return f"{place} {bar.lane} {bar.title}" if bar.title or bar.lane else place


def _without_defaults(row: RowData) -> dict[str, object]:
    values = ((field.name, getattr(row, field.name), field.default) for field in fields(row))
    return {name: value for name, value, default in values if default is MISSING or value != default}


def film_data(film: Film | None, url: str) -> FilmData | None:
    """None without a film, or one that has no pictures."""
    if film is None or not film.frames or min(film.width, film.height, film.columns) < 1:
        return None
    frames = sorted(film.frames, key=lambda frame: frame.at_us)
    return FilmData(
        url=url,
        width=film.width,
        height=film.height,
        columns=film.columns,
        at_us=tuple(frame.at_us for frame in frames),
        complete_ppm=tuple(frame.complete_ppm for frame in frames),
    )
