"""The rule on text that is there, and hidden until its font has come."""

from workers.diagnosis.case import Verdicts
from workers.diagnosis.facts import facts, in_ms
from workers.diagnosis.page.case import MEDIUM_US, PageCase, told
from workers.diagnosis.page.instants import DIRECTLY_US, GONE_US
from workers.diagnosis.page.largest_paint import LargestPaint
from workers.diagnosis.page.rendering import named
from workers.measurement.finding import FindingId
from workers.measurement.waterfall import Request, ResourceType, RowFlag

_MAKING = frozenset({ResourceType.SCRIPT, ResourceType.FETCH})


def hidden(case: PageCase) -> Verdicts:
    """page.text_hidden: the largest text waited for its font, in place of which no other was shown meanwhile."""
    largest = case.largest or LargestPaint.given_up(case.page)
    if largest is None or largest.is_picture or case.page.text_waits is not True:
        return
    sooner_us = largest.until_us - _there_us(case, largest)
    if largest.left_after_us(sooner_us) < MEDIUM_US:
        return
    yield told(
        FindingId.PAGE_TEXT_HIDDEN,
        (largest.row,),
        largest.claim(largest.left_after_us(sooner_us)),
        evidence=facts(
            files=(named(largest.row),),
            lcp_ms=in_ms(case.page.vitals.lcp_us),
            first_paint_ms=in_ms(case.page.vitals.fcp_us),
            asked_at_ms=in_ms(largest.asked_us),
            came_at_ms=in_ms(largest.row.timing.end_us),
            status=largest.row.status,
            error=largest.row.failure,
            element=case.page.vitals.lcp_element,
        ),
    )


def _there_us(case: PageCase, largest: LargestPaint) -> int:
    """By when the text was there to be shown, at the latest: the browser asks for a font when a text needs it, and
    paints that directly. Other text of the same font may have been there before: this came with the last of the
    document, or a script of the page's own made it, or made it of what that fetched."""
    fcp_us, lcp_us = case.page.vitals.fcp_us or 0, case.page.vitals.lcp_us or 0
    read_us = GONE_US if case.document is None else case.document.timing.end_us or GONE_US
    made = (row.timing.end_us or 0 for row in case.rows if _may_make(case, row))
    needed_us = 0 if RowFlag.PRELOAD in largest.asked.flags else largest.asked_us
    ready_us = max([needed_us, read_us, *(end_us for end_us in made if end_us <= lcp_us)])
    return fcp_us if ready_us <= fcp_us else ready_us + DIRECTLY_US


def _may_make(case: PageCase, row: Request) -> bool:
    return row.resource_type in _MAKING and RowFlag.FRAME not in row.flags and not case.is_third_party(row)
