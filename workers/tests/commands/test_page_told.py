"""What `firstbyte page` says to people beside its picture."""

from dataclasses import replace

from workers.commands.page import _drawing
from workers.measurement.canvas import Canvas
from workers.measurement.messages import Measured, PageMeasurement
from workers.measurement.profile import PROFILES
from workers.shaped_pages import marked_page
from workers.tests.diagnosis.test_pages import page


def test_a_page_whose_profile_was_not_kept_is_told_with_its_picture() -> None:
    plain = Measured(measurement=replace(page(), profile_verified=None, warnings=()))
    assert "!" not in "".join(line[:2] for line in _drawing(plain, Canvas(), 60))
    shaped = marked_page(plain, next(one for one in PROFILES.values() if (one.rtt_us or 0) >= 100_000))
    assert isinstance(shaped.measurement, PageMeasurement)
    assert shaped.measurement.profile_verified is False
    told = " ".join(_drawing(shaped, Canvas(), 60)[-3:])
    assert "do not compare these times" in " ".join(told.split())
