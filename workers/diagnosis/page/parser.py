"""The rule on what the parser had to stop at before it came to the largest picture."""

from workers.diagnosis.case import Verdicts
from workers.diagnosis.facts import facts, in_ms
from workers.diagnosis.page.case import MEDIUM_US, PageCase, told, unjudged
from workers.diagnosis.page.instants import CLOCKS_US, DIRECTLY_US
from workers.diagnosis.page.largest_paint import LargestPaint
from workers.diagnosis.page.rendering import FILES_NAMED, named
from workers.measurement.finding import FindingId
from workers.measurement.waterfall import Blocking, Request, RowFlag


def held(case: PageCase) -> Verdicts:
    """page.lcp_held: files in the body stopped the parser ahead of the largest picture, which had come by then."""
    largest, lcp_us = case.largest, case.page.vitals.lcp_us
    rows = [] if largest is None or lcp_us is None else _holders(case, largest, lcp_us)
    if largest is None or lcp_us is None or not rows:
        return
    until_us, ready_us = max(row.timing.end_us or 0 for row in rows), _ready_us(case, largest)
    saving_us = min(largest.left_us, until_us - largest.free_us(ready_us))
    if saving_us < MEDIUM_US:
        return
    # Decoding and painting a picture takes longer than a text.
    if lcp_us - until_us > 2 * DIRECTLY_US:
        yield unjudged(FindingId.PAGE_LCP_HELD)
        return
    largest.left_us -= saving_us
    yield told(
        FindingId.PAGE_LCP_HELD,
        (largest.row, *rows),
        saving_us,
        evidence=facts(
            lcp_ms=in_ms(lcp_us),
            picture_there_ms=in_ms(largest.row.timing.end_us),
            blocked_until_ms=in_ms(until_us),
            files=tuple(named(row) for row in rows[:FILES_NAMED]),
            element=case.page.vitals.lcp_element,
        ),
    )


def _holders(case: PageCase, largest: LargestPaint, lcp_us: int) -> list[Request]:
    """What the document names before the picture and stops the parser, and came after the first paint."""
    document, place, fcp_us = case.document, largest.shown.initiator_at, case.page.vitals.fcp_us
    if document is None or place is None or fcp_us is None or not largest.is_picture:
        return []
    if largest.shown.initiator_url != document.url:
        return []
    return [
        row
        for row in case.page.waterfall.requests
        if row.blocking is Blocking.PARSER and row.initiator_url == document.url and RowFlag.FRAME not in row.flags
        if (row.initiator_at or place) < place and fcp_us < (row.timing.end_us or 0) <= lcp_us + CLOCKS_US
    ]


def _ready_us(case: PageCase, largest: LargestPaint) -> int:
    """When the picture would have been painted: it was there, the page had begun to paint, and the document had come as
    far as the picture, for certain where it had come as a whole."""
    read_us = None if case.document is None else case.document.timing.end_us
    return max(largest.row.timing.end_us or 0, case.page.vitals.fcp_us or 0, read_us or 0)
