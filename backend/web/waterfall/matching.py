"""The same request in two waterfalls, and what differs between the two: `runs.differences`, marked in the rows."""

from collections.abc import Mapping
from dataclasses import replace

from backend.runs import differences
from backend.runs.differences import Changes, differs, partners_of
from backend.web.waterfall.rows import Chart, Row
from backend.web.waterfall.shapes import ONLY_HERE


def matched(first: Chart, second: Chart) -> tuple[Chart, Chart]:
    """Both charts with each row knowing its partner, and marked where it differs from it."""
    partners = partners_of(first.rows, second.rows)
    back = {there: here for here, there in partners.items()}
    by_number = {row.number: row for row in first.rows}, {row.number: row for row in second.rows}
    return _marked(first, partners, by_number[1]), _marked(second, back, by_number[0])


def changes_of(first: Chart, second: Chart) -> Changes:
    """Of two charts that were matched."""
    partners = {row.number: row.match for row in first.rows if row.match is not None}
    return differences.changes_of(first.rows, second.rows, partners)


def _marked(chart: Chart, partners: Mapping[int, int], others: Mapping[int, Row]) -> Chart:
    return replace(chart, rows=tuple(_row(row, others.get(partners.get(row.number, -1))) for row in chart.rows))


def _row(row: Row, other: Row | None) -> Row:
    if other is None:
        return replace(row, notes=(ONLY_HERE, *row.notes), traits=(*row.traits, "differs"))
    notes = (*row.notes, "other version") if row.url != other.url else row.notes
    traits = (*row.traits, "differs") if differs(row, other) else row.traits
    return replace(row, match=other.number, notes=notes, traits=traits)
