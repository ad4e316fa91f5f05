"""Where runs of two addresses arrived: servers lead on, a preview to a sign-in, or both to one and the same place.

What answered is what was measured. A place that is compared with itself says nothing of a release. A cookie that was
set on the way may have chosen one there, which is known only of one that is slower.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from backend.gates.models import BaselineMode, Gate, GateRun, RunState, Side
from backend.gates.rounds import Subject
from backend.runs.models import Run
from backend.runs.queries import measurements_of
from backend.runs.queries.requested import SLACK
from backend.sites.models import Monitor
from workers.measurement.connection import Header
from workers.measurement.domains import registrable
from workers.measurement.messages import Measurement, PageMeasurement, ProbeMeasurement
from workers.measurement.waterfall import Request, ResourceType


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """The URL that answered, and whether one on the way set a cookie that may have been sent there."""

    url: str
    with_cookie: bool = False


def one_place(monitors: Mapping[int, Monitor], arrived: Mapping[Subject, Arrival]) -> str:
    """A sentence about a monitor of which both addresses led to the same; empty where none is so."""
    for pk, both in _at_one_place(monitors, arrived):
        if not any(arrival.with_cookie for arrival in both):
            return f"{_led_to(monitors[pk], both[0])}: there is nothing to compare."
    return ""


def doubtful(monitors: Mapping[int, Monitor], arrived: Mapping[Subject, Arrival]) -> dict[int, str]:
    """By monitor a sentence where both addresses led to the same, and nobody knows whether to the same release."""
    return {
        pk: f"{_led_to(monitors[pk], both[0])}, and a cookie was set on the way: whether it chose another release "
        "cannot be told."
        for pk, both in _at_one_place(monitors, arrived)
        if any(arrival.with_cookie for arrival in both)
    }


def _at_one_place(
    monitors: Mapping[int, Monitor], arrived: Mapping[Subject, Arrival]
) -> Iterator[tuple[int, tuple[Arrival, Arrival]]]:
    for pk in monitors:
        before, after = (arrived.get((pk, side)) for side in Side)
        if before is not None and after is not None and before.url == after.url:
            yield pk, (before, after)


def _led_to(monitor: Monitor, arrival: Arrival) -> str:
    return f"Both addresses of the {monitor.kind} led to {_shown(arrival.url)}"


def led_on(gate: Gate, monitors: Mapping[int, Monitor], arrived: Mapping[Subject, Arrival]) -> Iterator[str]:
    """A sentence for each address that led to another host."""
    for (pk, side), arrival in arrived.items():
        asked = gate.url_of(monitors[pk], side)
        if urlsplit(arrival.url).hostname != urlsplit(asked).hostname:
            yield f"{_shown(asked)} led to {_shown(arrival.url)}, and that is what the {monitors[pk].kind} measured."


def arrivals(gate: Gate, runs: Sequence[GateRun]) -> dict[Subject, Arrival]:
    """Where the newest run of each subject arrived, in the first region that is left: others may be led elsewhere.
    Empty where no addresses are compared. Two statements."""
    if gate.baseline_mode != BaselineMode.URL:
        return {}
    here = next((code for code in gate.regions if code not in gate.given_up), None)
    made = [run for run in runs if run.region.code == here and run.state == RunState.MEASURED]
    last = {(run.monitor_id, run.side): run for run in made}
    newest = {run.ended_run_id: subject for subject, run in last.items() if run.ended_run_id is not None}
    ended = list(Run.objects.filter(run_id__in=newest, scheduled_for__gte=gate.created_at - SLACK))
    found = {newest[run_id]: _arrived(_answers(seen)) for run_id, seen in measurements_of(ended).items()}
    return {subject: arrival for subject, arrival in found.items() if arrival is not None}


def _answers(measured: Measurement) -> list[tuple[str, Sequence[Header]]]:
    """URL and headers of each answer on the way, the one that was measured last; empty where nobody kept it."""
    if isinstance(measured, ProbeMeasurement):
        return [(hop.url, hop.response_headers) for hop in measured.hops]
    return [(row.url, row.response_headers) for row in _way(measured)] if isinstance(measured, PageMeasurement) else []


def _way(measured: PageMeasurement) -> list[Request]:
    """The documents that were asked for up to that of the page; empty where that is not kept."""
    rows = measured.waterfall.requests
    last = next((row for row in rows if row.number == measured.document), None)
    if last is None:
        return []
    return [*(row for row in rows if row.number < last.number and row.resource_type is ResourceType.DOCUMENT), last]


def _arrived(answers: Sequence[tuple[str, Sequence[Header]]]) -> Arrival | None:
    """None where nobody kept it."""
    if not answers:
        return None
    *before, (url, _) = answers
    setting = [one for one, headers in before if any(header.name.lower() == "set-cookie" for header in headers)]
    return Arrival(url=url, with_cookie=any(_owner(one) == _owner(url) for one in setting))


def _owner(url: str) -> str:
    """Who is sent each other's cookies, if they say so."""
    return registrable(urlsplit(url).hostname or "")


def _shown(url: str) -> str:
    """Without its query, which may hold what opens doors."""
    return url.partition("#")[0].partition("?")[0]
