"""Pictures of days that are over go, a few at a time, whatever one of them does."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, default_storage
from pytest_django import Settings

from backend.runs.agents import picture_name
from backend.runs.retention import PICTURES_S, forget_pictures
from backend.runs.tests.factories import NOW
from workers.measurement.routes import PictureKind


@pytest.fixture(autouse=True)
def _a_week(settings: Settings) -> None:
    settings.RETENTION_DAYS = 7


def keep(kind: PictureKind = PictureKind.SCREENSHOT, *, days: int) -> str:
    return default_storage.save(picture_name(kind, uuid4(), NOW - timedelta(days=days)), ContentFile(b"x"))


def refuse(monkeypatch: pytest.MonkeyPatch, method: str, name: str) -> None:
    """The storage does not do this with what has this name."""
    done = getattr(FileSystemStorage, method)

    def do_or_refuse(storage: FileSystemStorage, asked: str) -> object:
        if asked == name:
            raise PermissionError(13, "Permission denied")
        return done(storage, asked)

    monkeypatch.setattr(FileSystemStorage, method, do_or_refuse)


def test_pictures_of_days_that_are_over_are_deleted_a_few_at_a_time() -> None:
    for kind in (PictureKind.SCREENSHOT, PictureKind.SCREENSHOT, PictureKind.FILM):
        keep(kind, days=9)
    kept = keep(days=1)
    assert [forget_pictures(NOW, limit=2) for _ in range(3)] == [2, 1, 0]
    assert default_storage.listdir("screenshots")[0] == [kept.split("/")[1]]
    assert default_storage.exists(kept)


def test_a_picture_that_cannot_be_deleted_holds_up_none_behind_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    stuck, later, film = keep(days=10), keep(days=9), keep(PictureKind.FILM, days=9)
    refuse(monkeypatch, "delete", stuck)
    assert [forget_pictures(NOW) for _ in range(2)] == [2, 0]
    assert [default_storage.exists(name) for name in (stuck, later, film)] == [True, False, False]
    assert f"such as {stuck}: [Errno 13] Permission denied" in caplog.text


def test_a_day_that_cannot_be_listed_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    stuck, later = keep(days=10), keep(days=9)
    refuse(monkeypatch, "listdir", stuck.rpartition("/")[0])
    assert forget_pictures(NOW) == 1
    assert not default_storage.exists(later)


def test_a_storage_that_is_slow_keeps_the_sweeper_for_a_short_time_only(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s, delete = [0.0], FileSystemStorage.delete

    def delete_slowly(storage: FileSystemStorage, name: str) -> None:
        now_s[0] += PICTURES_S * 0.6
        delete(storage, name)

    for _ in range(3):
        keep(days=9)
    monkeypatch.setattr(FileSystemStorage, "delete", delete_slowly)
    assert [forget_pictures(NOW, clock_s=lambda: now_s[0]) for _ in range(3)] == [2, 1, 0]
