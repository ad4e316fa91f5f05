"""`firstbyte without`: what hosts cost a page, by loads with and without them in turns."""

import argparse
import sys
from dataclasses import replace

from workers.commands import EXIT_INCONCLUSIVE, EXIT_NOT_MEASURED, EXIT_OK, UsageError
from workers.commands.load_turns import load_in_turns
from workers.commands.measuring import canvas_of, request_of
from workers.commands.output import write, write_json
from workers.commands.page_arguments import browser_options, page_headers
from workers.commands.page_loader import loader_of
from workers.diagnosis.without.cost import Cost, cost_of
from workers.diagnosis.without.document import without_document
from workers.diagnosis.without.drawing import draw_cost
from workers.diagnosis.without.verdict import Verdict
from workers.measurement.messages import Kind, RunRequest
from workers.measurement.page_rules import own_host_fault, page_faults

_NO_VERDICT = frozenset({Verdict.INCONCLUSIVE, Verdict.BREAKS, Verdict.NOT_ASKED})


def run(arguments: argparse.Namespace) -> int:
    """Measures, shows, and gives the exit code. Raises UsageError."""
    request = _request(arguments)
    with loader_of(request, arguments) as loader:
        pairs = load_in_turns(lambda one: loader.load(one).outcome, request, arguments.pairs)
    cost = cost_of(request.page.without, pairs)
    if arguments.json:
        write_json(without_document(request.url, cost, pairs))
    else:
        write(draw_cost(cost, canvas_of(sys.stdout, everything=arguments.all)))
    return _exit_code(cost)


def _request(arguments: argparse.Namespace) -> RunRequest:
    """The load without the hosts. Raises UsageError."""
    page, headers = replace(browser_options(arguments), without=arguments.hosts), page_headers(arguments)
    request = replace(request_of(arguments, Kind.PAGE), profile=arguments.profile, page=page, headers=headers)
    fault = next(iter(page_faults(page).values()), None) or own_host_fault(page, request.url)
    if fault is not None:
        raise UsageError(fault)
    return request


def _exit_code(cost: Cost) -> int:
    """A verdict is no failure, whichever way it goes."""
    if cost.verdict not in _NO_VERDICT:
        return EXIT_OK
    is_lost = cost.verdict is Verdict.INCONCLUSIVE and not cost.pairs
    return EXIT_NOT_MEASURED if is_lost else EXIT_INCONCLUSIVE
