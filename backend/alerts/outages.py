"""Writing down when sites could not be reached, in the transaction of the judge that found it out."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from backend.alerts.models import Outage
from backend.alerts.states import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Turned:
    """How a monitor's site can be reached from an instant on. Of what has not become another state the regions, the
    run and the reason may be others by now. `blind_since`: the regions that saw it down have seen nothing since then.
    """

    monitor_id: int
    state: State
    at: datetime
    regions: Sequence[str] = ()
    run_id: UUID | None = None
    why: str = ""
    blind_since: datetime | None = None


def write_down(many: Sequence[Turned]) -> None:
    """Begins and ends outages, in order. No statement where there is nothing to be written."""
    for turned in many:
        _write_down(turned)


def _write_down(turned: Turned) -> None:
    outage, began_at = _reaching(turned), turned.at
    if outage is not None and outage.state == turned.state:
        _go_on(outage, turned)
        return
    if outage is not None and outage.ended_at is not None and turned.state is State.DEGRADED:
        # That a part of the regions could not reach it is no news of a time in which none could.
        began_at = outage.ended_at
    elif outage is not None:
        _end(outage, turned)
    if turned.state is not State.OK:
        Outage.objects.create(
            monitor_id=turned.monitor_id,
            state=turned.state,
            regions=sorted(turned.regions),
            began_at=began_at,
            run_id=turned.run_id,
            why=turned.why,
        )


def _reaching(turned: Turned) -> Outage | None:
    """The outage that goes on, or one that was over no sooner than this one begins: late results tell of the past."""
    reaches = Q(ended_at=None) if turned.state is State.OK else Q(ended_at=None) | Q(ended_at__gte=turned.at)
    return Outage.objects.filter(reaches, monitor=turned.monitor_id).order_by("began_at").last()


def _go_on(outage: Outage, turned: Turned) -> None:
    outage.regions = sorted({*outage.regions, *turned.regions})
    outage.ended_at = None
    outage.save(update_fields=["regions", "ended_at"])


def _end(outage: Outage, turned: Turned) -> None:
    """What only agents saw that saw nothing at all was no outage, and what is over as it begins neither."""
    was_blind = turned.blind_since is not None and turned.blind_since <= outage.began_at
    if was_blind or turned.at <= outage.began_at:
        outage.delete()
        return
    outage.ended_at = turned.at
    outage.save(update_fields=["ended_at"])
