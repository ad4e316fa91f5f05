"""Runs for guests: what a link shows, what it leaves out, and who makes one."""

from dataclasses import replace

import pytest
from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from backend.cast import Member
from backend.runs.agents import picture_name
from backend.runs.models import PendingRun, RunDocument, SharedRun
from backend.web.tests import measurements
from backend.web.tests.run_pages import ended, html
from backend.web.tests.world import World
from workers.measurement.connection import Header
from workers.measurement.failure import FailureKind, failure
from workers.measurement.messages import Failed, Measured, Measurement, Outcome, PageMeasurement
from workers.measurement.redaction import REDACTED
from workers.measurement.routes import PictureKind

pytestmark = pytest.mark.django_db

SECRET = "s3cret-of-a-visitor"


def shared_link(client: Client, run: PendingRun) -> str:
    """Shares a run as its member does; the path that its page then shows."""
    response = client.post(reverse("web:run_share", args=[run.run_id]), follow=True)
    text = response.content.decode()
    found = text.partition(f'readonly spellcheck="false" value="{settings.BASE_URL}')[2].partition('"')[0]
    assert found.startswith("/shared/")
    return found


def with_secrets() -> PageMeasurement:
    page = measurements.page(30)
    document, *others = page.waterfall.requests
    document = replace(
        document,
        url=f"https://shop.example/?session={SECRET}",
        response_headers=(Header(name="X-Auth-Token", value=SECRET), Header(name="Location", value=f"/?k={SECRET}")),
    )
    rows = (document, *(replace(one, url=f"{one.url}?k={SECRET}", initiator_url=document.url) for one in others))
    return replace(page, title=f"See {document.url}", waterfall=replace(page.waterfall, requests=rows))


@pytest.mark.parametrize(("kind", "seen"), [("page", measurements.page(30)), ("probe", measurements.probe())])
def test_a_guest_sees_the_run_and_nothing_else_of_the_organisation(
    world: World, client: Client, kind: str, seen: Measurement
) -> None:
    run = ended(world, kind, Measured(measurement=seen))
    link = shared_link(client, run)
    assert "Stop sharing" in html(client, run)
    response = Client().get(link)
    text = response.content.decode()
    assert response.status_code == 200
    assert response.headers["X-Robots-Tag"] == "noindex"
    for part in ("A run that was shared with you", world.site.name, world.region.name, "wf-row", "UTC ·"):
        assert part in text, part
    for part in (
        "/sites/",
        "/runs/",
        "/api/v1/",
        "agent ",
        "Stop sharing",
        "Test again",
        world.member.user.email,
        "csrf",
    ):
        assert part not in text.partition("<main")[2].partition("</main>")[0], part


def test_a_guest_sees_what_an_export_shows(world: World, client: Client) -> None:
    run = ended(world, "page", Measured(measurement=with_secrets()))
    link = shared_link(client, run)
    assert SECRET in html(client, run)
    guest = Client()
    for part in ("", "?request=1", "requests/1?unit=request", "waterfall.svg", "har"):
        address = f"{link}{part}"
        response = guest.get(address)
        text = response.content.decode()
        assert response.status_code == 200
        assert SECRET not in text, address
    assert REDACTED in guest.get(f"{link}requests/1?unit=request").content.decode()


def test_a_failure_is_told_without_the_values_in_its_address(world: World, client: Client) -> None:
    why = failure(FailureKind.STATUS_UNEXPECTED, f"https://shop.example/?k={SECRET} answered 500")
    run = ended(world, "page", Failed(failure=why))
    assert SECRET in html(client, run)
    text = Client().get(shared_link(client, run)).content.decode()
    assert SECRET not in text
    assert f"https://shop.example/?k={REDACTED} answered 500" in text


def test_a_guest_sees_the_pictures_and_nothing_that_is_none(world: World, client: Client) -> None:
    run = world.pending("page", has_screenshot=True, has_film=True)
    for kind in PictureKind:
        default_storage.save(picture_name(kind, run.run_id, run.scheduled_for), ContentFile(b"\xff\xd8\xff\xe0 jpeg"))
    world.end(run, Measured(measurement=measurements.page(3)))
    link, guest = shared_link(client, run), Client()
    assert f"{link}screenshot" in guest.get(link).content.decode()
    for kind in PictureKind:
        response = guest.get(f"{link}{kind.name.lower()}")
        assert (b"".join(response), response.headers["Content-Type"]) == (b"\xff\xd8\xff\xe0 jpeg", "image/jpeg")


def test_no_archive_is_made_of_what_is_no_longer_kept(world: World, client: Client) -> None:
    run = ended(world, "page", Measured(measurement=measurements.page(3)))
    link = shared_link(client, run)
    assert Client().get(f"{link}har").status_code == 200
    RunDocument.objects.all().delete()
    assert [Client().get(f"{link}{part}").status_code for part in ("", "har")] == [200, 404]


def test_no_link_leads_anywhere_once_it_was_taken_back_or_has_expired(world: World, client: Client) -> None:
    run = ended(world, "page", Measured(measurement=measurements.page(3)))
    guest = Client()
    for end in (
        lambda: client.post(reverse("web:run_unshare", args=[run.run_id])),
        lambda: SharedRun.objects.update(expires_at=timezone.now()),
    ):
        link = shared_link(client, run)
        parts = ("", "requests/1", "waterfall.svg", "har", "screenshot", "film")
        assert guest.get(link).status_code == 200
        end()
        assert [guest.get(f"{link}{part}").status_code for part in parts] == [404] * len(parts)
        assert "shared for 30 days" in guest.get(link).content.decode()
        assert "Stop sharing" not in html(client, run)


def test_who_may_only_read_shares_nothing_and_is_offered_nothing(world: World, vera: Member, client: Client) -> None:
    run = ended(world, "page", Measured(measurement=measurements.page(3)))
    link = shared_link(client, run)
    viewer = Client()
    viewer.force_login(vera.user)
    for name in ("run_share", "run_unshare"):
        assert viewer.post(reverse(f"web:{name}", args=[run.run_id])).status_code == 403
        assert reverse(f"web:{name}", args=[run.run_id]) not in html(viewer, run)
    assert Client().get(link).status_code == 200


def test_the_page_of_a_guest_takes_a_fixed_number_of_statements(
    world: World, client: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    outcomes: tuple[Outcome, ...] = tuple(Measured(measurement=measurements.page(count)) for count in (3, 60))
    for outcome in outcomes:
        link = shared_link(client, ended(world, "page", outcome))
        with django_assert_num_queries(8):
            Client().get(link)
