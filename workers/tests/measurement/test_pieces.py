"""When a document that comes in pieces came on, its server having more of it."""

import pytest

from workers.measurement.captures_page import PieceSeen
from workers.measurement.compute.devtools.pieces import came_on_us
from workers.measurement.waterfall import ResourceType
from workers.tests.builders import build_connection, span
from workers.tests.diagnosis.page_sketch import row


@pytest.mark.parametrize(
    ("pieces_ms", "end_ms", "came_on_ms"),
    [
        ((101, 160, 240, 320), 350, None),
        ((101, 160, 560, 600), 610, 560),
        ((101, 400, 410, 750), 760, 750),
        ((101, 160), 700, 700),
        ((500,), 510, 500),
        ((), 700, None),
    ],
)
def test_a_document_comes_on_for_the_last_time_when_its_server_has_the_rest_of_it(
    pieces_ms: tuple[int, ...], end_ms: int, came_on_ms: int | None
) -> None:
    """Behind its last piece and before its first one too a server may let it wait."""
    document = row(1, ResourceType.DOCUMENT, 0, end_ms, first_ms=100)
    pieces = [PieceSeen(5 + at_ms / 1000, 500) for at_ms in pieces_ms]
    assert came_on_us(pieces, document, None, 5_000_000) == (None if came_on_ms is None else came_on_ms * 1000)


@pytest.mark.parametrize(("rtt_ms", "came_on_ms"), [(40, 410), (150, 410), (160, None)])
def test_what_comes_with_the_next_round_trips_has_not_stood_still(rtt_ms: int, came_on_ms: int | None) -> None:
    document = row(1, ResourceType.DOCUMENT, 0, 420, first_ms=100)
    pieces = [PieceSeen(5.101, 500), PieceSeen(5.410, 900)]
    found = came_on_us(pieces, document, build_connection(connect=span(0, rtt_ms)), 5_000_000)
    assert found == (None if came_on_ms is None else came_on_ms * 1000)


def test_nobody_knows_it_of_a_document_that_has_no_end() -> None:
    assert came_on_us([PieceSeen(5, 500)], None, None, 5_000_000) is None
