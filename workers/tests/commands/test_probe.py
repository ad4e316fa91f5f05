"""What `firstbyte probe` prints for a person."""

from dataclasses import replace

import pytest

from workers.commands.probe import _drawing
from workers.measurement.canvas import Canvas
from workers.measurement.messages import Measured, ProbeMeasurement
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Server, deep


def drawn(*, verified: bool | None) -> str:
    evidence = replace(deep(Path(rtt_ms=300), Server(body_bytes=20_000)), profile_verified=verified)
    return _drawing([Measured(measurement=ProbeMeasurement(evidence=evidence))], Canvas(), flights=False)


@pytest.mark.parametrize(("verified", "told"), [(False, True), (True, False), (None, False)])
def test_a_profile_that_was_not_kept_is_told(verified: bool | None, *, told: bool) -> None:
    assert ("not seen to keep the profile" in drawn(verified=verified)) is told
