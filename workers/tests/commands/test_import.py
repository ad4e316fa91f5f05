"""`firstbyte import` without a service: it draws what a file holds, or says what is wrong with it."""

import gzip
import io
import json
import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from workers.cli import main
from workers.commands import importing
from workers.measurement.imports.slim import slimmed
from workers.measurement.redaction import Redaction
from workers.tests.commands.published import must_fit
from workers.tests.measurement.imports import samples


@pytest.fixture(autouse=True)
def _no_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FIRSTBYTE_URL", raising=False)


def file_of(tmp_path: Path, document: samples.Document) -> str:
    path = tmp_path / "shop.har"
    path.write_bytes(samples.written(document))
    return str(path)


def test_a_file_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", file_of(tmp_path, samples.devtools())]) == 0
    drawn = capsys.readouterr()
    assert ("cdn.example/app.js" in drawn.out, "load 500 ms" in drawn.out, drawn.err) == (True, True, "")


def test_a_label_is_no_longer_than_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    title = samples.page(title="A very long title " * 16)
    assert main(["import", file_of(tmp_path, samples.har(samples.entry(), pages=[title]))]) == 0
    assert len(capsys.readouterr().out.splitlines()[0]) <= 100


def test_what_could_not_be_read_is_told_beside_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = samples.har(samples.entry(), samples.entry("never"))
    assert main(["import", file_of(tmp_path, document)]) == 0
    told = capsys.readouterr().err
    assert "1 of the file's requests could not be read:" in told
    assert "entry 2: startedDateTime is not a date and time" in told


def test_one_json_document_tells_every_page_load(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "--json", file_of(tmp_path, samples.webpagetest(900, 1000, 1100))]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["skipped"]) == ("firstbyte.import/1", 0)
    must_fit(found, whole=False)
    assert found["source"] == {"format": "WebPageTest JSON", "tool": "WebPageTest", "tool_version": "21.07"}
    (page,) = found["pages"]
    assert (page["schema"], page["label"], len(page["requests"])) == ("firstbyte.page/1", "run 2, first view", 2)
    assert len(page["samples"]) == 6


def test_what_costs_the_page_time_is_told_as_of_one_that_was_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    style = samples.at("https://shop.example/app.css")
    style["response"] |= {
        "headers": [{"name": "Cache-Control", "value": "max-age=31536000"}],
        "content": {"mimeType": "text/css", "size": 400_000},
        "bodySize": 400_000,
    }
    path = file_of(tmp_path, samples.har(samples.entry(), style))
    assert main(["import", "--json", path]) == 0
    (page,) = json.loads(capsys.readouterr().out)["pages"]
    assert [found["id"] for found in page["findings"]] == ["page.uncompressed"]
    assert main(["import", path]) == 0
    assert "app.css" in capsys.readouterr().out.partition("finding")[2]


def test_standard_input_is_a_file_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    packed = gzip.compress(samples.written(samples.firefox()))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(packed)))
    assert main(["import", "-"]) == 0
    assert "shop.example" in capsys.readouterr().out


@pytest.mark.parametrize(("content", "said"), [(b"<html>", "is not JSON"), (None, "cannot be read")])
def test_a_file_that_is_none_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, said: str
) -> None:
    path = tmp_path / "x.har"
    if content is not None:
        path.write_bytes(content)
    assert main(["import", str(path)]) == 2
    assert said in capsys.readouterr().err


@contextmanager
def as_ordinary_user() -> Iterator[None]:
    """Root may read everything: where it tests, it is nobody for a while."""
    user = os.geteuid()
    os.seteuid(user or pwd.getpwnam("nobody").pw_uid)
    try:
        yield
    finally:
        os.seteuid(user)


@pytest.mark.parametrize("command", ["import", "netlog", "cdp"])
def test_a_file_of_another_user_is_refused_with_who_may_not_and_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    path = tmp_path / "x.har"
    path.write_bytes(b"{}")
    # What the command imports may be for its owner alone, as a checkout of root's is.
    main([command, str(path)])
    path.chmod(0)
    with as_ordinary_user():
        assert main([command, str(path)]) == 2
        user = pwd.getpwuid(os.geteuid()).pw_name
    said = capsys.readouterr().err
    assert (f"the user {user}, who may not" in said, f"firstbyte {command} - < {path}" in said) == (True, True), said


def test_a_place_that_this_user_cannot_reach_is_refused_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "closed").mkdir()
    words = ["page", "--har", str(tmp_path / "closed" / "a.har"), "https://127.0.0.1:1/"]
    main(["page", "--har", str(tmp_path / "closed"), "https://127.0.0.1:1/"])
    (tmp_path / "closed").chmod(0)
    with as_ordinary_user():
        assert main(words) == 2
    assert "cannot be reached with the rights of this user; choose another place" in capsys.readouterr().err
    (tmp_path / "closed").chmod(0o700)


@pytest.mark.parametrize("command", ["import", "netlog", "cdp"])
def test_a_folder_is_called_one(tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert main([command, str(tmp_path)]) == 2
    assert "it is a folder; name a file in it" in capsys.readouterr().err


class Service:
    """Takes every file."""

    path = ""

    def post_file(self, path: str, packed: bytes) -> dict[str, Any]:
        self.path = path
        return {"imports": [], "skipped": 0, "remarks": []}


def test_a_file_whose_name_is_no_text_is_sent_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service()
    monkeypatch.setattr(importing, "api_of", lambda *_: service)
    named = Path(os.fsdecode(bytes(tmp_path) + b"/shop-\xff.har"))
    Path(file_of(tmp_path, samples.devtools())).rename(named)
    assert main(["import", str(named), "--url", "http://127.0.0.1:9", "--token", "fbt_1"]) == 0
    assert service.path == "imports?name=shop-%3F.har"


def test_neither_bodies_nor_cookies_are_sent() -> None:
    made = samples.entry(comment="kept")
    made["request"] |= {"postData": {"text": "s3cret"}, "cookies": [{"name": "a", "value": "s3cret"}]}
    made["request"]["headers"] = [{"name": "Cookie", "value": "s3cret"}, {"name": "Accept", "value": "*/*"}, 7]
    made["response"]["content"]["text"] = "s3cret \ud83d"
    document = samples.har(made)
    document["log"]["entries"].append(7)
    sent = slimmed(samples.written(document))
    assert b"s3cret" not in sent
    (entry, junk) = json.loads(sent)["log"]["entries"]
    assert (entry["comment"], entry["request"]["headers"][0]["name"], junk) == ("kept", "Accept", 7)
    assert slimmed(samples.written(samples.webpagetest(900))) == samples.written(samples.webpagetest(900))


def test_nor_is_what_other_tools_keep_of_them_under_names_of_their_own() -> None:
    """What WebSockets carried, the headers once more, whole messages: nothing that an import reads."""
    initiator = {"type": "parser", "url": "https://shop.example/"}
    made = samples.entry(_resourceType="script", _initiator=initiator, _webSocketMessages=[{"data": "s3cret"}])
    made |= {"_requestHeaders": {"Cookie": "s3cret"}, "_tls_version": "TLS 1.3", "_flags": ["preload"]}
    made["request"] |= {"_raw": ["s3cret"], "headers": [{"name": " COOKIE ", "value": "s3cret"}]}
    made["response"] |= {"_body": {"text": "s3cret"}, "_transferSize": 7}
    made["response"]["content"] |= {"_chunks": ["s3cret"], "_size": 3}
    sent = slimmed(samples.written(samples.har(made)))
    assert b"s3cret" not in sent
    (entry,) = json.loads(sent)["log"]["entries"]
    assert (entry["_initiator"], entry["_flags"]) == (initiator, ["preload"])
    assert (entry["_resourceType"], entry["_tls_version"]) == ("script", "TLS 1.3")
    assert entry["response"]["_transferSize"] == 7


def test_a_level_of_redaction_is_one_of_three() -> None:
    assert [str(level) for level in Redaction] == ["full", "standard", "strict"]
