"""`firstbyte import` and the service together."""

import json
from pathlib import Path

import pytest
from pytest_django.live_server_helper import LiveServer

from backend.accounts.permissions import Scope
from backend.api.tests.v1.calling import make_token
from backend.cast import Member
from backend.runs.models import Upload
from backend.runs.tests.factories import make_fleet
from workers.cli import main
from workers.tests.measurement.imports import samples

pytestmark = pytest.mark.django_db(transaction=True)


def bring(server: LiveServer, file: Path, *arguments: str, token: str) -> int:
    return main(["import", str(file), "--url", server.url, "--token", token, *arguments])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shop.har"
    path.write_bytes(samples.written(samples.devtools()))
    return path


def test_the_command_tells_where_the_page_load_is(
    alice: Member, server: LiveServer, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    token = make_token(alice, Scope.WRITE)
    assert bring(server, file, token=token) == 0
    made = Upload.objects.get()
    assert capsys.readouterr().out == f"{server.url}/imports/{made.public_id}/  {samples.HTML}\n"
    assert (made.file_name, made.requests, made.organisation) == ("shop.har", 4, alice.organisation)
    assert bring(server, file, "--json", token=token) == 0
    assert json.loads(capsys.readouterr().out)["imports"][0]["requests"] == 4


def test_what_the_service_refuses_is_said_in_its_words(
    alice: Member, server: LiveServer, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_fleet()
    assert bring(server, file, "--site", "Shop", token=make_token(alice, Scope.WRITE)) == 2
    assert "no site with this id" in capsys.readouterr().err
    assert bring(server, file, token=make_token(alice, Scope.READ)) == 2
    assert "scope `write`" in capsys.readouterr().err
    assert not Upload.objects.exists()


def test_here_means_here(
    server: LiveServer, file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert bring(server, file, "--local", token="unused") == 0
    assert "cdn.example/app.js" in capsys.readouterr().out
    assert not Upload.objects.exists()
