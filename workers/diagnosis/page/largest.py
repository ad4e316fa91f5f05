"""Rules on the largest paint, where it waited for a picture or a font: when that was found, and over what it came."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

from workers.diagnosis.case import Verdicts
from workers.diagnosis.facts import facts, in_ms
from workers.diagnosis.page import line
from workers.diagnosis.page.case import MEDIUM_US, PageCase, told, unjudged
from workers.diagnosis.page.hosts import ONE_AT_A_TIME, opening_us
from workers.diagnosis.page.largest_paint import LargestPaint
from workers.diagnosis.page.rendering import named
from workers.diagnosis.page.sooner import comes_sooner_us, lateness_us
from workers.measurement.finding import Finding, FindingId, NotJudgedReason
from workers.measurement.waterfall import Blocking, Request, ResourceType, RowFlag, ServedFrom
from workers.measurement.web_address import host_of

# Asked for so much later than a hint in the document's head would have let it be.
MIN_LATE_US = 100_000


def late(case: PageCase) -> Verdicts:
    """page.lcp_late: the browser learnt late that it needs the largest picture."""
    largest = case.largest
    if largest is not None and largest.is_picture:
        yield from _found_late(case, largest, FindingId.PAGE_LCP_LATE, _certain_us)


def font_late(case: PageCase) -> Verdicts:
    """page.font_late: or a font of the largest text. Where strangers keep one is theirs to change, and no hint's."""
    largest = case.largest
    if largest is not None and _is_own_font(case, largest):
        yield from _found_late(case, largest, FindingId.PAGE_FONT_LATE, comes_sooner_us)


def _found_late(
    case: PageCase, largest: LargestPaint, id: FindingId, certain: Callable[[PageCase, LargestPaint], int]
) -> Verdicts:
    """Told as far as what is certainly gained of so much lateness is worth it."""
    late_us = lateness_us(case, largest)
    if late_us < MIN_LATE_US:
        return
    is_clear = largest.sure and largest.prompt
    if is_clear and largest.gain_us(late_us) < MEDIUM_US:
        return
    certain_us, another_us = certain(case, largest), _another_connection_us(case, largest.asked)
    if not is_clear or largest.gain_us(certain_us) - another_us < MEDIUM_US:
        yield unjudged(id)
        return
    yield told(
        id,
        (largest.row,),
        largest.claim(certain_us) - another_us,
        evidence=facts(
            files=(named(largest.row),),
            lcp_ms=in_ms(case.page.vitals.lcp_us),
            asked_at_ms=in_ms(largest.asked_us),
            could_be_asked_at_ms=in_ms(case.hint_us),
            asked_by=largest.asked.initiator_url,
            element=case.page.vitals.lcp_element,
            priority=largest.row.priority,
        ),
    )


def _is_own_font(case: PageCase, largest: LargestPaint) -> bool:
    """What a hint had asked for comes out of the browser's memory."""
    is_font = not largest.is_picture and largest.row.served_from is ServedFrom.NETWORK
    return is_font and not case.is_third_party(largest.row)


def _certain_us(case: PageCase, largest: LargestPaint) -> int:
    """How much sooner a hint certainly brings the picture to its place.

    What no script made a place for is shown no sooner than the parser comes to its place, and what holds the parser up
    (a script, a style sheet, a document that trickles) holds up the picture too.
    """
    sooner_us = comes_sooner_us(case, largest)
    if _is_named_by_script(case, largest.asked):
        return sooner_us
    return max(0, min(sooner_us, (largest.row.timing.end_us or 0) - _reached_us(case, largest.asked)))


def _reached_us(case: PageCase, asked: Request) -> int:
    """When the parser had come to a picture's place at the latest. Nobody sees that. What its tag names is asked for
    ahead of the parser, which then stops at all that blocks before that place; what styles or a script of the document
    name is asked for when the parser was there. Older runs and files do not tell the places of tags."""
    rows, parsed_us = case.page.waterfall.requests, case.page.vitals.dom_interactive_us
    stops = [row.timing.end_us or 0 for row in rows if _stops_before(case, row, asked)]
    reached_us = max([asked.timing.start_us, *stops])
    if parsed_us is None:
        return reached_us
    has_no_places = all(row.initiator_at is None for row in rows)
    if has_no_places and asked.initiator_url in (None, case.document and case.document.url):
        return parsed_us
    return min(reached_us, parsed_us)


def _stops_before(case: PageCase, row: Request, asked: Request) -> bool:
    """Whether the parser stops at a file before it comes to a tag; what another file named may belong anywhere."""
    document = "" if case.document is None else case.document.url
    if asked.initiator_at is None or asked.initiator_url != document or RowFlag.FRAME in row.flags:
        return False
    is_behind = row.initiator_url == document and row.initiator_at is not None and row.initiator_at > asked.initiator_at
    return row.blocking in (Blocking.RENDERING, Blocking.PARSER) and not is_behind


def _another_connection_us(case: PageCase, asked: Request) -> int:
    """What opening another connection to a name that is known by then takes, where a hint would meet the picture's own
    at work. Either the picture waits for that, or what it took the connection from, and then maybe all that is painted.
    """
    connection = case.connection_of(asked)
    if connection is None or asked.protocol not in ONE_AT_A_TIME or case.waited_us(asked):
        return 0
    is_at_work = any(
        row.connection == asked.connection
        and row.timing.start_us < asked.timing.start_us
        and (row.timing.end_us or 0) > (case.hint_us or 0)
        for row in case.page.waterfall.requests
    )
    looked_up_us = 0 if connection.dns is None else connection.dns.duration_us
    return opening_us(connection) - looked_up_us if is_at_work else 0


def _is_named_by_script(case: PageCase, asked: Request) -> bool:
    """Whether a file of scripts asked for it; those that stand in the document put it where that is read."""
    return any(
        row.url == asked.initiator_url and row.resource_type is ResourceType.SCRIPT
        for row in case.page.waterfall.requests
    )


def preconnect(case: PageCase) -> Verdicts:
    """page.preconnect_missing: a paint waited for a connection that a hint would have opened before. One a host.

    Where the largest picture was found late, or a font of the site's own, a hint for that opens its connection too.
    """
    if case.hint_us is None or case.document is None:
        return
    for place in chain(_before_paint(case, case.hint_us), _before_largest(case, case.hint_us)):
        if case.page.hints is None:
            # The page may well ask for it: nobody looked.
            yield unjudged(FindingId.PAGE_PRECONNECT_MISSING, NotJudgedReason.NOT_MEASURED)
            return
        yield _preconnect(case, place)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waiting:
    """Rows of one host that waited for its connection, and how to claim what a hint would gain."""

    host: str
    rows: Sequence[Request]
    claim: Callable[[], int]


def _before_paint(case: PageCase, hint_us: int) -> Iterator[_Waiting]:
    awaited = [row for row in case.rows if case.paint.waits_for(row) and _may_be_hinted(case, row)]
    for host in dict.fromkeys(host_of(row.url) for row in awaited):
        rows = [row for row in awaited if host_of(row.url) == host]
        # What a style sheet imports may be asked for sooner already.
        sooner = {row.number: _sooner_us(case, row, hint_us + case.paint.claimed_us(row)) for row in rows}
        if case.paint.gain_us(sooner) >= MEDIUM_US:
            yield _Waiting(host=host, rows=rows, claim=partial(case.paint.claim, sooner))


def _before_largest(case: PageCase, hint_us: int) -> Iterator[_Waiting]:
    largest = case.largest
    if largest is None or not largest.sure or not _may_be_hinted(case, largest.row):
        return
    rows = case.page.waterfall.requests
    sooner_us = line.sooner_us(largest.row, rows, _sooner_us(case, largest.row, hint_us))
    is_late = (largest.is_picture or _is_own_font(case, largest)) and lateness_us(case, largest) >= MIN_LATE_US
    if not is_late and largest.gain_us(sooner_us) >= MEDIUM_US:
        host = host_of(largest.row.url)
        yield _Waiting(host=host, rows=[largest.row], claim=partial(largest.claim, sooner_us))


def _may_be_hinted(case: PageCase, row: Request) -> bool:
    """Whether it is another host than the document's, and one that the page does not ask to connect to already."""
    host = host_of(row.url)
    return case.document is not None and host != host_of(case.document.url) and host not in case.hinted


def _sooner_us(case: PageCase, row: Request, hint_us: int) -> int:
    """A hint helps from the moment it is read, and no longer than the connection takes to open."""
    return max(0, min(case.waited_us(row), row.timing.start_us - hint_us))


def _preconnect(case: PageCase, place: _Waiting) -> Finding:
    return told(
        FindingId.PAGE_PRECONNECT_MISSING,
        place.rows,
        place.claim(),
        host=place.host,
        evidence=facts(
            connection_ms=in_ms(max(case.waited_us(row) for row in place.rows)),
            asked_at_ms=in_ms(min(row.timing.start_us for row in place.rows)),
            hint_read_at_ms=in_ms(case.hint_us),
        ),
    )
