"""What a second view is charged with, and what the next day's is."""

import pytest

from workers.diagnosis.page.returning import lifetime_s
from workers.measurement.finding import FindingId
from workers.measurement.messages import PageMeasurement
from workers.measurement.page_options import PageState
from workers.measurement.page_view import RepeatView
from workers.measurement.vitals import Vitals
from workers.measurement.waterfall import Request, ResourceType, ServedFrom, Waterfall
from workers.tests.diagnosis.page_sketch import evidence_of, picture, row, sketch, style, told

UNCACHED = FindingId.PAGE_UNCACHED
CHECKED = {"headers": {"cache-control": "no-cache"}, "transferred_bytes": 60_200}


def again(*rest: Request, fcp_ms: float, document_ms: float = 100) -> RepeatView:
    document = row(1, ResourceType.DOCUMENT, 0, document_ms, path="")
    waterfall = Waterfall(requests=(document, *rest), connections=())
    vitals = Vitals(fcp_us=round(fcp_ms * 1_000))
    return RepeatView(state=PageState.WARM_CACHE, waterfall=waterfall, vitals=vitals, document=1)


def saving_us(page: PageMeasurement) -> int | None:
    found = told(page, UNCACHED)
    return None if found is None else found.saving_us


@pytest.mark.parametrize("forbidding", ["no-store", "no-cache", "NO-STORE"])
def test_what_may_not_be_kept_or_used_unasked_may_not_whatever_its_age(forbidding: str) -> None:
    headers = {"cache-control": f"max-age=31536000, {forbidding}"}
    assert lifetime_s(picture(2, 310, 500, headers=headers)) == 0


def test_without_the_instant_of_the_answer_nobody_knows_how_old_it_was() -> None:
    headers = {"last-modified": "Wed, 11 Nov 2026 12:00:00 GMT"}
    assert lifetime_s(picture(2, 310, 500, headers=headers)) is None


def test_a_second_view_is_charged_with_files_that_may_be_kept_and_not_with_its_document_or_a_strangers() -> None:
    """A document is asked for each time, and what is a stranger's is not the site's to let be kept."""
    asked = style(2, 310, 700, **CHECKED)
    stranger = style(3, 310, 500, host="tags.example.net", headers={"cache-control": "no-cache"})
    charged = style(2, 410, 550)
    alone = sketch(asked, stranger, fcp_ms=720, repeat=again(charged, fcp_ms=560, document_ms=400))
    assert saving_us(alone) == 550_000 - 410_000 - 15_000
    beside = style(3, 410, 540, host="tags.example.net")
    held = sketch(asked, stranger, fcp_ms=720, repeat=again(charged, beside, fcp_ms=560, document_ms=400))
    assert saving_us(held) == 10_000


def test_a_second_view_that_had_one_of_the_files_in_its_cache_is_no_measure_of_the_next_day() -> None:
    files = [style(number, 310, 700, **CHECKED) for number in (2, 3)]
    kept = style(3, 110, 112, served_from=ServedFrom.DISK_CACHE)
    for second, is_seen in ((style(3, 110, 250), True), (kept, None)):
        found = told(sketch(*files, fcp_ms=720, repeat=again(style(2, 110, 250), second, fcp_ms=260)), UNCACHED)
        assert found is not None
        assert evidence_of(found).get("seen_in_repeat_view") is is_seen


def test_of_files_that_come_again_at_once_the_slowest_is_waited_for() -> None:
    """Each is asked for 10 ms after the document has come, and its answer is there 10 ms after its first byte."""
    short = {"headers": {"cache-control": "max-age=600"}, "transferred_bytes": 5_000}
    files = [style(2, 310, 500, **short), style(3, 310, 700, **short)]
    assert saving_us(sketch(*files, fcp_ms=720)) == saving_us(sketch(files[1], fcp_ms=720)) == 390_000
