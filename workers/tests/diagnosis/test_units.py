"""Numbers in sentences."""

import pytest

from workers.diagnosis.units import size


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (0, "0 B"),
        (412, "412 B"),
        (999.4, "999 B"),
        (999.6, "1.0 kB"),
        (17_000, "17.0 kB"),
        (999_940, "999.9 kB"),
        (999_960, "1.0 MB"),
        (1_200_000, "1.2 MB"),
    ],
)
def test_a_size_is_told_in_the_unit_that_it_is_rounded_to(count: float, told: str) -> None:
    assert size(count) == told
