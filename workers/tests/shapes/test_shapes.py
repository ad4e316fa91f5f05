"""Page shapes: what the reader makes of golden captures is what was written by hand."""

import pytest

from workers.measurement.compute.page import compute_page
from workers.tests.shapes import golden
from workers.tests.shapes.catalogue import SHAPES
from workers.tests.shapes.table import differences


@pytest.mark.parametrize("name", SHAPES)
def test_rows_and_connections_are_those_that_were_written_by_hand(name: str) -> None:
    assert differences(SHAPES[name], compute_page(golden.load(name)).measurement) == []
