"""`firstbyte compare`: the same asset from a CDN and from its origin, or from any two addresses, again and again."""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple
from uuid import uuid4

from workers.commands import EXIT_INCONCLUSIVE, EXIT_NOT_MEASURED, EXIT_OK, UsageError
from workers.commands.measuring import (
    allowed_of,
    canvas_of,
    request_for,
)
from workers.commands.output import say, write, write_json
from workers.diagnosis.catalogue.failures import Door, advice_on
from workers.diagnosis.finding_drawing import ADVICE
from workers.diagnosis.pair.cdn import diagnosis_of_pairs
from workers.diagnosis.pair.document import Asked, compare_document
from workers.diagnosis.pair.drawing import draw_comparison
from workers.diagnosis.pair.samples import ANY_TWO, CDN_AND_ORIGIN, PairRun, Verdict, run_of
from workers.diagnosis.pair.verdict import Comparison, compare
from workers.diagnosis.units import ms
from workers.measurement.canvas import RED, Canvas, hanging
from workers.measurement.failure import Failure
from workers.measurement.finding import Diagnosis
from workers.measurement.messages import Failed, Kind, Measured, PairMeasurement, RunRequest
from workers.measurement.pair import Leg, PairTarget, parse_dial_address
from workers.measurement.target import EVERY_PORT, TargetError, parse_target
from workers.measurement.web_address import host_of
from workers.pairs import PairEngine
from workers.probes.settings import ProbeSettings

# A leg that failed this often in a row goes on failing. Single failures are made up for by half as many pairs again.
_FAILURES_IN_A_ROW = 3


class Pairs(NamedTuple):
    """What came of asking: runs that measured, how many did not, and why the last of those did not."""

    runs: list[PairRun]
    failed: int
    failure: Failure | None


def run(arguments: argparse.Namespace) -> int:
    """Measures, shows, and gives the exit code. Raises UsageError."""
    asked, request = _asked(arguments)
    settings = ProbeSettings(
        in_flight=1, allowed=allowed_of(arguments), extra_ports=EVERY_PORT, ca_file=arguments.cacert
    )
    with PairEngine(settings) as engine:
        found = _measure(engine, asked, request, arguments.pairs)
    comparison = compare(found.runs, names=asked.names, failed=found.failed)
    diagnosis = _diagnosis(asked, found, comparison)
    failure = found.failure if comparison.cold.pairs < arguments.pairs else None
    if arguments.json:
        document = compare_document(asked, comparison, diagnosis, failed=found.failed, failure=failure)
        write_json(document)
    else:
        write(_drawing(asked, comparison, diagnosis, failure, canvas_of(sys.stdout, everything=arguments.all)))
    return _exit_code(comparison, found)


def _asked(arguments: argparse.Namespace) -> tuple[Asked, RunRequest]:
    """Raises UsageError unless two addresses of one kind are given."""
    as_cdn, plain = (arguments.cdn, arguments.origin), (arguments.a, arguments.b)
    if any(as_cdn) and any(plain):
        raise UsageError("give either --cdn and --origin, or --a and --b")
    if arguments.cdn and arguments.origin_address and not arguments.origin:
        as_cdn = (arguments.cdn, arguments.cdn)
    names, (one, other) = (ANY_TWO, plain) if any(plain) else (CDN_AND_ORIGIN, as_cdn)
    if one is None or other is None:
        raise UsageError("two addresses are needed: --cdn URL --origin URL, or --a URL --b URL")
    if arguments.origin_address and names is ANY_TWO:
        raise UsageError("--origin-address goes with --cdn")
    request = request_for(one, arguments, Kind.PAIR)
    target = _other(other, arguments.origin_address)
    return Asked(a=request.url, b=target.url, names=names), replace(request, other=target)


def _other(url: str, address: str | None) -> PairTarget:
    try:
        target = parse_target(url, extra_ports=EVERY_PORT)
        if address is not None:
            parse_dial_address(address, extra_ports=EVERY_PORT)
    except TargetError as error:
        raise UsageError(str(error)) from error
    return PairTarget(url=target.url, address=address)


def _measure(engine: PairEngine, asked: Asked, request: RunRequest, wanted: int) -> Pairs:
    """Pairs until there are as many as wanted. Single failures are made up for, within bounds."""
    runs: list[PairRun] = []
    failure, failed, in_a_row = None, 0, 0
    for outcome in _outcomes(engine, request, wanted + wanted // 2):
        if isinstance(outcome, Measured) and isinstance(outcome.measurement, PairMeasurement):
            runs.append(run_of(outcome.measurement))
            in_a_row = 0
        elif isinstance(outcome, Failed):
            failure, failed, in_a_row = outcome.failure, failed + 1, in_a_row + 1
        _tell(asked, runs, wanted, outcome)
        if len(runs) == wanted or in_a_row == _FAILURES_IN_A_ROW:
            break
    return Pairs(runs, failed, failure)


def _outcomes(engine: PairEngine, request: RunRequest, most: int) -> Iterator[Measured | Failed]:
    """Each pair has an id of its own, for its id decides the order of its legs."""
    for _ in range(most):
        yield engine.pair(replace(request, run_id=uuid4()))


def _tell(asked: Asked, runs: list[PairRun], wanted: int, outcome: Measured | Failed) -> None:
    """Progress for a person, on stderr."""
    if isinstance(outcome, Failed):
        said = asked.told(outcome.failure.detail)
    else:
        pair = runs[-1].cold
        legs = [] if pair is None else [pair.of(leg).parts(with_dns=True).total for leg in Leg]
        said = " against ".join(ms(us) for us in legs)
    say(f"pair {len(runs)} of {wanted}: {said}")


def _diagnosis(asked: Asked, found: Pairs, comparison: Comparison) -> Diagnosis:
    """Of any two addresses neither stands before the other."""
    if asked.names is ANY_TWO:
        return Diagnosis()
    return diagnosis_of_pairs(found.runs, comparison, host=host_of(asked.a))


def _drawing(
    asked: Asked, comparison: Comparison, diagnosis: Diagnosis, failure: Failure | None, canvas: Canvas
) -> str:
    """What failed has its place, whatever else fits."""
    failed = [] if failure is None else _failed(asked, failure, canvas)
    room = None if canvas.rows is None else canvas.rows - len(failed)
    return "\n".join([draw_comparison(asked, comparison, diagnosis, replace(canvas, rows=room)), *failed])


def _failed(asked: Asked, failure: Failure, canvas: Canvas) -> list[str]:
    told = hanging("", f"Failed ({failure.stage}): {asked.told(failure.detail)}", canvas, RED)
    return [*told, *hanging(ADVICE, advice_on(failure, Door.TERMINAL), canvas)]


def _exit_code(comparison: Comparison, found: Pairs) -> int:
    """A verdict is no failure, whoever is faster. Without a single pair nothing was measured."""
    if not found.runs:
        return EXIT_NOT_MEASURED
    return EXIT_INCONCLUSIVE if comparison.cold.verdict is Verdict.INCONCLUSIVE else EXIT_OK
