"""Maintenance as it shall be. A window is known by its place and by when it begins, and by nothing once it is over."""

from collections.abc import Sequence
from datetime import UTC

from backend.alerts.actions import maintenance as actions
from backend.alerts.models import Maintenance
from backend.declared.carrying import Carrying
from backend.declared.changes import Act, What, differences
from backend.declared.documents import window_document
from backend.declared.wanted import WantedWindow
from backend.sites.models import Site


def carry_out_windows(
    carrying: Carrying,
    path: str,
    known: Sequence[Maintenance],
    wanted: Sequence[WantedWindow],
    *,
    site: Site | None = None,
) -> None:
    """Plans, changes and ends windows of a site, or of all, until those that are not over are as wanted. What a file
    tells of the past is passed over, so that nobody need take it out.
    """
    one = _Windows(carrying, known, site)
    others = []
    for index, window in enumerate(wanted):
        if not one.is_over(window) and not one.is_there(window):
            others.append((f"{path}/{index}", window))
    for place, window in others:
        with carrying.at(place):
            one.make_so(window)
    one.end_left()


class _Windows:
    """The windows of one place: what nobody asked for yet is left."""

    def __init__(self, carrying: Carrying, known: Sequence[Maintenance], site: Site | None) -> None:
        self._carrying, self._site, self._left = carrying, site, list(known)

    def is_over(self, wanted: WantedWindow) -> bool:
        return wanted.starts_at < wanted.ends_at <= self._carrying.now

    def is_there(self, wanted: WantedWindow) -> bool:
        """Whether a window is just so; it is left no longer."""
        document = window_document(_as_row(wanted))
        same = next((window for window in self._left if window_document(window) == document), None)
        if same is not None:
            self._left.remove(same)
        return same is not None

    def make_so(self, wanted: WantedWindow) -> None:
        """Changes a window that is left and begins then, or plans one. Raises MaintenanceError."""
        carrying, site = self._carrying, self._site
        known = next((window for window in self._left if window.starts_at == wanted.starts_at), None)
        if known is None:
            made = actions.plan_maintenance(
                actor=carrying.actor,
                organisation=carrying.organisation,
                site=site,
                starts_at=wanted.starts_at,
                ends_at=wanted.ends_at,
                reason=wanted.reason,
            )
            self._note(Act.CREATE, made)
            return
        self._left.remove(known)
        changed = actions.change_maintenance(
            actor=carrying.actor, window=known, ends_at=wanted.ends_at, reason=wanted.reason
        )
        carrying.note(
            Act.CHANGE,
            What.MAINTENANCE,
            site=self._name,
            name=_called(known),
            fields=differences(window_document(known), window_document(changed)),
        )

    def end_left(self) -> None:
        for window in self._left:
            if self._carrying.deletes(What.MAINTENANCE, site=self._name, name=_called(window)):
                actions.end_maintenance(actor=self._carrying.actor, window=window)

    @property
    def _name(self) -> str | None:
        return None if self._site is None else self._site.name

    def _note(self, act: Act, window: Maintenance) -> None:
        self._carrying.note(act, What.MAINTENANCE, site=self._name, name=_called(window))


def _as_row(wanted: WantedWindow) -> Maintenance:
    return Maintenance(starts_at=wanted.starts_at, ends_at=wanted.ends_at, reason=wanted.reason.strip())


def _called(window: Maintenance) -> str:
    """`2026-12-01 22:00 to 2026-12-02 02:00 UTC (Database)`."""
    starts_at, ends_at = (at.astimezone(UTC) for at in (window.starts_at, window.ends_at))
    span = f"{starts_at:%Y-%m-%d %H:%M} to {ends_at:%Y-%m-%d %H:%M} UTC"
    return f"{span} ({window.reason})" if window.reason else span
