"""Loads of a page with and without hosts in turns, until there are pairs enough; whatever loads them."""

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import replace
from random import Random
from uuid import uuid4

from workers.commands import UsageError
from workers.commands.output import say
from workers.diagnosis.page.hosts import document_host
from workers.diagnosis.without.samples import Load, LoadPair, Metric, Side, load_of, sample_of
from workers.diagnosis.without.turns import drawn_turns
from workers.diagnosis.without.words import size_of
from workers.measurement.messages import Failed, Measured, PageMeasurement, RunRequest

# What failed this often in a row goes on failing. Other pairs that are left out are made up for by half as many again.
_FAILURES_IN_A_ROW = 3
Loads = Callable[[RunRequest], Measured | Failed]


def load_in_turns(load: Loads, request: RunRequest, wanted: int) -> list[LoadPair]:
    """Pairs of the page as it is and as it is requested, `without` hosts, until as many as wanted are complete, within
    bounds; the first load alone where it leads nowhere. Raises UsageError for a page that is led to one of the hosts.
    """
    hosts = frozenset(request.page.without)
    requests = {Side.WITH: replace(request, page=replace(request.page, without=())), Side.WITHOUT: request}
    say("loading the page once with and once without …")
    warm = load(requests[Side.WITH])
    _must_be_elsewhere(warm, request)
    if (leading_nowhere := _leading_nowhere(warm, hosts)) is not None:
        return [LoadPair(first=Side.WITH, with_hosts=leading_nowhere, without=Load())]
    load(request)
    return list(_pairs(load, requests, wanted))


def _leading_nowhere(outcome: Measured | Failed, hosts: Set[str]) -> Load | None:
    """A load that failed, or asked nothing of the hosts: a disturbed one tells that as well."""
    if isinstance(outcome, Failed):
        return load_of(outcome, hosts)
    page = outcome.measurement
    sample = sample_of(page, hosts) if isinstance(page, PageMeasurement) else None
    return None if sample is None or sample.asked & hosts else Load(sample=sample)


def _must_be_elsewhere(outcome: Measured | Failed, request: RunRequest) -> None:
    page = outcome.measurement
    host = document_host(page) if isinstance(page, PageMeasurement) else None
    if host is not None and host in request.page.without:
        raise UsageError(f"{request.url} leads to {host}: without it there is no page.")


def _pairs(load: Loads, requests: Mapping[Side, RunRequest], wanted: int) -> Iterator[LoadPair]:
    hosts = frozenset(requests[Side.WITHOUT].page.without)
    random = Random(requests[Side.WITH].run_id.int)
    complete = in_a_row = 0
    for first in (*drawn_turns(wanted, random), *drawn_turns(wanted // 2, random)):
        order = (first, *(side for side in Side if side is not first))
        loads = {side: load_of(load(replace(requests[side], run_id=uuid4())), hosts) for side in order}
        pair = LoadPair(first=first, with_hosts=loads[Side.WITH], without=loads[Side.WITHOUT])
        complete += all(one.sample is not None for one in loads.values())
        in_a_row = in_a_row + 1 if any(one.failure is not None for one in loads.values()) else 0
        _tell(complete, wanted, pair)
        yield pair
        if complete == wanted or in_a_row == _FAILURES_IN_A_ROW:
            return


def _tell(complete: int, wanted: int, pair: LoadPair) -> None:
    """Progress for a person, on stderr."""
    sides = ((Side.WITH, pair.with_hosts), (Side.WITHOUT, pair.without))
    say(f"pair {complete} of {wanted}: {', '.join(f'{_told(load)} {side}' for side, load in sides)}")


def _told(load: Load) -> str:
    if load.sample is None:
        return str(load.left_out)
    painted_us = load.sample.values[Metric.LCP]
    return "no LCP" if painted_us is None else f"LCP {size_of(Metric.LCP, painted_us)}"
