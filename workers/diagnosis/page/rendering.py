"""Rules on what the first paint waits for: what blocks rendering, the site's own and third parties'."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from workers.diagnosis.case import Verdicts
from workers.diagnosis.facts import facts, in_ms
from workers.diagnosis.page.case import MEDIUM_US, PageCase, told, unjudged
from workers.diagnosis.page.instants import GONE_US
from workers.measurement.finding import Cause, Finding, FindingId, NotJudgedReason, Together
from workers.measurement.waterfall import Request
from workers.measurement.web_address import host_of

# So many files of a cause are named.
FILES_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Holder:
    """Files that one cause speaks of, what the first paint would gain without them alone, and with other causes."""

    cause: Cause
    rows: Sequence[Request]
    saving_us: int = 0
    together: Together | None = None

    @property
    def end_us(self) -> int:
        return max((row.timing.end_us or 0 for row in self.rows), default=0)


def blocking(case: PageCase) -> Verdicts:
    """page.third_party_blocking, one finding a host: somebody else's server decides when the page is painted. And
    page.render_blocking: style sheets and scripts of the site's own that the first paint waits for."""
    strangers = [row for row in case.blocking if case.is_third_party(row)]
    own = [row for row in case.blocking if not case.is_third_party(row)]
    held: list[_Holder] = []
    for id, rows in ((FindingId.PAGE_THIRD_PARTY_BLOCKING, strangers), (FindingId.PAGE_RENDER_BLOCKING, own)):
        if doubt := _doubt(case, rows, is_late=rows is own and _is_late(case)):
            yield unjudged(id, doubt)
        else:
            held += [_alone(case, one) for one in _holders(case, id, rows)]
    if len(held) > 1 and _waits_for_maker(case, [row for one in held for row in one.rows]):
        yield from (unjudged(one.cause.id) for one in held)
    held = _with_others(case, held, _needed(case, held))
    yield from (_found(case, one) for one in held if one.saving_us or one.together)


def _holders(case: PageCase, id: FindingId, rows: Sequence[Request]) -> list[_Holder]:
    """The last to come first: what holds the paint up longest is the cause of what it alone holds up."""
    by_host: dict[str | None, list[Request]] = {}
    for row in rows:
        if not case.may_make_page(row):
            host = host_of(row.url) if id is FindingId.PAGE_THIRD_PARTY_BLOCKING else None
            by_host.setdefault(host, []).append(row)
    holders = (_Holder(cause=Cause(id=id, host=host), rows=of_it) for host, of_it in by_host.items())
    return sorted(holders, key=lambda one: -one.end_us)


def _alone(case: PageCase, holder: _Holder) -> _Holder:
    saving_us = case.paint.gain_us(_gone([holder]))
    if saving_us < MEDIUM_US:
        return holder
    case.paint.claim(_gone([holder]))
    return replace(holder, saving_us=saving_us)


def _needed(case: PageCase, held: Sequence[_Holder]) -> list[_Holder]:
    """Those all of which must be mended for what mending all gains: what ends sooner than others may hold nothing."""
    needed = list(held)
    for one in reversed(held):
        rest = [other for other in needed if other is not one]
        if _without_us(case, rest) - _without_us(case, needed) < MEDIUM_US:
            needed = rest
    return needed


def _with_others(case: PageCase, held: Sequence[_Holder], needed: Sequence[_Holder]) -> list[_Holder]:
    """What several hold up until the last of them has come none gains by itself, and all together."""
    by_all_us = _without_us(case, ()) - _without_us(case, needed) - sum(one.saving_us for one in needed)
    saving_us = min(by_all_us, case.paint.gain_us(_gone(needed)))
    if len(needed) < 2 or saving_us < MEDIUM_US:
        return list(held)
    case.paint.claim(_gone(needed))
    causes = [one.cause for one in needed]
    return [
        replace(one, together=_together(saving_us, one.cause, causes)) if one.cause in causes else one for one in held
    ]


def _together(saving_us: int, cause: Cause, causes: Sequence[Cause]) -> Together:
    return Together(saving_us=saving_us, others=tuple(other for other in causes if other != cause))


def _without_us(case: PageCase, holders: Sequence[_Holder]) -> int:
    return case.paint.without_us(row for one in holders for row in one.rows)


def _gone(holders: Iterable[_Holder]) -> dict[int, int]:
    return {row.number: GONE_US for one in holders for row in one.rows}


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
    fcp_us = case.page.vitals.fcp_us
    return fcp_us is not None and fcp_us - case.paint.ready_us >= 2 * MEDIUM_US


def _found(case: PageCase, holder: _Holder) -> Finding:
    return told(
        holder.cause.id,
        holder.rows,
        holder.saving_us or None,
        host=holder.cause.host,
        evidence=facts(
            requests=len(holder.rows),
            files=tuple(_told(row) for row in holder.rows[:FILES_NAMED]),
            first_paint_ms=in_ms(case.page.vitals.fcp_us),
            blocked_until_ms=in_ms(holder.end_us),
            document_read_ms=in_ms(_read_us(case)),
        ),
        together=holder.together,
    )


def _read_us(case: PageCase) -> int | None:
    """When the whole document was there, if that was before the first paint."""
    end_us, fcp_us = None if case.document is None else case.document.timing.end_us, case.page.vitals.fcp_us
    return None if end_us is None or fcp_us is None or end_us > fcp_us else end_us


def _told(row: Request) -> str:
    return named(row) if row.failure is None else f"{named(row)}, {row.failure}"


def named(row: Request) -> str:
    """ "4 app.css": the number of a row and the end of its address."""
    path = row.url.partition("?")[0].partition("#")[0].rstrip("/")
    return f"{row.number} {path.rpartition('/')[2][:60]}"
