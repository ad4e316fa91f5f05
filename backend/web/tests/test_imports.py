"""Imports in the dashboard: the form, the list, a page like a run's."""

import re

import pytest
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from backend.accounts.models import AuditEntry, Membership, User
from backend.accounts.permissions import Role
from backend.runs import uploads
from backend.runs.models import Upload
from backend.runs.tests.factories import make_fleet
from backend.runs.uploads import UploadedFile, import_file
from backend.sites import actions
from backend.sites.models import Site
from backend.web import import_page, uploading
from backend.web.tests.world import World
from workers.tests.measurement.imports import samples
from workers.tests.measurement.imports.samples import at, entry

pytestmark = pytest.mark.django_db
LIST = "/imports/"


def send(client: Client, document: samples.Document | bytes, **fields: str) -> tuple[int, str]:
    """Status and text of the page that one is led to; put to no site unless told to."""
    fields = {"site": "none"} | fields
    content = document if isinstance(document, bytes) else samples.written(document)
    file = SimpleUploadedFile("shop.har", content, content_type="application/json")
    response = client.post(LIST, {"file": file, **fields}, follow=True)
    return response.status_code, response.content.decode()


def cards(text: str) -> str:
    """The figures on top of a page."""
    return text.partition('<div class="cards">')[2].partition("<h2")[0]


def text_of(client: Client, path: str) -> str:
    response = client.get(path)
    assert response.status_code == 200
    return response.content.decode()


def test_a_file_becomes_a_page_like_a_runs(world: World, client: Client) -> None:
    status, text = send(client, samples.devtools(), site=str(world.site.public_id))
    assert status == 200
    for part in (
        "uploaded",
        "shop.har",
        "HAR 1.2 of WebInspector 1",
        "app.js",
        "The page loaded in 500 ms",
        "Export HAR",
    ):
        assert part in text, part
    assert text.count('class="wf-row') == 4
    made = Upload.objects.get()
    assert (made.site, made.created_by) == (world.site, world.member.user)


def test_unless_told_otherwise_a_page_is_put_to_the_site_with_its_address(world: World, client: Client) -> None:
    """Where there is exactly one: that of the address itself, else that of its server."""

    def put(url: str, **fields: str) -> Site | None:
        send(client, samples.har(at(url), pages=[]), **({"site": ""} | fields))
        return Upload.objects.order_by("-pk").first().site  # type: ignore[union-attr]

    assert put("https://shop.example/?from=mail") == world.site
    assert put("https://shop.example/basket") == world.site
    assert put("https://shop.example/", site="none") is None
    assert put("https://shop.example:8443/") is None
    assert put("https://other.example/") is None
    person, home = world.member.user, world.member.organisation
    basket = actions.create_draft(actor=person, organisation=home, url="https://shop.example/basket")
    assert put("https://shop.example/basket") == world.site
    actions.activate(actor=person, site=basket, name="Basket")
    assert put("https://shop.example/basket") == basket
    assert put("https://shop.example/") == world.site
    assert put("https://shop.example/help") is None


def test_an_archive_of_an_error_does_not_say_that_the_page_loaded(world: World, client: Client) -> None:
    archive = samples.devtools()
    archive["log"]["entries"][0]["response"]["status"] = 503
    _, text = send(client, archive)
    assert "The server answered 503" in text
    assert "The page loaded" not in text


def test_the_row_in_the_address_is_the_one_looked_at(world: World, client: Client) -> None:
    send(client, samples.devtools())
    place = reverse("web:import", args=[Upload.objects.get().public_id])
    assert '<h3 class="wrap-any">2. app.js</h3>' in text_of(client, f"{place}?request=2")
    assert '<h3 class="wrap-any">2. app.js</h3>' in text_of(client, f"{place}requests/2")
    assert client.get(f"{place}requests/99").status_code == 404


def test_its_waterfall_is_a_picture_to_keep(world: World, client: Client) -> None:
    _, text = send(client, samples.devtools())
    place = reverse("web:import", args=[Upload.objects.get().public_id])
    assert f'href="{place}waterfall.svg?" data-export="svg"' in text
    assert f'href="{place}waterfall.svg?" data-export="png"' in text
    assert f'href="{place}waterfall.svg?q=app.js' in text_of(client, f"{place}?q=app.js")
    response = client.get(f"{place}waterfall.svg?q=app.js")
    picture = response.content.decode()
    assert response["Content-Type"] == "image/svg+xml; charset=utf-8"
    assert "sandbox" in response["Content-Security-Policy"]
    assert ("app.js" in picture, "x.gif" in picture) == (True, False)
    assert "shop.example, out of shop.har, 21 Nov 2026 12:00 UTC" in picture
    Upload.objects.update(document=b"damaged")
    assert client.get(f"{place}waterfall.svg").status_code == 404


def test_a_page_load_without_requests_is_shown_with_its_figures(world: World, client: Client) -> None:
    _, text = send(client, samples.har(pages=[samples.page()]))
    for part in ("The file has no requests of its page loads, only their figures.", "The page loaded in 500 ms"):
        assert part in text, part
    for part in ("data-export", "wf-row", "Transferred", "Connections"):
        assert part not in text, part
    made = Upload.objects.get()
    assert (made.requests, made.url) == (0, samples.HTML)
    assert 'data-label="Requests" class="num">\N{EN DASH}' in text_of(client, LIST)
    assert client.get(f"/api/v1/imports/{made.public_id}/har").status_code == 200


def test_times_are_told_in_the_readers_zone(world: World, client: Client) -> None:
    User.objects.filter(pk=world.member.user.pk).update(time_zone="America/St_Johns")
    _, text = send(client, samples.har(entry("2025-01-01T02:00:00Z"), pages=[]))
    assert 'title="2024-12-31 22:30:00 NST">31 Dec 2024 22:30</time>' in text
    pending = world.pending("probe")
    live = text_of(client, f"{reverse('web:trial', args=[world.site.public_id])}?run={pending.run_id}")
    assert 'data-zone="America/St_Johns"' in live


def test_of_a_page_that_nobody_saw_load_nobody_says_that_it_did(world: World, client: Client) -> None:
    _, text = send(client, samples.har(pages=[samples.page(title="Shop", pageTimings={"_firstContentfulPaint": 210})]))
    assert "The file does not say when the page had loaded" in text
    assert "The page loaded" not in text
    assert ">Shop</a>" in text_of(client, LIST)


def test_a_repeat_view_of_webpagetest_can_be_looked_at(world: World, client: Client) -> None:
    _, text = send(client, samples.webpagetest(1000, 3000, 2000))
    assert "WebPageTest JSON of WebPageTest 21.07" in text
    assert "run 3, first view" in text


def test_the_figures_of_the_repeat_view_stand_over_its_waterfall(world: World, client: Client) -> None:
    send(client, samples.webpagetest(1000, 3000, 2000))
    place = reverse("web:import", args=[Upload.objects.get().public_id])
    first, repeat = text_of(client, place), text_of(client, f"{place}?visit=repeat")
    assert ("2.00 s" in cards(first), "2.00 s" in cards(repeat), "1.00 s" in cards(repeat)) == (True, False, True)


def test_loads_hosts_and_long_tasks_are_told_as_of_a_run(world: World, client: Client) -> None:
    _, text = send(client, samples.webpagetest(1000, 3000, 2000))
    for part in ("3 loads, first visit", "What the page is made of", "1 task held the main thread"):
        assert part in text, part


def test_sizes_that_a_file_does_not_tell_are_not_zero(world: World, client: Client) -> None:
    """Safari and Charles tell none; what came from a cache is known to have cost nothing."""
    untold = {"status": 200, "headers": [], "content": {}}
    cached = at("https://shop.example/a.png", response=untold, _fetchType="Disk Cache")
    _, text = send(client, samples.har(entry(response=untold), cached))
    assert "0 B" not in cards(text)
    assert Upload.objects.get().bytes is None
    assert "The file does not say when the page had loaded" in text
    Upload.objects.all().delete()
    send(client, samples.har(cached))
    assert Upload.objects.get().bytes == 0


def test_a_long_address_fills_no_screen_of_the_list(world: World, client: Client) -> None:
    url = f"https://shop.example/?consent={'c' * 3_000}"
    send(client, samples.har(at(url), pages=[]))
    (row,) = re.findall(r'<th scope="row".*?</th>', client.get(LIST).content.decode(), re.DOTALL)
    assert url[:150] in row
    assert url[:170] not in row


def test_many_that_could_not_be_read_are_counted_as_other_numbers_are() -> None:
    upload = Upload(skipped=10_000, remarks=["The file has 20,000 entries, of which 10,000 are read."])
    assert import_page.warnings(upload)[0] == "10,000 of the file's requests could not be read."


def test_what_could_not_be_read_is_told_on_the_page(world: World, client: Client) -> None:
    _, text = send(client, samples.har(samples.entry(), samples.entry("never")))
    assert "1 of the file&#x27;s requests could not be read." in text
    assert "entry 2: startedDateTime is not a date and time" in text


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"<html>", "The file is not JSON"), (b"", "The file is empty"), (b"{}", "neither an HTTP Archive")],
)
def test_a_file_that_is_none_is_told_at_its_field(world: World, client: Client, content: bytes, said: str) -> None:
    status, text = send(client, content)
    assert (status, said in text) == (422, True)
    assert not Upload.objects.exists()


def test_a_file_that_is_too_large_is_not_kept(world: World, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploading, "MAX_FILE_BYTES", 100_000)
    status, text = send(client, b" " * 200_000)
    assert (status, "Pack a larger one with gzip" in text) == (422, True)
    with pytest.raises(RequestDataTooBig):
        uploading.BoundedFileHandler().handle_raw_input(None, {}, 10**10, b"")


def test_several_pages_lead_to_the_list(world: World, client: Client) -> None:
    pages = [samples.page("a"), samples.page("b", started="2026-11-21T12:01:00Z")]
    second = samples.at("https://shop.example/2", started="2026-11-21T12:01:00Z", pageref="b")
    _, text = send(client, samples.har(samples.entry(pageref="a"), second, pages=pages))
    assert "2 page loads are imported." in text
    assert text.count("shop.har") == 2


def test_the_list_of_a_site_is_short_and_goes_on(world: World, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backend.web.views.imports.SHOWN", 1)
    send(client, samples.devtools(), site=str(world.site.public_id))
    send(client, samples.firefox(), site=str(world.site.public_id))
    send(client, samples.playwright())
    text = text_of(client, f"{LIST}?site={world.site.public_id}")
    assert ("Firefox" in text, "WebInspector" in text, "Playwright" in text) == (True, False, False)
    older = text.partition('href="?site=')[2].partition('"')[0].replace("&amp;", "&")
    assert "WebInspector" in text_of(client, f"{LIST}?site={older}")
    for nonsense in ("site=x", "before=x", "before=2026-11-21T00:00:00Z,x"):
        assert "Playwright" in text_of(client, f"{LIST}?{nonsense}")


def test_an_empty_list_says_where_files_come_from(world: World, client: Client) -> None:
    assert "firstbyte import page.har" in text_of(client, LIST)
    assert reverse("web:imports") in text_of(client, "/sites/")


def test_nobody_sees_or_deletes_what_another_organisation_imported(world: World, client: Client) -> None:
    home = make_fleet("far").organisation
    file = UploadedFile(name="theirs.har", content=samples.written(samples.devtools()))
    (theirs,) = import_file(actor=None, organisation=home, file=file)
    assert "theirs.har" not in text_of(client, LIST)
    for path in ("", "requests/1"):
        assert client.get(f"{LIST}{theirs.public_id}/{path}").status_code == 404
    assert client.post(f"{LIST}{theirs.public_id}/delete/").status_code == 404
    status, _ = send(client, samples.devtools(), site=str(make_fleet("off").site.public_id))
    assert (status, Upload.objects.count()) == (422, 1)


def test_who_may_only_look_imports_and_deletes_nothing(world: World, client: Client) -> None:
    send(client, samples.devtools())
    made = Upload.objects.get()
    Membership.objects.filter(user=world.member.user).update(role=Role.VIEWER)
    assert "multipart/form-data" not in text_of(client, LIST)
    assert send(client, samples.devtools())[0] == 403
    assert client.post(reverse("web:import_delete", args=[made.public_id])).status_code == 403
    assert "uploaded" in text_of(client, reverse("web:import", args=[made.public_id]))


def test_an_import_can_be_deleted(world: World, client: Client) -> None:
    send(client, samples.devtools())
    made = Upload.objects.get()
    response = client.post(reverse("web:import_delete", args=[made.public_id]), follow=True)
    assert "The import is deleted." in response.content.decode()
    assert not Upload.objects.exists()
    assert AuditEntry.objects.filter(action="delete_import").exists()


def test_a_document_that_cannot_be_read_any_more_is_said_so(world: World, client: Client) -> None:
    send(client, samples.devtools())
    Upload.objects.update(document=b"damaged")
    made = Upload.objects.get()
    assert "cannot be read any more" in text_of(client, reverse("web:import", args=[made.public_id]))
    assert client.get(f"/api/v1/imports/{made.public_id}/har").status_code == 404


def test_the_most_that_is_kept_is_told_in_the_form(
    world: World, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "MAX_UPLOADS", 0)
    status, text = send(client, samples.devtools())
    assert (status, "Delete some first." in text) == (422, True)
