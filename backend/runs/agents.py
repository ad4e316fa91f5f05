"""What agents tell between the beginning and the end of a run: that they hold it, where it is, and its pictures."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.core.files.base import ContentFile, File
from django.core.files.storage import default_storage
from django.db.models import QuerySet

from backend.fleet.actions import record_heartbeat
from backend.fleet.models import Region
from backend.runs.early import noted
from backend.runs.models import Outcome, PendingRun, Run
from backend.runs.sql import array, fetch
from backend.runs.verdicts import HELD_FOR
from workers.measurement.messages import Heartbeat, HeartbeatReply, Progress
from workers.measurement.routes import PictureKind

_COLUMNS = {PictureKind.SCREENSHOT: "has_screenshot", PictureKind.FILM: "has_film"}

_EXTEND = """
UPDATE runs_pendingrun SET lease_until = %(until)s, agent = %(agent)s WHERE run_id IN (
    SELECT run_id FROM runs_pendingrun WHERE run_id = ANY(%(runs)s::uuid[]) AND region_id = %(region)s
        AND published_at IS NOT NULL FOR UPDATE SKIP LOCKED
) RETURNING run_id
"""
_KNOWN = """
SELECT run_id FROM runs_pendingrun WHERE run_id = ANY(%(runs)s::uuid[])
UNION SELECT first_run_id FROM runs_pendingrun WHERE first_run_id = ANY(%(runs)s::uuid[])
UNION SELECT run_id FROM runs_run WHERE run_id = ANY(%(runs)s::uuid[])
UNION SELECT first_run_id FROM runs_run WHERE first_run_id = ANY(%(runs)s::uuid[])
"""


def heartbeat(region: Region, message: Heartbeat, *, now: datetime) -> HeartbeatReply:
    """Notes that the agent lives and extends the leases of the runs it holds.

    `lost` names those that nobody would take a result of. A run that was given up, or begun anew by another agent, is
    not among them: its result would still be stored, as a late one.
    """
    agent = record_heartbeat(region=region, heartbeat=message, now=now)
    held = message.holding
    extended = _extend(region, agent.name, held, now) if held else set()
    others = [run for run in held if run not in extended]
    known = {run for (run,) in fetch(_KNOWN, {"runs": array(others)})} if others else set()
    return HeartbeatReply(received_at=now, lost=tuple(run for run in others if run not in known))


def note_progress(region: Region, message: Progress) -> bool:
    """Notes where a run is, and the phases it tells ahead; whether it is pending in this region."""
    pending = PendingRun.objects.filter(run_id=message.run_id, region=region, published_at__isnull=False)
    requests = None if message.requests is None else max(0, min(message.requests, 1_000_000))
    return bool(pending.update(stage=message.stage.value, requests=requests, **noted(message)))


def keep_picture(region: Region, run_id: UUID, kind: PictureKind, picture: bytes) -> bool:
    """Stores a picture of a run that is pending in this region, was given up or begun anew, so that its result may
    still come; False, and nothing kept, for any other."""
    pending = PendingRun.objects.filter(run_id=run_id, region=region)
    given_up = Run.objects.filter(run_id=run_id, region_id=region.pk, outcome=Outcome.MISSED)
    has_row = _slot_of(pending) or _slot_of(given_up)
    scheduled_for = has_row or _slot_of_first_try(region, run_id)
    if scheduled_for is None:
        return False
    name = picture_name(kind, run_id, scheduled_for)
    default_storage.delete(name)
    default_storage.save(name, ContentFile(picture))
    has = {_COLUMNS[kind]: True}
    return bool(pending.update(**has) or given_up.update(**has) or not has_row)


def _slot_of(runs: "QuerySet[PendingRun] | QuerySet[Run]") -> datetime | None:
    return runs.values_list("scheduled_for", flat=True).first()


def _slot_of_first_try(region: Region, run_id: UUID) -> datetime | None:
    """That of a run whose second attempt was begun before its own result came."""
    if Run.objects.filter(run_id=run_id).exists():
        return None
    second = {"first_run_id": run_id, "region_id": region.pk}
    return _slot_of(PendingRun.objects.filter(**second)) or _slot_of(Run.objects.filter(**second))


def pictures_kept(run_id: UUID, scheduled_for: datetime) -> dict[str, bool]:
    """Which pictures of a run there are, by column: the storage is asked, for a run that has no row to say so."""
    return {
        column: default_storage.exists(picture_name(kind, run_id, scheduled_for)) for kind, column in _COLUMNS.items()
    }


def picture_name(kind: PictureKind, run_id: UUID, scheduled_for: datetime) -> str:
    """Where a run's picture lies in the storage: one folder a day, so that retention needs no list."""
    return f"{kind}/{scheduled_for:%Y%m%d}/{run_id}"


def has_picture(run: Run, kind: PictureKind) -> bool:
    """Whether the region sent it; its time of retention may have passed."""
    return bool(getattr(run, _COLUMNS[kind]))


def open_picture(run: Run, kind: PictureKind) -> "tuple[File[bytes], str] | None":
    """A picture of an ended run and its media type; the caller closes it. None when there is none (any more).

    It is hostile: what is no picture by its first bytes is only ever bytes.
    """
    if not has_picture(run, kind):
        return None
    try:
        file = default_storage.open(picture_name(kind, run.run_id, run.scheduled_for))
    except FileNotFoundError:
        return None
    head = file.read(12)
    file.seek(0)
    return file, picture_type(head) or "application/octet-stream"


def picture_type(picture: bytes) -> str | None:
    """The media type of a picture by its first bytes; None for what is neither JPEG nor WebP."""
    if picture.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    return "image/webp" if picture[:4] == b"RIFF" and picture[8:12] == b"WEBP" else None


def _extend(region: Region, agent: str, held: Sequence[UUID], now: datetime) -> set[UUID]:
    parameters = {"runs": array(held), "region": region.pk, "agent": agent, "until": now + HELD_FOR}
    return {run for (run,) in fetch(_EXTEND, parameters)}
