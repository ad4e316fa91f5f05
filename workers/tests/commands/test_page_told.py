"""What `firstbyte page` says to people beside its picture."""

from dataclasses import replace

import pytest

from workers.commands.page_drawing import draw_page
from workers.diagnosis.page.diagnose import diagnose_page
from workers.measurement.canvas import Canvas, columns_of
from workers.measurement.failure import FailureKind, failure
from workers.measurement.messages import Failed, Measured, PageMeasurement
from workers.measurement.profile import PROFILES
from workers.shaped_pages import marked_page
from workers.tests.diagnosis.test_pages import asked, page


def test_a_page_whose_profile_was_not_kept_is_told_with_its_picture() -> None:
    plain = Measured(measurement=replace(page(), profile_verified=None, warnings=()))
    assert "!" not in "".join(line[:2] for line in draw_page(plain, Canvas()))
    shaped = marked_page(plain, next(one for one in PROFILES.values() if (one.rtt_us or 0) >= 100_000))
    assert isinstance(shaped.measurement, PageMeasurement)
    assert shaped.measurement.profile_verified is False
    told = " ".join(draw_page(shaped, Canvas())[-3:])
    assert "do not compare these times" in " ".join(told.split())


def test_who_loads_a_page_beside_other_work_is_told_not_to_trust_its_times() -> None:
    seen = replace(page(), warnings=())
    busy = replace(seen, vitals=replace(seen.vitals, load_us=1_000_000, contention_us=400_000))
    assert "kept it waiting for 0.40 s" in " ".join(draw_page(Measured(measurement=busy), Canvas())[-3:])


@pytest.mark.parametrize(("columns", "rows"), [(60, 24), (80, 24), (100, 40), (200, 60)])
def test_a_page_is_told_in_one_screen_with_all_its_figures(columns: int, rows: int) -> None:
    many = page(*(asked(number, "www.example.org", 1, 310, 400) for number in range(2, 90)))
    vitals = replace(many.vitals, lcp_us=900_000, cls=0.25, load_us=1, tbt_us=2, speed_index_us=3, fully_loaded_us=4)
    shown = replace(many, vitals=vitals)
    outcome = Measured(measurement=replace(shown, diagnosis=diagnose_page(shown)))
    lines = draw_page(outcome, Canvas(width=columns, rows=rows - 1, remedy="--all"))
    assert len(lines) < rows
    assert max(map(columns_of, lines)) <= columns
    told = " · ".join(lines)
    for name in ("LCP 900 ms", "CLS 0.250", "TBT", "speed index", "fully loaded", "89 requests", "… and "):
        assert name in told
    assert any(line.endswith(" more requests: --all shows all") for line in lines)
    whole = draw_page(outcome, Canvas(width=columns, rows=None))
    assert [line.split()[0] for line in whole[:89]] == [str(number) for number in range(1, 90)]
    assert "… and" not in " ".join(whole)


def test_what_to_do_about_a_page_that_failed_is_told_whole_in_the_same_screen() -> None:
    many = page(*(asked(number, "www.example.org", 1, 310, 400) for number in range(2, 90)))
    outcome = Failed(failure=failure(FailureKind.STATUS_UNEXPECTED, "503"), measurement=many)
    lines = draw_page(outcome, Canvas(width=48, rows=23, remedy="--all"))
    assert len(lines) <= 23
    assert "→ Look into the server's log at the time of the failure." in " ".join(" ".join(lines).split())
