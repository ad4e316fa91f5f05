"""Page loads out of files: lists, and one in full."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Case, IntegerField, When

from backend.accounts.models import Organisation
from backend.lists import older
from backend.runs.models import Upload
from backend.runs.queries.documents import measurement_of, result_in
from backend.sites.models import Site
from workers.measurement.messages import PageMeasurement


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadDetail:
    """An imported page load. `measurement` is None when this version cannot read it any more."""

    upload: Upload
    measurement: PageMeasurement | None


def uploads(
    organisation: Organisation,
    *,
    site: Site | None = None,
    before: tuple[datetime, int] | None = None,
    limit: int = 50,
) -> list[Upload]:
    """The newest first, without what they measured; `before` is the time and number of the last one seen. One
    statement."""
    found = Upload.objects.filter(organisation=organisation).select_related("site", "created_by").defer("document")
    if site is not None:
        found = found.filter(site=site)
    if before is not None:
        found = found.filter(older("created_at", before))
    return list(found.order_by("-created_at", "-pk")[:limit])


def uploads_beside(organisation: Organisation, *, upload: Upload | None, site: Site | None, limit: int) -> list[Upload]:
    """Those of the same file as `upload`, then those of the site, then all others; each the newest first, those of one
    file in its order. Without what they measured. One statement."""
    nearest = []
    if upload is not None:
        # All page loads of a file are brought at one instant.
        nearest.append(When(created_at=upload.created_at, file_name=upload.file_name, then=0))
    if site is not None:
        nearest.append(When(site=site, then=1))
    found = Upload.objects.filter(organisation=organisation).select_related("site").defer("document")
    place = Case(*nearest, default=2, output_field=IntegerField())
    return list(found.order_by(place, "-created_at", "pk")[:limit])


def upload(organisation: Organisation, public_id: UUID) -> Upload | None:
    """One, without what it measured. One statement."""
    found = Upload.objects.filter(organisation=organisation, public_id=public_id)
    return found.select_related("site", "created_by", "organisation").defer("document").first()


def upload_detail(organisation: Organisation, public_id: UUID) -> UploadDetail | None:
    """One with all that it measured. One statement."""
    found = Upload.objects.filter(organisation=organisation, public_id=public_id)
    row = found.select_related("site", "created_by", "organisation").first()
    return None if row is None else UploadDetail(upload=row, measurement=_measurement(row))


def _measurement(row: Upload) -> PageMeasurement | None:
    measurement = measurement_of(result_in(bytes(row.document), of=f"upload {row.public_id}"))
    return measurement if isinstance(measurement, PageMeasurement) else None
