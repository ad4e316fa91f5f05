"""`firstbyte probe`: raw TLS probes from this machine, and what they say about the first byte."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from workers.commands import UsageError
from workers.commands.measuring import (
    allowed_of,
    canvas_of,
    exit_code,
    request_of,
    tell,
)
from workers.commands.output import write, write_json
from workers.diagnosis.diagnosis_drawing import draw_diagnosis
from workers.diagnosis.outcome_drawing import draw_outcome
from workers.diagnosis.probe.document import probe_document
from workers.diagnosis.probe.flight_drawing import draw_flights
from workers.diagnosis.probe.summary import main_trial, telling_sample
from workers.measurement.canvas import Canvas, hanging
from workers.measurement.contention import is_probe_contended, probe_contention_told
from workers.measurement.evidence import Depth
from workers.measurement.messages import Failed, Kind, Measured, ProbeMeasurement, RunRequest
from workers.measurement.profile import Profile
from workers.measurement.target import EVERY_PORT
from workers.measurement.timing import answer_phases
from workers.probes.engine import Engine
from workers.probes.guard import family_of
from workers.probes.settings import ProbeSettings
from workers.shaped import marked, open_place
from workers.shaping.faults import ShapingError


def run(arguments: argparse.Namespace) -> int:
    """Measures, shows, and gives the exit code. Raises UsageError."""
    _must_agree(arguments)
    request = replace(request_of(arguments, Kind.PROBE), depth=arguments.depth, profile=arguments.profile)
    settings = ProbeSettings(
        in_flight=1,
        allowed=allowed_of(arguments),
        extra_ports=EVERY_PORT,
        ca_file=arguments.cacert,
        family=arguments.family,
        resolve={(host, port): address for host, port, address in arguments.resolve},
    )
    with _engine(settings, request.profile) as engine:
        samples = [marked(engine.probe(one, tell), one.profile) for one in _requests(request, arguments.samples)]
    if arguments.json:
        write_json(probe_document(request.url, samples))
    else:
        write(_drawing(samples, canvas_of(sys.stdout, everything=arguments.all), flights=arguments.flights))
    return exit_code(telling_sample(samples))


def _must_agree(arguments: argparse.Namespace) -> None:
    others = [address for _, _, address in arguments.resolve if family_of(address) != arguments.family]
    if arguments.family is not None and others:
        raise UsageError(
            f"--resolve names {others[0]}, which is no address of IPv{arguments.family}; leave one of them out"
        )


_UNVERIFIED = (
    "The network was not seen to keep the profile: a handshake was quicker than its round trip, data came at more than "
    "1.1 times its rate, or no connection was made. Take these times for those of no network in particular."
)


@contextmanager
def _engine(settings: ProbeSettings, profile: Profile) -> Iterator[Engine]:
    """An engine in this machine's network, or in one that is shaped for it. Raises UsageError where none can be."""
    with ExitStack() as stack:
        try:
            place = stack.enter_context(open_place(profile, settings.names)) if profile.shapes else None
        except ShapingError as error:
            raise UsageError(f"--profile {profile.name}: {error}") from error
        yield stack.enter_context(Engine(settings, enter=place.enter if place else None))


def _notes(deep: ProbeMeasurement, shown: Measured | Failed) -> list[str]:
    """What to know of the times that are shown."""
    probe = shown.measurement
    told = [_UNVERIFIED] if _is_unverified(deep) else []
    if isinstance(probe, ProbeMeasurement):
        ttfb_us = answer_phases([hop.timing for hop in probe.hops]).ttfb_us
        told += [probe_contention_told(probe.contention_us)] if is_probe_contended(probe.contention_us, ttfb_us) else []
    return told


def _is_unverified(probe: ProbeMeasurement) -> bool:
    return probe.evidence is not None and probe.evidence.profile_verified is False


def _requests(request: RunRequest, samples: int) -> Iterator[RunRequest]:
    """The first as deep as asked for; what only a deep one tells need not be asked again."""
    yield request
    for _ in range(samples - 1):
        yield replace(request, depth=Depth.LIGHT)


def _drawing(samples: Sequence[Measured | Failed], canvas: Canvas, *, flights: bool) -> str:
    """The phases of the sample that stands for all, and what the first and deepest one says about them, in one screen.
    Flights are drawn below it, since they need another.
    """
    outcome, probe = telling_sample(samples), samples[0].measurement
    if not isinstance(probe, ProbeMeasurement):
        return "\n".join(draw_outcome(outcome, canvas))
    notes = [line for note in _notes(probe, outcome) for line in ("", *hanging("", note, canvas))]
    lines = [*_phases(outcome, canvas, below=len(draw_diagnosis(probe, canvas)) + len(notes)), *notes]
    room = None if canvas.rows is None else canvas.rows - len(lines) - 1
    diagnosis = draw_diagnosis(probe, canvas, rows=room)
    lines += ["", *diagnosis] if diagnosis else []
    trial = main_trial(probe) if flights else None
    return "\n".join([*lines, "", *draw_flights(trial, canvas)] if trial else lines)


def _phases(outcome: Measured | Failed, canvas: Canvas, *, below: int) -> list[str]:
    """In half a screen, and in more where the lines that are to stand below leave it. What failed has its place."""
    if canvas.rows is None:
        return draw_outcome(outcome, canvas)
    failed = len(draw_outcome(replace(outcome, measurement=None), canvas)) if isinstance(outcome, Failed) else 0
    rows = max(canvas.rows - below - 1, canvas.rows // 2) - failed
    return draw_outcome(outcome, replace(canvas, rows=rows))
