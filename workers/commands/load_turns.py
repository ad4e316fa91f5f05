"""Loads of a page with and without hosts in turns, until there are pairs enough; whatever loads them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from random import Random
from uuid import uuid4

from workers.commands import UsageError
from workers.commands.output import say
from workers.diagnosis.without.before import leading_nowhere, own_host_sentence
from workers.diagnosis.without.samples import Load, LoadPair, Metric, Side, complete, load_of
from workers.diagnosis.without.turns import is_over, pairs_to_make
from workers.diagnosis.without.words import size_of
from workers.measurement.messages import Failed, Measured, RunRequest

Loads = Callable[[RunRequest], Measured | Failed]


def load_in_turns(load: Loads, request: RunRequest, wanted: int) -> list[LoadPair]:
    """Pairs of the page as it is and as it is requested, `without` hosts, until as many as wanted are complete, within
    bounds; the first load alone where it leads nowhere. Raises UsageError for a page that is led to one of the hosts.
    """
    hosts = frozenset(request.page.without)
    requests = {Side.WITH: replace(request, page=replace(request.page, without=())), Side.WITHOUT: request}
    say("loading the page once with and once without …")
    warm = load(requests[Side.WITH])
    if (fault := own_host_sentence(warm, request.url, hosts)) is not None:
        raise UsageError(fault)
    if (nowhere := leading_nowhere(warm, hosts)) is not None:
        return [LoadPair(first=Side.WITH, with_hosts=nowhere, without=Load())]
    load(request)
    return list(_pairs(load, requests, wanted))


def _pairs(load: Loads, requests: Mapping[Side, RunRequest], wanted: int) -> Iterator[LoadPair]:
    hosts = frozenset(requests[Side.WITHOUT].page.without)
    made: list[LoadPair] = []
    for order in pairs_to_make(wanted, Random(requests[Side.WITH].run_id.int)):
        loads = {side: load_of(load(replace(requests[side], run_id=uuid4())), hosts) for side in order}
        pair = LoadPair(first=order[0], with_hosts=loads[Side.WITH], without=loads[Side.WITHOUT])
        made.append(pair)
        _tell(len(complete(made)), wanted, pair)
        yield pair
        if is_over(made, wanted):
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
