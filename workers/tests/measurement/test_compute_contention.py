"""By how much a wait may be too long whose beginning nobody saw: pure arithmetic on captures."""

from typing import Any

import pytest

from workers.measurement.compute.probe.probe import probe_measurement
from workers.tests.measurement.test_compute_probe import MS, hop, probe


@pytest.mark.parametrize(
    ("changes", "unsure_us"),
    [
        ({}, 0),
        ({"late_reads": ((2, 90 * MS),)}, 30_000),
        # Never before it was asked for, nor after it came.
        ({"late_reads": ((2, 0),)}, 50_000),
        ({"late_reads": ((2, 121 * MS),)}, 0),
        ({"late_reads": ((1, 0), (3, 0))}, 0),
        ({"late_reads": ((2, 90 * MS),), "held_reads": (2,)}, 0),
        ({"response": None}, None),
    ],
)
def test_an_answer_that_was_looked_at_late_may_have_begun_since_the_look_before(
    changes: Any, unsure_us: int | None
) -> None:
    assert probe_measurement(probe(hop(**changes))).contention_us == unsure_us


def test_the_least_sure_hop_is_told_and_none_without_stamps() -> None:
    late = hop(late_reads=((2, 90 * MS),))
    assert probe_measurement(probe(hop(), late, hop())).contention_us == 30_000
    assert probe_measurement(probe(late, step_ns=5 * MS)).contention_us is None
