"""Rules on the largest paint, where it is a picture: when it was found, over which connection it came."""

from collections.abc import Sequence

from workers.diagnosis.facts import facts, in_ms
from workers.diagnosis.page_case import MEDIUM_US, PageCase, PageVerdicts, told, unjudged
from workers.diagnosis.page_hosts import host_of
from workers.measurement.finding import Finding, FindingId
from workers.measurement.waterfall import Request

# Found so much later than a hint in the document's head would have let it be.
MIN_LATE_US = 100_000


def late(case: PageCase) -> PageVerdicts:
    """page.lcp_late: the browser learnt late that it needs the largest picture."""
    largest, hint_us = case.largest, case.hint_us
    if largest is None or hint_us is None or largest.row.timing.start_us - hint_us < MIN_LATE_US:
        return
    if not largest.sure:
        yield unjudged(FindingId.PAGE_LCP_LATE)
        return
    late_us = largest.row.timing.start_us - hint_us
    saving_us = largest.claim(late_us)
    if saving_us < MEDIUM_US:
        return
    initiator = largest.row.initiator_url
    yield told(
        FindingId.PAGE_LCP_LATE,
        (largest.row,),
        saving_us,
        evidence=facts(
            lcp_ms=in_ms(case.page.vitals.lcp_us),
            asked_at_ms=in_ms(largest.row.timing.start_us),
            could_be_asked_at_ms=in_ms(hint_us),
            asked_by=initiator,
            element=case.page.vitals.lcp_element,
            priority=largest.row.priority,
        ),
    )


def preconnect(case: PageCase) -> PageVerdicts:
    """page.preconnect_missing: a paint waited for a connection that a hint would have opened before. One a host.

    Where the largest picture was found late, a hint for the picture itself opens its connection too.
    """
    if case.hint_us is None or case.document is None:
        return
    main, largest = host_of(case.document.url), case.largest
    awaited = [row for row in case.rows if case.paint.waits_for(row) and host_of(row.url) != main]
    for host in dict.fromkeys(host_of(row.url) for row in awaited):
        rows = [row for row in awaited if host_of(row.url) == host]
        sooner = {row.number: _sooner_us(case, row, case.hint_us) for row in rows}
        if case.paint.gain_us(sooner) >= MEDIUM_US:
            yield _preconnect(case, host, rows, case.paint.claim(sooner))
    if largest is None or not largest.sure or host_of(largest.row.url) == main:
        return
    sooner_us = _sooner_us(case, largest.row, case.hint_us)
    if largest.row.timing.start_us - case.hint_us < MIN_LATE_US and min(sooner_us, largest.left_us) >= MEDIUM_US:
        yield _preconnect(case, host_of(largest.row.url), [largest.row], largest.claim(sooner_us))


def _sooner_us(case: PageCase, row: Request, hint_us: int) -> int:
    """A hint helps from the moment it is read, and no longer than the connection takes to open."""
    return max(0, min(case.waited_us(row), row.timing.start_us - hint_us))


def _preconnect(case: PageCase, host: str, rows: Sequence[Request], saving_us: int) -> Finding:
    return told(
        FindingId.PAGE_PRECONNECT_MISSING,
        rows,
        saving_us,
        host=host,
        evidence=facts(
            connection_ms=in_ms(max(case.waited_us(row) for row in rows)),
            asked_at_ms=in_ms(min(row.timing.start_us for row in rows)),
            hint_read_at_ms=in_ms(case.hint_us),
        ),
    )
