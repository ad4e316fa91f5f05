"""Probes and pages as they shall be."""

from collections.abc import Callable
from typing import Any

from backend.declared.carrying import Carrying
from backend.declared.changes import Act, FieldChange, What, differences
from backend.declared.documents import monitor_document
from backend.declared.wanted import WantedMonitor
from backend.runs import actions
from backend.sites.keeping import with_kept
from backend.sites.models import Monitor
from backend.sites.monitor_settings import MonitorSettings, stored_settings


def carry_out_monitor(carrying: Carrying, monitor: Monitor, wanted: WantedMonitor, *, site: str) -> None:
    """Changes a monitor until it is as wanted. Raises InvalidError, TargetError."""
    before, was_paused = stored_settings(monitor), monitor.paused
    if with_kept(wanted.settings, before) == before and was_paused == wanted.paused:
        return
    carrying.refuse_unknown_regions(wanted.settings.regions, kept=monitor.regions)
    monitor = actions.change_monitor(actor=carrying.actor, monitor=monitor, settings=wanted.settings)
    after = stored_settings(monitor)
    fields = _differences(before, after, was_paused=was_paused, paused=wanted.paused)
    set_paused(carrying, monitor, paused=wanted.paused)
    if fields:
        carrying.note(Act.CHANGE, What(monitor.kind), site=site, fields=fields)


def set_paused(carrying: Carrying, monitor: Monitor, *, paused: bool) -> None:
    """Pauses or resumes where it is otherwise."""
    act: Callable[..., Monitor] = actions.pause_monitor if paused else actions.resume_monitor
    if monitor.paused != paused:
        act(actor=carrying.actor, monitor=monitor)


def _differences(
    before: MonitorSettings, after: MonitorSettings, *, was_paused: bool, paused: bool
) -> tuple[FieldChange, ...]:
    fields = differences(monitor_document(before, paused=was_paused), monitor_document(after, paused=paused))
    told = {field.name for field in fields}
    hidden = [name for name, old in _secretive(before).items() if name not in told and old != _secretive(after)[name]]
    return (*fields, *(FieldChange(name=name, is_secret=True) for name in hidden))


def _secretive(settings: MonitorSettings) -> dict[str, Any]:
    """The fields that may differ although they are told alike; what cannot be read is another than what can."""
    page = settings.page
    fields = {"headers": settings.headers, "cookies": page.cookies, "login": page.login, "steps": page.steps}
    return fields | {"unreadable": settings.unreadable}
