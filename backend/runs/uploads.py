"""Page loads out of files of other tools: read, kept beside the runs, deleted. Nothing here is a run (see `Upload`)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

from django.db import transaction
from django.utils import timezone

from backend.accounts.audit import record
from backend.accounts.models import Organisation, User
from backend.accounts.room import hold
from backend.runs.documents import pack
from backend.runs.models import Upload
from backend.runs.sql import execute, fetch
from backend.sites.models import Site, SiteStatus
from workers.measurement.compute.page.outcome import document_of
from workers.measurement.compute.texts import plain
from workers.measurement.imports.imported import Imported, ImportedPage
from workers.measurement.imports.read import UnreadableFileError, read_import
from workers.measurement.messages import Kind, Measured, RunResult
from workers.measurement.target import origin_of
from workers.measurement.timing import phases_of
from workers.measurement.waterfall import received_bytes
from workers.measurement.wire import encode

# As sent; the reader bounds what it unpacks to.
MAX_FILE_MIB = 24
MAX_FILE_BYTES = MAX_FILE_MIB * 1024 * 1024
MAX_UPLOADS = 1_000
# What a document may have when it is read again is twice as much.
_MAX_LINE_BYTES = 32 * 1024 * 1024
_MAX_NAME_CHARS = 200
_FORGET_AT_ONCE = 1_000
_REGION = "upload"
# A number of ours for PostgreSQL's locks that belong to no row.
_READING = 1_229_999_182


class UploadError(ValueError):
    """A file cannot be imported; the text is a sentence for people."""


class TooManyUploadsError(UploadError):
    """There is no room for more, or not now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadedFile:
    """A file as it was sent, and what its sender calls it."""

    name: str
    content: bytes


@transaction.atomic
def import_file(
    *,
    actor: User | None,
    organisation: Organisation,
    file: UploadedFile,
    site: Site | None = None,
    sites: Iterable[Site] = (),
) -> list[Upload]:
    """Every page load in the file, as the file has them: put to `site`, else each to that of `sites` whose page it is.
    Raises UploadError; then nothing is kept.
    """
    if site is not None and (site.organisation_id != organisation.pk or site.status != SiteStatus.ACTIVE):
        raise UploadError("This site is only a test so far: save it first.")
    if len(file.content) > MAX_FILE_BYTES:
        raise UploadError(
            f"The file has more than {MAX_FILE_MIB} MiB. Pack it with gzip, or export it again without"
            " the contents of answers."
        )
    _refuse_another(organisation)
    try:
        found = read_import(file.content)
    except UnreadableFileError as error:
        raise UploadError(str(error)) from error
    _refuse_too_many(organisation, len(found.pages))
    now, candidates = timezone.now(), tuple(sites)
    made = [_upload(page, found, file, now) for page in found.pages]
    for upload in made:
        upload.organisation, upload.created_by = organisation, actor
        upload.site = site or site_at(upload.url, candidates)
        upload.save(force_insert=True)
        record("import_file", upload, actor=actor, organisation=organisation, file=upload.file_name, url=upload.url)
    return made


def site_at(url: str, sites: Sequence[Site]) -> Site | None:
    """The only one with this address, else the only one of its server; None where none or several are."""
    address = url.partition("#")[0].partition("?")[0]
    there = [site for site in sites if url and origin_of(site.url) == origin_of(url)]
    same = [site for site in there if site.url.partition("#")[0].partition("?")[0] == address]
    return next((found[0] for found in (same, there) if len(found) == 1), None)


@transaction.atomic
def delete_upload(*, actor: User | None, upload: Upload) -> None:
    """Deletes an imported page load for good."""
    record("delete_import", upload, actor=actor, organisation=upload.organisation, file=upload.file_name)
    Upload.objects.filter(pk=upload.pk).delete()


def forget_uploads(before: datetime) -> int:
    """Deletes some of those that were imported before an instant; how many."""
    table = Upload._meta.db_table
    return execute(
        f"DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE created_at < %s LIMIT %s)",
        [before, _FORGET_AT_ONCE],
    )


def _refuse_another(organisation: Organisation) -> None:
    """Until the transaction ends. A file takes a processor for seconds and some hundred megabytes while it is read, so
    that a member who sends many at once would stop the service for everybody.
    """
    ((is_ours,),) = fetch("SELECT pg_try_advisory_xact_lock(%s, %s)", [_READING, organisation.pk])
    if not is_ours:
        raise TooManyUploadsError("Another file is being read. Send this one again when that is done.")


def _refuse_too_many(organisation: Organisation, count: int) -> None:
    hold(organisation)
    if Upload.objects.filter(organisation=organisation).count() + count > MAX_UPLOADS:
        raise TooManyUploadsError(f"There may be {MAX_UPLOADS:,} imported page loads. Delete some first.")


def _upload(page: ImportedPage, found: Imported, file: UploadedFile, now: datetime) -> Upload:
    measured = page.measurement
    document = document_of(measured)
    rows = measured.waterfall.requests
    upload = Upload(
        public_id=uuid4(),
        created_at=now,
        started_at=page.started_at,
        url=page.url,
        label=page.label,
        file_name=plain(file.name.rpartition("/")[2] or "file", _MAX_NAME_CHARS),
        format=found.source.format,
        tool=found.source.tool,
        tool_version=found.source.tool_version,
        browser_version=measured.browser_version,
        ttfb_us=None if document is None else phases_of(document.timing).ttfb_us,
        fcp_us=measured.vitals.fcp_us,
        lcp_us=measured.vitals.lcp_us,
        load_us=measured.vitals.load_us,
        requests=len(rows),
        bytes=received_bytes(rows) if rows else None,
        skipped=found.skipped,
        remarks=list(found.remarks),
    )
    upload.document = _document(upload, page)
    return upload


def _document(upload: Upload, page: ImportedPage) -> bytes:
    """As if an agent had sent it, so that everything that reads a run's document reads this one too."""
    ends_us = [row.timing.end_us or row.timing.start_us for row in page.measurement.waterfall.requests]
    line = encode(
        RunResult(
            run_id=upload.public_id,
            monitor_id=upload.public_id,
            kind=Kind.PAGE,
            region=_REGION,
            scheduled_for=page.started_at,
            attempt=1,
            config_version=1,
            agent=upload.tool or _REGION,
            agent_version=upload.tool_version or "",
            started_at=page.started_at,
            duration_us=max(0, *ends_us, page.measurement.vitals.fully_loaded_us or 0),
            outcome=Measured(measurement=page.measurement),
        )
    )
    if len(line) > _MAX_LINE_BYTES:
        raise UploadError("The page holds more headers and addresses than can be kept.")
    return pack(line)
