"""Imports beside runs and beside each other, on the page that compares."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http import HTTPStatus

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from backend.cast import Member
from backend.runs.models import PendingRun, Upload
from backend.runs.tests.factories import NOW
from backend.runs.uploads import UploadedFile, import_file
from backend.web.tests import measurements
from backend.web.tests.world import World
from workers.measurement.messages import Measured, PageMeasurement
from workers.tests.measurement.imports import samples
from workers.tests.measurement.imports.samples import Document, at, entry, har

pytestmark = pytest.mark.django_db

PAGE = measurements.eventful_page(12)
NOT_TOLD = "\N{EN DASH}"


def brought(world: World, document: Document, name: str = "shop.har", *, of_site: bool = False) -> list[Upload]:
    """The page loads of a file, of the world's site or of none."""
    file = UploadedFile(name=name, content=samples.written(document))
    site = world.site if of_site else None
    return import_file(actor=world.member.user, organisation=world.member.organisation, file=file, site=site)


def ended(world: World, page: PageMeasurement = PAGE, minutes: int = 5, kind: str = "page") -> PendingRun:
    pending = world.pending(kind, scheduled_for=NOW - timedelta(minutes=minutes))
    world.end(pending, Measured(measurement=measurements.probe() if kind == "probe" else page))
    return pending


def two_loads() -> Document:
    """A page that was loaded twice within a second."""
    pages = [samples.page("p1"), samples.page("p2", started="2026-11-21T12:00:00.900Z")]
    return har(entry(pageref="p1"), entry("2026-11-21T12:00:00.900Z", pageref="p2"), pages=pages)


def query(first: Upload | PendingRun, second: Upload | PendingRun) -> str:
    ids = [one.public_id if isinstance(one, Upload) else one.run_id for one in (first, second)]
    return f"a={ids[0]}&b={ids[1]}"


def html(client: Client, asked: str, status: int = HTTPStatus.OK) -> str:
    response = client.get(f"{reverse('web:compare')}?{asked}")
    assert response.status_code == status
    return response.content.decode()


def numbers(text: str) -> dict[str, tuple[str, str, str]]:
    """What the table says, by name: of A, of B, the difference."""
    rows = re.findall(r'class="main-cell">([^<]+)</th>(.*?)</tr>', text)
    cells = {name: re.findall(r"<td[^>]*>(?:<span[^>]*>.</span> )?([^<]*)</td>", row) for name, row in rows}
    return {name: (found[0], found[1], found[2]) for name, found in cells.items()}


def choices(text: str, name: str = "b") -> list[tuple[str, str]]:
    """What can be chosen, each with its group."""
    select = text.partition(f'<select id="compare-{name}"')[2].partition("</select>")[0]
    found = []
    for group in select.split("<optgroup")[1:]:
        label = re.findall(r'label="([^"]+)"', group)[0]
        found += [(label, words) for words in re.findall(r"<option[^>]*>([^<]+)</option>", group)]
    return found


def test_the_page_of_an_import_leads_to_where_the_other_is_chosen(world: World, client: Client) -> None:
    (made,) = brought(world, samples.devtools(), of_site=True)
    ended(world, minutes=9)
    ended(world, minutes=5)
    ended(world, kind="probe")
    brought(world, samples.firefox(), "other.har")
    link = re.findall(r'href="(/compare/[^"]+)"', client.get(reverse("web:import", args=[made.public_id])).text)
    assert link == [f"/compare/?a={made.public_id}"]
    text = client.get(link[0]).text
    assert "Choose what to lay beside it." in text
    assert [group for group, _ in choices(text)] == ["Runs", "Runs", "Imports", "Imports"]
    assert [words.partition(" (")[0] for _, words in choices(text)][2:] == ["shop.har", "other.har"]
    assert f'<option value="{made.public_id}" selected>' in text


def test_a_run_is_laid_beside_an_import_with_words_for_where_each_is_from(world: World, client: Client) -> None:
    (made,) = brought(world, samples.browsertime(), of_site=True)
    run = ended(world)
    text = html(client, query(made, run))
    assert "B is 420 ms slower to the largest paint: 840 ms against 420 ms" in text
    assert "Of the requests: 12 only in B, 1 only in A." in text
    assert "Browsertime measured A, Firstbyte B: browser, machine and network may differ as well." in text
    assert "They are two pages: A is shop.example/, B www.shop.example/." in text
    assert 'class="wf-title">A: Shop out of shop.har (shop.example/) by Browsertime 1, 21 Nov 2026 12:00:00<' in text
    assert 'class="wf-title">B: Shop from Eu, ' in text
    assert "out of shop.har (shop.example/) by Browsertime 1</a>, B is <a" in text
    assert numbers(text)["Largest paint"] == ("420 ms", "840 ms", "+420 ms (+100 %)")
    assert text.count('class="wf-row') == 1 + 12
    back = html(client, query(run, made))
    assert "B is 420 ms faster to the largest paint: 420 ms against 840 ms" in back


def test_what_a_file_does_not_tell_is_told_of_neither(world: World, client: Client) -> None:
    """Chrome's archive has no paints; a title and a load event are all that Firefox's has."""
    (made,) = brought(world, samples.devtools())
    run = ended(world, replace(PAGE, vitals=replace(PAGE.vitals, load_us=900_000)))
    text = html(client, query(made, run))
    assert "B is 400 ms slower to the load event: 900 ms against 500 ms" in text
    assert numbers(text)["Largest paint"] == (NOT_TOLD, "840 ms", NOT_TOLD)
    (bare,) = brought(world, har(entry()))
    text = html(client, query(bare, run))
    assert "<h2>Both on one axis</h2>" in text
    assert numbers(text)["Load"] == (NOT_TOLD, "900 ms", NOT_TOLD)


def test_of_a_file_without_requests_nothing_is_missing_or_counted(world: World, client: Client) -> None:
    (made,) = brought(world, har(pages=[samples.page()]))
    text = html(client, query(ended(world), made))
    assert "B tells of no requests." in text
    assert "only in A" not in text
    for name in ("Requests", "Connections used", "Transferred"):
        assert numbers(text)[name][1:] == (NOT_TOLD, NOT_TOLD), name
    (other,) = brought(world, har(pages=[samples.page(pageTimings={"onLoad": 900})]))
    text = html(client, query(made, other))
    assert "A and B tell of no requests." in text
    assert "B is 400 ms slower to the load event: 900 ms against 500 ms" in text
    assert "Neither has rows to draw." in text


def test_connections_that_a_file_does_not_name_are_not_counted(world: World, client: Client) -> None:
    (made,) = brought(world, samples.firefox())
    assert numbers(html(client, query(made, ended(world))))["Connections used"] == (NOT_TOLD, "4", NOT_TOLD)
    (named,) = brought(world, samples.devtools())
    assert numbers(html(client, query(named, ended(world, minutes=9))))["Connections used"][0] == "2"


def test_what_a_file_tells_of_some_requests_only_is_no_sum(world: World, client: Client) -> None:
    silent = {"status": 200, "headers": [], "content": {}}
    (made,) = brought(world, har(entry(), at("https://shop.example/a.js", response=silent), entry("never")))
    text = html(client, query(ended(world), made))
    assert numbers(text)["Transferred"] == ("847 kB", NOT_TOLD, NOT_TOLD)
    assert "1 of the requests in the file of B could not be read." in text


def test_sizes_and_types_that_tools_tell_otherwise_are_no_difference(world: World, client: Client) -> None:
    """One tool has a word for what a request was for; of the other there is the media type, and no size."""
    response = {"status": 200, "headers": [], "content": {"mimeType": "text/html"}}
    (told,) = brought(world, har(entry(), at("https://shop.example/part", _resourceType="fetch")))
    (untold,) = brought(world, har(entry(response=response), at("https://shop.example/part", response=response)))
    text = html(client, query(told, untold))
    assert "The requests are the same." in text
    assert "0 of 4" in html(client, f"{query(told, untold)}&only=differs")
    assert numbers(text)["Transferred"] == ("1.0 kB", NOT_TOLD, NOT_TOLD)


def test_the_loads_of_one_file_come_first_and_are_told_apart(world: World, client: Client) -> None:
    first, second = brought(world, two_loads(), "twice.har")
    brought(world, samples.firefox(), "newer.har")
    offered = [words for _, words in choices(html(client, f"a={first.public_id}"))]
    assert [words.rpartition(" ")[2] for words in offered[:2]] == ["12:00:00", "12:00:00"]
    Upload.objects.filter(pk=second.pk).update(started_at=datetime(2026, 11, 21, 12, 0, 7, tzinfo=UTC))
    offered = [words for _, words in choices(html(client, f"a={first.public_id}"))]
    assert offered[:2] == [
        "twice.har (shop.example/), 21 Nov 2026 12:00:00",
        "twice.har (shop.example/), 21 Nov 2026 12:00:07",
    ]
    assert offered[2].startswith("newer.har")
    text = html(client, query(first, second))
    assert "measured A" not in text, "one tool wrote both"
    assert "two pages" not in text
    assert "Hardly a difference: load event 500 ms and 500 ms" in text


def test_a_run_finds_imports_of_its_site_first_and_a_probe_none(world: World, client: Client) -> None:
    brought(world, samples.firefox(), "mine.har", of_site=True)
    brought(world, samples.firefox(), "newer.har")
    imports = [words for group, words in choices(html(client, f"a={ended(world).run_id}")) if group == "Imports"]
    assert [words.partition(" ")[0] for words in imports] == ["mine.har", "newer.har"]
    assert {group for group, _ in choices(html(client, f"a={ended(world, kind='probe').run_id}"))} == {"Runs"}


def test_lists_are_short_and_hold_what_was_chosen(
    world: World, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backend.web.views.compare.OFFERED", 2)
    (old,) = brought(world, samples.devtools(), "old.har")
    oldest = ended(world, minutes=60)
    for number in range(3):
        brought(world, samples.devtools(), f"new{number}.har")
        ended(world, minutes=10 + number)
    text = html(client, query(oldest, old))
    for name in ("a", "b"):
        assert [group for group, _ in choices(text, name)] == ["Runs"] * 3 + ["Imports"] * 2
    assert f'<option value="{oldest.run_id}" selected>' in text
    assert f'<option value="{old.public_id}" selected>' in text


def test_an_import_with_nothing_beside_it_says_so(world: World, client: Client) -> None:
    (made,) = brought(world, samples.devtools())
    assert "There is nothing to lay beside it yet." in html(client, f"a={made.public_id}")


def test_repeat_views_are_compared_where_both_have_one_and_never_with_a_first_view(
    world: World, client: Client
) -> None:
    (first,), (second,) = brought(world, samples.webpagetest(1000)), brought(world, samples.webpagetest(3000))
    text = html(client, f"{query(first, second)}&visit=repeat")
    assert numbers(text)["Load"] == ("500 ms", "1.50 s", "+1.00 s (+200 %)")
    assert "Repeat view" in text
    (single,) = brought(world, samples.webpagetest(3000, repeat=False))
    text = html(client, f"{query(first, single)}&visit=repeat")
    assert numbers(text)["Load"] == ("1.00 s", "3.00 s", "+2.00 s (+200 %)")
    assert "Repeat view" not in text
    assert text.count('class="wf-row') == 4
    warm = samples.webpagetest(1000)
    del warm["data"]["runs"]["1"]["firstView"]
    (repeat,) = brought(world, warm)
    assert "cannot be laid side by side" in html(client, query(first, repeat))


def test_rows_and_pictures_of_an_import_are_found_too(world: World, client: Client) -> None:
    (made,) = brought(world, har(entry(), at(PAGE.waterfall.requests[3].url, _resourceType="script")))
    asked = query(ended(world), made)
    details = client.get(f"{reverse('web:compare_details', args=['b2'])}?{asked}&unit=request")
    assert '<h3 class="wrap-any">2. basket</h3>' in details.text
    assert client.get(f"{reverse('web:compare_details', args=['b99'])}?{asked}").status_code == HTTPStatus.NOT_FOUND
    picture = client.get(f"{reverse('web:compare_waterfall')}?{asked}").text
    assert "B: shop.example out of shop.har (shop.example/) by Tool 1, 21 Nov 2026 12:00:00" in picture
    text = html(client, f"{asked}&request=b2")
    assert ('selected" id="b2"' in text, 'matched" id="a4"' in text) == (True, True)


def test_an_import_that_cannot_be_read_any_more_is_told_of(world: World, client: Client) -> None:
    (made,) = brought(world, samples.devtools())
    run = ended(world)
    Upload.objects.update(document=b"damaged")
    assert "cannot be laid side by side" in html(client, query(run, made))
    assert "Compare</a>" not in client.get(reverse("web:import", args=[made.public_id])).text
    picture = client.get(f"{reverse('web:compare_waterfall')}?{query(run, made)}")
    assert picture.status_code == HTTPStatus.NOT_FOUND


def test_a_page_and_a_probe_are_not_compared(world: World, client: Client) -> None:
    (made,) = brought(world, samples.devtools())
    assert "cannot be laid side by side" in html(client, query(made, ended(world, kind="probe")))


def test_nobody_reaches_what_another_organisation_imported(world: World, client: Client, charlie: Member) -> None:
    (ours,) = brought(world, samples.devtools(), of_site=True)
    run = ended(world)
    client.force_login(charlie.user)
    file = UploadedFile(name="theirs.har", content=samples.written(samples.devtools()))
    (theirs,) = import_file(actor=charlie.user, organisation=charlie.organisation, file=file)
    details = [reverse("web:compare_details", args=[row]) for row in ("a1", "b1")]
    for first, second in ((ours, theirs), (theirs, ours), (theirs, run), (run, theirs), (ours, run)):
        for path in (reverse("web:compare"), reverse("web:compare_waterfall")):
            assert client.get(f"{path}?{query(first, second)}").status_code == HTTPStatus.NOT_FOUND
        for path, one in zip(details, (first, second), strict=True):
            status = client.get(f"{path}?{query(first, second)}").status_code
            assert status == (HTTPStatus.OK if one is theirs else HTTPStatus.NOT_FOUND)
    text = html(client, f"a={theirs.public_id}")
    for part in ("shop.har", "Shop"):
        assert part not in text


def test_who_may_only_look_compares(world: World, client: Client, vera: Member) -> None:
    (made,) = brought(world, samples.devtools(), of_site=True)
    asked = query(made, ended(world))
    client.force_login(vera.user)
    assert "to the load event" in html(client, asked)
    assert "Compare</a>" in client.get(reverse("web:import", args=[made.public_id])).text


def test_more_runs_and_imports_cost_no_more_statements(
    world: World, client: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    (made,) = brought(world, samples.devtools(), of_site=True)
    asked = query(made, ended(world, minutes=60))
    statements = 20
    with django_assert_num_queries(statements):
        html(client, asked)
    for number in range(5):
        brought(world, two_loads(), f"new{number}.har", of_site=bool(number % 2))
        ended(world, minutes=61 + number)
    with django_assert_num_queries(statements):
        html(client, asked)
