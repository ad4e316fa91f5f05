"""The rule on a largest picture that comes among others of the page, which no visitor waits for."""

from collections.abc import Sequence
from dataclasses import replace

from workers.diagnosis.case import Verdicts
from workers.diagnosis.facts import facts, in_ms
from workers.diagnosis.page.case import HIGH_US, PageCase, told
from workers.diagnosis.page.largest import MIN_LATE_US
from workers.diagnosis.page.largest_paint import LargestPaint
from workers.diagnosis.page.needless_bytes import FewerBytes
from workers.diagnosis.page.rendering import FILES_NAMED, named
from workers.diagnosis.page.sooner import lateness_us
from workers.measurement.finding import FindingId, Severity
from workers.measurement.waterfall import Request, ResourceType, RowFlag
from workers.measurement.web_address import host_of

# What Chrome calls pictures that it takes for the least urgent: all but the first five large ones of a document.
_LEAST_URGENT = "Low"


def others(case: PageCase) -> Verdicts:
    """page.lcp_behind: the largest picture shared the line with others that its document names ahead of it. How much of
    that time a repair saves is each server's affair: nothing is claimed."""
    largest = case.largest
    if largest is None or not largest.sure or not _is_least_urgent(case, largest):
        return
    ahead = _ahead(case, largest.row)
    fewer = {row.number: row.transferred_bytes or 0 for row in ahead}
    if not ahead or largest.gain_us(FewerBytes(case=case, fewer=fewer).sooner_us(largest.row)) < HIGH_US:
        return
    found = told(
        FindingId.PAGE_LCP_BEHIND,
        (largest.row, *ahead),
        None,
        evidence=facts(
            files=tuple(named(row) for row in (largest.row, *ahead)[:FILES_NAMED]),
            lcp_ms=in_ms(case.page.vitals.lcp_us),
            pictures_ahead=len(ahead),
            ahead_bytes=sum(fewer.values()),
            element=case.page.vitals.lcp_element,
            priority=largest.row.priority,
        ),
    )
    yield replace(found, severity=Severity.MEDIUM)


def _is_least_urgent(case: PageCase, largest: LargestPaint) -> bool:
    """Whether a tag of the document shows it, by which nobody calls it urgent. One that is found late is told of so."""
    row = largest.row
    is_of_tag = case.document is not None and row.initiator_url == case.document.url and row.initiator_at is not None
    is_plain = row is largest.asked and RowFlag.PRELOAD not in row.flags and row.priority == _LEAST_URGENT
    return largest.is_picture and is_of_tag and is_plain and lateness_us(case, largest) < MIN_LATE_US


def _ahead(case: PageCase, row: Request) -> Sequence[Request]:
    """The pictures of the same host that the document names ahead of it, and that were asked for no later."""
    place = row.initiator_at
    return [
        one
        for one in case.rows
        if one.resource_type is ResourceType.IMAGE and host_of(one.url) == host_of(row.url)
        if one.initiator_url == row.initiator_url and one.initiator_at and place and one.initiator_at < place
        if one.timing.start_us <= row.timing.start_us and one.priority in (_LEAST_URGENT, "Medium")
    ]
