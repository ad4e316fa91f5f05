"""The options of `firstbyte page`: what a person types is what a run is told."""

import argparse
import json
from pathlib import Path

import pytest

from workers.commands import UsageError
from workers.commands.page_arguments import add_page, page_headers, page_options
from workers.commands.page_files import must_be_writable
from workers.measurement.connection import Header
from workers.measurement.page_options import (
    DESKTOP,
    PHONE,
    PLAIN,
    Click,
    Cookie,
    Device,
    HostMapping,
    Login,
    PageOptions,
    PageState,
    Protocol,
    TypeText,
    Visit,
)
from workers.measurement.script_text import KEPT


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(exit_on_error=False)
    parser.add_argument("url")
    add_page(parser)
    return parser.parse_args([*words, "https://a.example/"])


def told(*words: str) -> PageOptions:
    return page_options(parsed(*words))


def test_without_options_the_page_is_loaded_plainly() -> None:
    assert told() == PLAIN
    assert told().device is DESKTOP


def test_all_options_reach_the_run() -> None:
    words = "--device phone --protocol h2 --runs 3 --locale de-CH --user-agent Tester --login me:a:b --cookie a=b=c"
    assert told(*words.split(), "--map", "A.example=127.0.0.1:8443", "--block", "ads.example") == PageOptions(
        device=PHONE,
        protocol=Protocol.H2,
        loads=3,
        locale="de-CH",
        user_agent="Tester",
        login=Login(user="me", password="a:b"),
        cookies=(Cookie(name="a", value="b=c"),),
        host_map=(HostMapping(host="a.example", address="127.0.0.1", port=8443),),
        black_holes=("ads.example",),
    )


@pytest.mark.parametrize(
    ("text", "address", "port"),
    [
        ("a.example=192.0.2.1", "192.0.2.1", None),
        ("a.example=192.0.2.1:444", "192.0.2.1", 444),
        ("a.example=2001:db8::1", "2001:db8::1", None),
        ("a.example=[2001:db8::1]", "2001:db8::1", None),
        ("a.example=[2001:db8::1]:444", "2001:db8::1", 444),
    ],
)
def test_a_mapping_takes_both_families_with_and_without_a_port(text: str, address: str, port: int | None) -> None:
    assert told("--map", text).host_map == (HostMapping(host="a.example", address=address, port=port),)


def test_a_repeat_view_needs_no_word_after_it() -> None:
    assert told("--repeat-view").repeat is PageState.WARM_CACHE
    assert told("--warm", "connection").repeat is PageState.WARM_CONNECTION


def test_a_screen_may_be_given_by_its_sides() -> None:
    assert told("--device", "800x600").device == Device(name="800x600", width=800, height=600)


@pytest.mark.parametrize(
    "words",
    [
        ("--map", "a.example"),
        ("--map", "a.example=b.example"),
        ("--device", "fridge"),
        ("--device", "9x9"),
        ("--protocol", "spdy"),
        ("--warm", "lukewarm"),
        ("--runs", "10"),
        ("--cookie", "alone"),
        ("--header", "alone"),
        ("--login", "alone"),
        ("--block", "not a host"),
    ],
)
def test_what_means_nothing_is_refused_before_anything_is_loaded(words: tuple[str, ...]) -> None:
    with pytest.raises(argparse.ArgumentError):
        told(*words)


def test_a_port_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="0 is no port"):
        told("--map", "a.example=192.0.2.1:0")


def test_a_script_is_read_as_lines_or_as_a_recording(tmp_path: Path) -> None:
    lines, recording = tmp_path / "login.txt", tmp_path / "login.json"
    lines.write_text("visit https://a.example/login\nsecret sesame into #password\n", encoding="utf-8-sig")
    recording.write_text(json.dumps({"steps": [{"type": "click", "selectors": [["#go"]]}]}))
    assert told("--script", str(lines)).steps == (
        Visit(url="https://a.example/login"),
        TypeText(selector="#password", text="sesame", secret=True),
    )
    assert told("--script", str(recording)).steps == (Click(selector="#go"),)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "cannot be read: No such file"),
        (b"\xff", "is not UTF-8"),
        (b"secret s3cret", "Line 1: Write secret TEXT into SELECTOR"),
        (b"{}", "no recording of Chrome DevTools"),
        (b"", "has no step. Write one a line: visit URL, click SELECTOR"),
        (b"\xef\xbb\xbf\n  \n// later\n", "has no step"),
        (f"secret {KEPT} into #a".encode(), "write the secret again"),
    ],
)
def test_a_script_that_is_none_is_refused_without_its_secrets(
    tmp_path: Path, content: bytes | None, sentence: str
) -> None:
    path = tmp_path / "script"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=sentence) as caught:
        told("--script", str(path))
    assert "s3cret" not in str(caught.value)


def test_headers_are_read_and_judged() -> None:
    headers = page_headers(parsed("--header", "X-Env: a: b", "--header", "Authorization:Bearer s3cret"))
    assert headers == (Header(name="X-Env", value="a: b"), Header(name="Authorization", value="Bearer s3cret"))
    for wrong in ("Host: x", "a b: s3cret", "X-A: s3cr\u00e9t"):
        with pytest.raises(UsageError) as caught:
            page_headers(parsed("--header", wrong))
        assert "s3cr" not in str(caught.value)


def writable(*words: str) -> None:
    must_be_writable(parsed(*words))


@pytest.mark.parametrize("option", ["--har", "--netlog", "--screenshot"])
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(option: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"{option}: there is no folder .*missing; make it first"):
        writable(option, str(tmp_path / "missing" / "file"))
    with pytest.raises(UsageError, match=f"{option}: {tmp_path} is a folder; name a file in it, such as"):
        writable(option, str(tmp_path))
    writable(option, str(tmp_path / "file"))
    assert not list(tmp_path.iterdir())


def test_a_film_needs_a_folder_or_a_place_for_one(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"--filmstrip: .*file is a file; name a folder"):
        writable("--filmstrip", str(tmp_path / "file" / "film"))
    writable("--filmstrip", str(tmp_path / "new" / "film"))
    assert not (tmp_path / "new").exists()


def test_rights_are_asked_for_before_anything_is_measured() -> None:
    with pytest.raises(UsageError, match=r"--har: /proc.* may not be written; choose another place"):
        writable("--har", "/proc/sys/page.har")
