"""The rule on style sheets that other style sheets name: the browser asks for them one after the other."""

from collections.abc import Mapping, Sequence

from workers.diagnosis.case import Verdicts
from workers.diagnosis.facts import facts
from workers.diagnosis.page.case import MEDIUM_US, PageCase, told, unjudged
from workers.diagnosis.page.hosts import ONE_AT_A_TIME, opening_us
from workers.diagnosis.page.one_connection import sooner_over_one_us
from workers.diagnosis.page.rendering import FILES_NAMED, named
from workers.diagnosis.page.sooner import asked_sooner_us
from workers.diagnosis.probe.flights import USUAL_MSS_BYTES
from workers.measurement.finding import FindingId, NotJudgedReason
from workers.measurement.waterfall import Request, ResourceType

# Importers of importers are followed so far, and so many connections looked at.
_DEEPEST, _CONNECTIONS = 10, 20


def imported(case: PageCase) -> Verdicts:
    """page.css_import: what the first paint would gain if the document itself named what its style sheets import."""
    importers = _importers(case)
    sooner = _sooner_us(case, importers)
    is_seen = case.page.vitals.fcp_us is not None
    if not (is_seen and case.paint.sure) and sum(sooner.values()) >= MEDIUM_US:
        reason = NotJudgedReason.PAINT_ELSEWHERE if is_seen else NotJudgedReason.NOT_MEASURED
        yield unjudged(FindingId.PAGE_CSS_IMPORT, reason)
        return
    if case.paint.gain_us(sooner) < MEDIUM_US:
        return
    rows = [row for row in case.blocking if row.number in importers]
    yield told(
        FindingId.PAGE_CSS_IMPORT,
        rows,
        case.paint.claim(sooner),
        evidence=facts(
            files=tuple(f"{named(row)} (by {named(importers[row.number])})" for row in rows[:FILES_NAMED]),
            imports_in_a_row=max(len(_chain(row, importers)) for row in rows),
        ),
    )


def _importers(case: PageCase) -> dict[int, Request]:
    """By the number of each style sheet that one of the owner's imports, that one; what was on its way already did not
    wait for that."""
    kept = [row for row in case.blocking if row.number not in case.paint.shared]
    sheets = [row for row in kept if row.resource_type is ResourceType.STYLESHEET]
    by_url = {row.url: row for row in reversed(sheets) if not case.is_third_party(row)}
    found = {row.number: by_url.get(row.initiator_url or "") for row in sheets}
    return {number: one for number, one in found.items() if one is not None and one.number < number}


def _chain(row: Request, importers: Mapping[int, Request]) -> list[Request]:
    """Those that had to come before a row, from its importer on."""
    chain: list[Request] = []
    while len(chain) < _DEEPEST and (before := importers.get((chain[-1] if chain else row).number)):
        chain.append(before)
    return chain


def _sooner_us(case: PageCase, importers: Mapping[int, Request]) -> dict[int, int]:
    """By how much sooner each comes, beyond what its importer does, if all are asked for with the first of their chain:
    over their connection all share one window then, and the line."""
    rows = {row.number: row for row in case.blocking}
    chains = {number: _chain(rows[number], importers) for number in importers}
    asked = {number: _asked_sooner_us(case, rows[number], chain[-1]) for number, chain in chains.items()}
    asked = {chain[-1].number: 0 for chain in chains.values()} | asked
    gained = dict.fromkeys(asked, 0)
    for connection in [*dict.fromkeys(rows[number].connection for number in asked)][:_CONNECTIONS]:
        ours = {number: us for number, us in asked.items() if rows[number].connection == connection}
        trip = case.trip_us(rows[next(iter(ours))])
        over_one = sooner_over_one_us(case.page.waterfall.requests, ours, trip, case.paused)
        alone = _alone(case, [rows[number] for number in ours], ours)
        gained |= alone if sum(alone.values()) > sum(over_one.values()) else over_one
    before = {number: importers[number].number for number in importers}
    return {number: us - (gained[before[number]] if number in before else 0) for number, us in gained.items()}


def _alone(case: PageCase, rows: Sequence[Request], sooner: Mapping[int, int]) -> dict[int, int]:
    """What one gains that alone is imported over the connection of its importer, which is one packet: it takes as many
    flights and as much of the line as it did. Of all others a model of their flights is asked."""
    if len(rows) != 2 or rows[0].connection is None or rows[0].protocol in ONE_AT_A_TIME:
        return {}
    first, last = sorted(rows, key=lambda row: row.number)
    if (first.transferred_bytes or 0) > USUAL_MSS_BYTES:
        return {}
    return {first.number: 0, last.number: asked_sooner_us(case, last, last, sooner[last.number])}


def _asked_sooner_us(case: PageCase, row: Request, first: Request) -> int:
    """How much sooner it is asked for, with the connection that it opens. Over one that others open it is when that is
    open; where connections carry one at a time, over another, which opens first."""
    connection, late_us = case.connection_of(row), row.timing.start_us - first.timing.start_us
    if connection is None or case.waited_us(row):
        return late_us
    alone = row.protocol in ONE_AT_A_TIME
    waits_us = opening_us(connection) if alone else case.would_wait_us(row, first.timing.start_us)
    return max(0, late_us - waits_us)
