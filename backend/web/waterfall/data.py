"""What the script is given of a waterfall beside the page's own HTML: times to zoom by, and rows that are not in it."""

from dataclasses import MISSING, asdict, dataclass, fields, replace

from backend.web.waterfall.axis import Moment
from backend.web.waterfall.rows import Bar, Chart, Row
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
class ChartData:
    """`rows` is absent where all of them are in the page."""

    start_us: int
    end_us: int
    zero_us: int
    moments: tuple[Moment, ...]
    film: FilmData | None
    rows: tuple[Row, ...] | None


def chart_data(chart: Chart, *, with_rows: bool, film: FilmData | None = None) -> ChartData:
    """The data block of one chart."""
    return ChartData(
        start_us=chart.axis.start_us,
        end_us=chart.axis.end_us,
        zero_us=chart.axis.zero_us,
        moments=chart.moments,
        film=film,
        rows=chart.rows if with_rows else None,
    )


def document(data: ChartData) -> dict[str, object]:
    """As the page's data block holds it; of rows and bars what is as usual is left out, since there are very many."""
    rows = None if data.rows is None else [_row(row) for row in data.rows]
    return {name: value for name, value in asdict(replace(data, rows=None)).items() if name != "rows"} | {"rows": rows}


def _row(row: Row) -> dict[str, object]:
    return _without_defaults(row) | {"bars": [_without_defaults(bar) for bar in row.bars]}


def _without_defaults(one: Row | Bar) -> dict[str, object]:
    values = ((field.name, getattr(one, field.name), field.default) for field in fields(one))
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
