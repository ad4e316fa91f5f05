"""Screenshots and films of runs: where they are shown, and as what they are served."""

from base64 import b64encode
from datetime import timedelta

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.test import Client
from django.urls import reverse

from backend.runs.agents import picture_name
from backend.runs.tests.factories import NOW
from backend.web.tests import measurements
from backend.web.tests.run_pages import ended, html
from backend.web.tests.world import World
from workers.measurement.failure import FailureKind, failure
from workers.measurement.messages import Failed, Measured
from workers.measurement.routes import PictureKind

pytestmark = pytest.mark.django_db

PAGE = Measured(measurement=measurements.page(30))


def test_a_screenshot_is_served_as_a_picture_and_nothing_else(world: World, client: Client) -> None:
    run = world.pending("page", has_screenshot=True)
    default_storage.save(
        picture_name(PictureKind.SCREENSHOT, run.run_id, run.scheduled_for), ContentFile(b"\xff\xd8\xff\xe0 picture")
    )
    world.end(run, PAGE)
    assert reverse("web:run_screenshot", args=[run.run_id]) in html(client, run)
    response = client.get(reverse("web:run_screenshot", args=[run.run_id]))
    assert b"".join(response) == b"\xff\xd8\xff\xe0 picture"
    assert response.headers["Content-Type"] == "image/jpeg"
    assert response.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_a_script_that_stopped_shows_the_step_its_sentence_and_where(world: World, client: Client) -> None:
    run = world.pending("page", has_screenshot=True)
    default_storage.save(
        picture_name(PictureKind.SCREENSHOT, run.run_id, run.scheduled_for), ContentFile(b"\xff\xd8\xff\xe0 picture")
    )
    reason = "step 3, click #go: no such element within 10 s"
    world.end(run, Failed(failure=failure(FailureKind.STEP_FAILED, reason)))
    text = html(client, run)
    assert reason in text
    assert "Where the script stopped" in text
    assert "What the visitor saw" not in text
    assert reverse("web:run_screenshot", args=[run.run_id]) in text
    assert b"".join(client.get(reverse("web:run_screenshot", args=[run.run_id]))) == b"\xff\xd8\xff\xe0 picture"


def test_markup_sent_as_a_screenshot_is_never_html(world: World, client: Client) -> None:
    run = world.pending("page", has_screenshot=True)
    default_storage.save(
        picture_name(PictureKind.SCREENSHOT, run.run_id, run.scheduled_for), ContentFile(b"<script>alert(1)</script>")
    )
    world.end(run, PAGE)
    response = client.get(reverse("web:run_screenshot", args=[run.run_id]))
    response.close()
    assert response.headers["Content-Type"] == "application/octet-stream"


def test_the_film_of_a_run_is_served_beside_its_screenshot(world: World, client: Client) -> None:
    run = world.pending("page", has_film=True)
    default_storage.save(
        picture_name(PictureKind.FILM, run.run_id, run.scheduled_for), ContentFile(b"\xff\xd8\xff film")
    )
    world.end(run, PAGE)
    response = client.get(reverse("web:run_film", args=[run.run_id]))
    assert (b"".join(response), response.headers["Content-Type"]) == (b"\xff\xd8\xff film", "image/jpeg")
    assert client.get(reverse("web:run_screenshot", args=[run.run_id])).status_code == 404


def test_a_saved_waterfall_holds_the_film_and_nothing_that_is_no_picture(world: World, client: Client) -> None:
    for minutes, film, is_there in ((1, b"\xff\xd8\xff film", True), (2, b"<script>alert(1)</script>", False)):
        run = world.pending("page", scheduled_for=NOW - timedelta(minutes=minutes), has_film=True)
        default_storage.save(picture_name(PictureKind.FILM, run.run_id, run.scheduled_for), ContentFile(film))
        world.end(run, Measured(measurement=measurements.eventful_page(10)))
        saved = client.get(reverse("web:run_waterfall", args=[run.run_id])).content.decode()
        assert (f"data:image/jpeg;base64,{b64encode(film).decode()}" in saved) is is_there
        assert ("<image" in saved) is is_there


@pytest.mark.parametrize("door", ["web:run_screenshot", "web:run_film"])
def test_a_run_without_pictures_has_none_to_serve(world: World, client: Client, door: str) -> None:
    run = ended(world, "page", PAGE)
    assert client.get(reverse(door, args=[run.run_id])).status_code == 404


def test_a_film_that_never_came_is_not_asked_for(world: World, client: Client) -> None:
    text = html(client, ended(world, "page", Measured(measurement=measurements.eventful_page(12))))
    assert "wf-film" not in text
