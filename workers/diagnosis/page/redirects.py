"""The rule on what stands before the document: redirects that a visitor of this address goes through each time."""

from collections.abc import Sequence
from itertools import pairwise

from workers.diagnosis.case import Verdicts
from workers.diagnosis.facts import facts
from workers.diagnosis.page.case import MEDIUM_US, PageCase, told, unjudged
from workers.diagnosis.probe.flights import USUAL_MSS_BYTES
from workers.diagnosis.probe.hsts import hsts_of_journey
from workers.diagnosis.probe.slow_start import further_flights
from workers.measurement.finding import FindingId, NotJudgedReason
from workers.measurement.statuses import REDIRECTS
from workers.measurement.waterfall import Request, ResourceType, RowFlag, ServedFrom
from workers.measurement.web_address import host_of

_TOLD = 5
# A document that stands for longer than this shows something.
MAX_READING_US = 1_000_000
# Tickets and settings take two packets (nginx 1.22: of 12 kB eight packets came with the first flight).
_SAID_FIRST_BYTES = 2 * USUAL_MSS_BYTES
# What is no journey of the page itself.
_ASIDE = frozenset({RowFlag.FRAME, RowFlag.PREFETCH, RowFlag.PRELOAD})


def redirects(case: PageCase) -> Verdicts:
    """http.redirect_cost: the address leads to another one before it leads to the page.

    What the page would need anyway is no cost of a step: its connection, or the lookup of its name. What several steps
    share is a cost of the first.
    """
    hops = _journey(case)
    steps = [step for step in pairwise(hops) if not _is_asked_again(*step)]
    before = [hop for hop, _ in steps]
    kept = [hop for hop in hops if hop not in before]
    costs = [max(0, later.timing.start_us - hop.timing.start_us - _needed_us(case, hop, kept)) for hop, later in steps]
    saving_us = sum(costs) - _later_us(case, before)
    if saving_us < MEDIUM_US:
        return
    if hops[-1].served_from is not ServedFrom.NETWORK:
        # A step fetched it ahead, or installed who gave it: what it costs to come by itself was not seen.
        yield unjudged(FindingId.HTTP_REDIRECT_COST, NotJudgedReason.NOT_MEASURED)
        return
    yield told(
        FindingId.HTTP_REDIRECT_COST,
        before,
        saving_us,
        evidence=facts(
            redirects=len(steps),
            urls=tuple(hop.url for hop in [*before, hops[-1]][: _TOLD + 1]),
            statuses=tuple(str(hop.status) for hop in before[:_TOLD]),
            costs_ms=tuple(cost / 1000 for cost in costs[:_TOLD]),
            hsts=hsts_of_journey([(hop.url, hop.response_headers) for hop in hops]),
        ),
    )


def _journey(case: PageCase) -> list[Request]:
    """From the first address to the document, as far back as each led to the next."""
    hops = [] if case.document is None else [case.document]
    for row in sorted(case.page.waterfall.requests, key=lambda row: -row.number):
        before = bool(hops) and row.number < hops[0].number and row.resource_type is ResourceType.DOCUMENT
        if before and not _ASIDE & set(row.flags) and (row.redirected_to == hops[0].url or _gave_way(row, hops[0])):
            hops.insert(0, row)
    return hops


def _is_asked_again(hop: Request, later: Request) -> bool:
    """Whether a document is asked for once more and leads nowhere else: it wanted hints (Critical-CH), or reloaded
    itself. A redirect to its own address, as for a cookie, is a redirect."""
    return hop.url == later.url and hop.status not in REDIRECTS


def _gave_way(row: Request, later: Request) -> bool:
    """Whether this document led to the later one by itself, by a script or a refresh, and did not stand to be read. Its
    first bytes may lead there, while the last are on their way."""
    begun_us, end_us, left_us = row.timing.first_byte_us, row.timing.end_us, later.timing.start_us
    since_us = end_us if end_us is not None and end_us <= left_us else begun_us
    if row.redirected_to is not None or row.status is None or since_us is None:
        return False
    return 0 <= left_us - since_us <= MAX_READING_US


def _later_us(case: PageCase, before: Sequence[Request]) -> int:
    """How much longer the document itself takes when no step comes before it over its connection: then it shares the
    first flight with what a server says of sessions and of HTTP/2."""
    document = case.document
    if document is None or document.connection not in {hop.connection for hop in before}:
        return 0
    size_bytes = document.transferred_bytes or 0
    flights = further_flights(size_bytes + _SAID_FIRST_BYTES) - further_flights(size_bytes)
    return flights * case.trip_us(document)


def _needed_us(case: PageCase, hop: Request, kept: Sequence[Request]) -> int:
    """What of a step's time those that are kept would have had to spend in its place."""
    connection = case.connection_of(hop)
    if connection is None or hop.reused:
        return 0
    if any(one.connection == hop.connection for one in kept):
        return case.waited_us(hop)
    same_name = any(host_of(one.url) == host_of(hop.url) for one in kept)
    return connection.dns.duration_us if same_name and connection.dns is not None else 0
