"""Rules on what the first paint waits for: what blocks rendering, the site's own and third parties'."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from workers.diagnosis.case import Verdicts
from workers.diagnosis.facts import facts, in_ms
from workers.diagnosis.page_case import MEDIUM_US, PageCase, told, unjudged
from workers.diagnosis.page_instants import GONE_US
from workers.measurement.finding import Finding, FindingId, NotJudgedReason
from workers.measurement.waterfall import Request
from workers.measurement.web_address import host_of

_NAMED = 5


def third_parties(case: PageCase) -> Verdicts:
    """page.third_party_blocking: somebody else's server decides when the page is painted. One finding a host."""
    rows = [row for row in case.blocking if case.is_third_party(row)]
    if doubt := _doubt(case, rows):
        yield unjudged(FindingId.PAGE_THIRD_PARTY_BLOCKING, doubt)
        return
    hosts = {host: [row for row in rows if host_of(row.url) == host] for host in dict.fromkeys(map(_host, rows))}
    for host in sorted(hosts, key=lambda host: -max(row.timing.end_us or 0 for row in hosts[host])):
        yield from _blocking(case, FindingId.PAGE_THIRD_PARTY_BLOCKING, hosts[host], host)


def render_blocking(case: PageCase) -> Verdicts:
    """page.render_blocking: style sheets and scripts of the site's own that the first paint waits for."""
    rows = [row for row in case.blocking if not case.is_third_party(row)]
    if doubt := _doubt(case, rows, is_late=_is_late(case)):
        yield unjudged(FindingId.PAGE_RENDER_BLOCKING, doubt)
        return
    yield from _blocking(case, FindingId.PAGE_RENDER_BLOCKING, rows, None)


def _doubt(case: PageCase, rows: Sequence[Request], *, is_late: bool = False) -> NotJudgedReason | None:
    """Why nothing can be said of what these have to do with the first paint."""
    if not rows and not is_late:
        return None
    if case.page.vitals.fcp_us is None:
        return NotJudgedReason.NOT_MEASURED
    if not case.paint.sure:
        return NotJudgedReason.PAINT_ELSEWHERE
    making = {row.number: GONE_US for row in rows if case.may_make_page(row)}
    is_made = case.paint.gain_us(making) >= MEDIUM_US or _waits_for_maker(case, rows)
    return NotJudgedReason.MADE_LATER if is_made else None


def _waits_for_maker(case: PageCase, rows: Sequence[Request]) -> bool:
    """Whether the paint came no sooner without these if it was made by a script that nothing waited for, and sooner if
    it was not."""
    gone = {row.number: GONE_US for row in rows if not case.may_make_page(row)}
    made_before = replace(case.paint, made_us=0)
    return case.paint.gain_us(gone) < MEDIUM_US <= made_before.gain_us(gone)


def _is_late(case: PageCase) -> bool:
    """Whether the first paint came long after all that it had to wait for: a script in the body may have stopped the
    document there, or have made what was painted."""
    fcp_us, last_us = case.page.vitals.fcp_us, max(case.paint.ends.values(), default=0)
    return fcp_us is not None and fcp_us - last_us >= 2 * MEDIUM_US


def _blocking(case: PageCase, id: FindingId, rows: Sequence[Request], host: str | None) -> Iterator[Finding]:
    rows = [row for row in rows if not case.may_make_page(row)]
    gone = {row.number: GONE_US for row in rows}
    saving_us = case.paint.gain_us(gone)
    if saving_us < MEDIUM_US:
        return
    case.paint.claim(gone)
    yield told(
        id,
        rows,
        saving_us,
        host=host,
        evidence=facts(
            requests=len(rows),
            files=tuple(_told(row) for row in rows[:_NAMED]),
            first_paint_ms=in_ms(case.page.vitals.fcp_us),
            blocked_until_ms=in_ms(max(row.timing.end_us or 0 for row in rows)),
            document_read_ms=in_ms(_read_us(case)),
        ),
    )


def _read_us(case: PageCase) -> int | None:
    """When the whole document was there, if that was before the first paint."""
    end_us, fcp_us = None if case.document is None else case.document.timing.end_us, case.page.vitals.fcp_us
    return None if end_us is None or fcp_us is None or end_us > fcp_us else end_us


def _host(row: Request) -> str:
    return host_of(row.url)


def _told(row: Request) -> str:
    return named(row) if row.failure is None else f"{named(row)}, {row.failure}"


def named(row: Request) -> str:
    """ "4 app.css": the number of a row and the end of its address."""
    path = row.url.partition("?")[0].partition("#")[0].rstrip("/")
    return f"{row.number} {path.rpartition('/')[2][:60]}"
