"""Pictures in a bucket: the same doors, over a server that speaks S3."""

from collections.abc import Iterator
from datetime import timedelta
from http import HTTPStatus
from typing import Any
from uuid import uuid4

import pytest
from botocore.session import Session
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.test import Client
from django.urls import reverse
from moto.server import ThreadedMotoServer
from pytest_django import Settings

from backend.cast import Member
from backend.config import Config
from backend.fleet.actions import rotate_token
from backend.runs.agents import keep_picture, picture_name
from backend.runs.retention import forget_pictures
from backend.runs.tests.factories import NOW
from backend.web.tests import measurements
from backend.web.tests.world import World
from workers.measurement.messages import Measured
from workers.measurement.routes import PICTURE_PATH, PictureKind

pytestmark = pytest.mark.django_db

PAGE = Measured(measurement=measurements.page(5))
JPEG = b"\xff\xd8\xff\xe0 picture"
# As its provider gives them: with characters that mean something in a URL.
KEY, SECRET = "AKIAEXAMPLE", "a/b+c=d"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    running = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    yield f"{host}:{port}"
    running.stop()


@pytest.fixture
def bucket(server: str, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> "Bucket":
    name = f"pictures-{uuid4()}"
    url = f"s3+http://{KEY}:a%2Fb%2Bc%3Dd@{server}/{name}/firstbyte?region=eu-central-1"
    monkeypatch.setenv("FIRSTBYTE_MEDIA_URL", url)
    options = Config().object_storage
    assert options is not None
    assert (options["key"], options["secret"]) == (KEY, SECRET)
    settings.STORAGES = settings.STORAGES | {
        "default": {"BACKEND": "backend.object_storage.ObjectStorage", "OPTIONS": options}
    }
    made = Bucket(server, name)
    made.client.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    return made


class Bucket:
    def __init__(self, server: str, name: str) -> None:
        self.name = name
        self.client: Any = Session().create_client(
            "s3",
            region_name="eu-central-1",
            endpoint_url=f"http://{server}",
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
        )

    @property
    def keys(self) -> list[str]:
        return [one["Key"] for one in self.client.list_objects_v2(Bucket=self.name).get("Contents", ())]

    def granted(self, key: str) -> set[str]:
        """To whom an object is open, its owner aside."""
        acl = self.client.get_object_acl(Bucket=self.name, Key=key)
        return {grant["Grantee"].get("URI", "") for grant in acl["Grants"]} - {""}


def test_a_picture_goes_from_the_agent_into_the_bucket_and_to_who_may_see_its_run(
    world: World, client: Client, charlie: Member, bucket: Bucket
) -> None:
    run = world.pending("page")
    token = rotate_token(actor=None, region=run.region).token
    path = PICTURE_PATH.format(kind=PictureKind.SCREENSHOT, run_id=run.run_id)
    sent = Client(headers={"Authorization": f"Bearer {token}"}).put(path, JPEG, content_type="image/jpeg")
    assert sent.status_code == HTTPStatus.NO_CONTENT
    (key,) = bucket.keys
    assert key == f"firstbyte/{picture_name(PictureKind.SCREENSHOT, run.run_id, run.scheduled_for)}"
    assert bucket.granted(key) == set()

    world.end(run, PAGE)
    shown = client.get(reverse("web:run_screenshot", args=[run.run_id]))
    assert (b"".join(shown), shown.headers["Content-Type"]) == (JPEG, "image/jpeg")
    client.force_login(charlie.user)
    assert client.get(reverse("web:run_screenshot", args=[run.run_id])).status_code == HTTPStatus.NOT_FOUND
    client.logout()
    assert client.get(reverse("web:run_screenshot", args=[run.run_id])).status_code == HTTPStatus.FOUND


def test_a_picture_that_is_sent_again_replaces_the_first(world: World, client: Client, bucket: Bucket) -> None:
    run = world.pending("page")
    for picture in (JPEG, JPEG + b" again"):
        assert keep_picture(run.region, run.run_id, PictureKind.SCREENSHOT, picture)
    assert len(bucket.keys) == 1
    world.end(run, PAGE)
    assert b"".join(client.get(reverse("web:run_screenshot", args=[run.run_id]))) == JPEG + b" again"


def test_a_picture_that_is_gone_is_not_found(world: World, client: Client, bucket: Bucket) -> None:
    run = world.pending("page", has_screenshot=True)
    world.end(run, PAGE)
    assert client.get(reverse("web:run_screenshot", args=[run.run_id])).status_code == HTTPStatus.NOT_FOUND


@pytest.mark.usefixtures("bucket")
def test_whether_a_picture_is_there_is_said_of_its_whole_name() -> None:
    name = picture_name(PictureKind.FILM, uuid4(), NOW)
    assert not default_storage.exists(name)
    default_storage.save(f"{name}-more", ContentFile(JPEG))
    assert not default_storage.exists(name)
    default_storage.save(name, ContentFile(JPEG))
    assert default_storage.exists(name)


def test_an_agent_keeps_what_a_bucket_that_is_away_did_not_take(world: World, bucket: Bucket) -> None:
    run = world.pending("page")
    token = rotate_token(actor=None, region=run.region).token
    bucket.client.delete_bucket(Bucket=bucket.name)
    path = PICTURE_PATH.format(kind=PictureKind.SCREENSHOT, run_id=run.run_id)
    caller = Client(raise_request_exception=False, headers={"Authorization": f"Bearer {token}"})
    sent = caller.put(path, JPEG, content_type="image/jpeg")
    assert sent.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR
    run.refresh_from_db()
    assert not run.has_screenshot


def test_pictures_of_days_that_are_over_are_deleted_a_few_at_a_time(
    settings: Settings, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backend.object_storage.LISTED", 2)
    settings.RETENTION_DAYS = 7
    old, older, new = (NOW - timedelta(days=days) for days in (9, 10, 1))
    for kind, day in [(PictureKind.SCREENSHOT, old)] * 3 + [(PictureKind.FILM, old), (PictureKind.FILM, older)]:
        default_storage.save(picture_name(kind, uuid4(), day), ContentFile(b"x"))
    kept = picture_name(PictureKind.SCREENSHOT, uuid4(), new)
    default_storage.save(kept, ContentFile(b"x"))
    bucket.client.put_object(Bucket=bucket.name, Key=f"screenshots/{old:%Y%m%d}/of-somebody-else", Body=b"x")
    assert [forget_pictures(NOW) for _ in range(3)] == [4, 1, 0]
    assert bucket.keys == [f"firstbyte/{kept}", f"screenshots/{old:%Y%m%d}/of-somebody-else"]


def test_without_credentials_in_its_address_those_of_the_machine_are_used(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIRSTBYTE_MEDIA_URL", f"s3+http://{server}/pictures")
    assert Config().object_storage == {
        "endpoint": f"http://{server}",
        "bucket": "pictures",
        "prefix": "",
        "region": "us-east-1",
        "key": "",
        "secret": "",
    }
