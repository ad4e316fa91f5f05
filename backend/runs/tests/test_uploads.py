"""Files of other tools: kept beside the runs, within bounds, and met by nothing that counts runs."""

import gzip
from datetime import timedelta
from threading import Event, Thread

import pytest
from django.db import connection
from django.utils import timezone

from backend.accounts.models import AuditEntry
from backend.cast import Member
from backend.runs import queries, uploads
from backend.runs.models import Run, RunDocument, Upload
from backend.runs.retention import forget
from backend.runs.tests.factories import make_fleet
from backend.runs.uploads import TooManyUploadsError, UploadedFile, UploadError, delete_upload, import_file
from backend.sites.models import Site, SiteStatus
from workers.measurement.imports.imported import Imported
from workers.measurement.imports.read import read_import
from workers.measurement.page_options import PageState
from workers.tests.measurement.imports import samples

pytestmark = pytest.mark.django_db


def file_of(document: samples.Document, name: str = "shop.har") -> UploadedFile:
    return UploadedFile(name=name, content=samples.written(document))


def imported(member: Member, file: UploadedFile, site: Site | None = None) -> list[Upload]:
    return import_file(actor=member.user, organisation=member.organisation, file=file, site=site)


def test_a_page_load_is_kept_as_the_file_has_it(alice: Member) -> None:
    (made,) = imported(alice, file_of(samples.devtools(), "C:/pages/shop\x00.har"))
    assert (made.url, made.file_name, made.tool, made.format) == (
        samples.HTML,
        "shop\ufffd.har",
        "WebInspector",
        "HAR 1.2",
    )
    assert (made.ttfb_us, made.load_us, made.requests, made.skipped) == (121_000, 500_000, 4, 0)
    detail = queries.upload_detail(alice.organisation, made.public_id)
    assert detail is not None
    assert detail.measurement is not None
    assert [row.number for row in detail.measurement.waterfall.requests] == [1, 2, 3, 4]


def test_a_file_may_be_packed(alice: Member) -> None:
    packed = gzip.compress(samples.written(samples.firefox()))
    (made,) = imported(alice, UploadedFile(name="x.har.gz", content=packed))
    assert made.browser_version == "Firefox 146.0.1"


def test_a_webpagetest_test_is_one_page_load_with_its_repeat_view(alice: Member) -> None:
    (made,) = imported(alice, file_of(samples.webpagetest(1000, 3000, 2000)))
    detail = queries.upload_detail(alice.organisation, made.public_id)
    assert detail is not None
    assert detail.measurement is not None
    assert detail.measurement.repeat is not None
    assert detail.measurement.repeat.state is PageState.WARM_CACHE
    assert made.load_us == 2_000_000


def test_every_page_of_a_file_is_an_import(alice: Member) -> None:
    pages = [samples.page("a"), samples.page("b", started="2026-11-21T12:01:00Z")]
    second = samples.at("https://shop.example/2", started="2026-11-21T12:01:00Z", pageref="b")
    made = imported(alice, file_of(samples.har(samples.entry(pageref="a"), second, pages=pages)))
    assert [upload.url for upload in made] == [samples.HTML, "https://shop.example/2"]
    assert len(queries.uploads(alice.organisation)) == 2


@pytest.mark.django_db(transaction=True)
def test_an_organisation_has_one_file_read_at_a_time(
    alice: Member, charlie: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, over = Event(), Event()

    def slowly(data: bytes) -> Imported:
        begun.set()
        over.wait(60)
        return read_import(data)

    def first() -> None:
        imported(alice, file_of(samples.devtools()))
        connection.close()

    monkeypatch.setattr(uploads, "read_import", slowly)
    thread = Thread(target=first)
    thread.start()
    try:
        assert begun.wait(60)
        monkeypatch.setattr(uploads, "read_import", read_import)
        with pytest.raises(TooManyUploadsError, match="Another file is being read"):
            imported(alice, file_of(samples.devtools()))
        assert len(imported(charlie, file_of(samples.devtools()))) == 1
    finally:
        over.set()
        thread.join()
    assert Upload.objects.filter(organisation=alice.organisation).count() == 1
    assert len(imported(alice, file_of(samples.devtools()))) == 1


def test_no_run_comes_of_it(alice: Member) -> None:
    imported(alice, file_of(samples.devtools()))
    assert (Run.objects.count(), RunDocument.objects.count()) == (0, 0)


def test_what_cannot_be_read_is_told_with_its_place_and_nothing_is_kept(alice: Member) -> None:
    with pytest.raises(UploadError, match=r"entry 1: startedDateTime is not a date and time"):
        imported(alice, file_of(samples.har(samples.entry("never"))))
    assert not Upload.objects.exists()
    half = imported(alice, file_of(samples.har(samples.entry(), samples.entry("never"))))
    assert (half[0].skipped, half[0].remarks) == (1, ["entry 2: startedDateTime is not a date and time"])


def test_large_files_and_many_imports_are_refused(alice: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UploadError, match="more than 24 MiB"):
        imported(alice, UploadedFile(name="x", content=bytes(24 * 1024 * 1024 + 1)))
    monkeypatch.setattr(uploads, "MAX_UPLOADS", 1)
    imported(alice, file_of(samples.devtools()))
    with pytest.raises(TooManyUploadsError):
        imported(alice, file_of(samples.devtools()))


def test_a_page_of_nothing_but_headers_is_refused(alice: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "_MAX_LINE_BYTES", 100)
    with pytest.raises(UploadError, match="more headers"):
        imported(alice, file_of(samples.devtools()))


def test_it_may_be_of_a_site_of_the_same_organisation_only(alice: Member) -> None:
    fleet = make_fleet()
    with pytest.raises(UploadError, match="only a test"):
        imported(alice, file_of(samples.devtools()), fleet.site)
    mine = Site.objects.create(organisation=alice.organisation, name="Shop", url=samples.HTML, status=SiteStatus.ACTIVE)
    imported(alice, file_of(samples.devtools()), mine)
    imported(alice, file_of(samples.devtools()))
    assert len(queries.uploads(alice.organisation, site=mine)) == 1


def test_nobody_sees_what_another_organisation_imported(alice: Member) -> None:
    (made,) = imported(alice, file_of(samples.devtools()))
    stranger = make_fleet().organisation
    assert queries.upload(stranger, made.public_id) is None
    assert queries.upload_detail(stranger, made.public_id) is None
    assert queries.uploads(stranger) == []


def test_the_list_goes_on_where_it_ended(alice: Member) -> None:
    made = [upload for _ in range(3) for upload in imported(alice, file_of(samples.devtools()))]
    first = queries.uploads(alice.organisation, limit=2)
    rest = queries.uploads(alice.organisation, before=(first[-1].created_at, first[-1].pk))
    assert [upload.pk for upload in (*first, *rest)] == [upload.pk for upload in reversed(made)]


def test_who_imports_and_deletes_is_remembered(alice: Member) -> None:
    (made,) = imported(alice, file_of(samples.devtools()))
    delete_upload(actor=alice.user, upload=made)
    assert not Upload.objects.exists()
    entries = AuditEntry.objects.filter(object_id=str(made.public_id)).order_by("pk")
    assert [(entry.action, entry.actor) for entry in entries] == [
        ("import_file", alice.user),
        ("delete_import", alice.user),
    ]


def test_imports_are_kept_as_long_as_runs(alice: Member) -> None:
    (old,), (new,) = imported(alice, file_of(samples.devtools())), imported(alice, file_of(samples.devtools()))
    Upload.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(days=400))
    forget(timezone.now())
    assert [upload.pk for upload in Upload.objects.all()] == [new.pk]
