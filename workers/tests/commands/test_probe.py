"""What `firstbyte probe` prints for a person."""

from dataclasses import replace

import pytest

from workers.commands.probe import _drawing
from workers.measurement.canvas import Canvas
from workers.measurement.messages import Measured, ProbeMeasurement
from workers.tests.builders import build_probe
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Server, deep


def busy(late_us: int) -> str:
    return _drawing([Measured(measurement=replace(build_probe(), contention_us=late_us))], Canvas(), flights=False)


def test_an_answer_that_lay_unread_is_told() -> None:
    assert "did not look for 0.30 s: it may have begun sooner" in " ".join(busy(300_000).split())
    assert "sooner" not in busy(140)


def drawn(*, verified: bool | None) -> str:
    evidence = replace(deep(Path(rtt_ms=300), Server(body_bytes=20_000)), profile_verified=verified)
    return _drawing([Measured(measurement=ProbeMeasurement(evidence=evidence))], Canvas(), flights=False)


@pytest.mark.parametrize(("verified", "told"), [(False, True), (True, False), (None, False)])
def test_a_profile_that_was_not_kept_is_told(verified: bool | None, *, told: bool) -> None:
    assert ("not seen to keep the profile" in drawn(verified=verified)) is told
