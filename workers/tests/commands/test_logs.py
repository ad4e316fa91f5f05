"""`firstbyte netlog` and `firstbyte cdp`: files in, documents and drawings out."""

import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator

from workers.tests.captures import logs
from workers.tests.commands.test_cli import firstbyte
from workers.tests.diagnosis.test_probe_document import closed
from workers.tests.measurement.recorded import saved_events

SCHEMAS = Path(__file__).parents[3] / "docs" / "schemas"


def document_of(*arguments: str) -> dict[str, Any]:
    """Held to the published schema, which has no room here for fields that it does not describe."""
    done = firstbyte(*arguments)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    found: dict[str, Any] = json.loads(done.stdout)
    schema = SCHEMAS / f"{found['schema'].replace('/', '-')}.json"
    Draft202012Validator(closed(json.loads(schema.read_text()))).validate(found)
    return found


def test_a_network_log_gives_the_instants_of_every_phase() -> None:
    document = document_of("netlog", "--json", str(logs.path_of("h3")))
    assert (document["schema"], document["warnings"], document["truncated"]) == ("firstbyte.netlog/1", [], False)
    first = document["requests"][0]
    assert {name: first[name] for name in ("id", "hop", "url", "method", "status", "protocol", "connection")} == {
        "id": 13,
        "hop": 0,
        "url": "https://shop.test/",
        "method": "GET",
        "status": 200,
        "protocol": "h3",
        "connection": 1,
    }
    assert (first["connect_start_ms"], first["connect_end_ms"], first["error"]) == (None, None, None)
    instants = [first[f"{name}_ms"] for name in ("dns_start", "dns_end", "tls_start", "tls_end", "send", "ttfb", "end")]
    assert instants == sorted(instants)
    assert 30 <= first["dns_end_ms"] - first["dns_start_ms"] <= 60
    again = document["requests"][1]
    assert (again["reused"], again["dns_start_ms"], again["tls_start_ms"]) == (True, None, None)
    connection = document["connections"][0]
    assert (connection["number"], connection["host"], connection["address"], connection["protocol"]) == (
        1,
        "shop.test",
        "192.0.2.10",
        "h3",
    )
    assert connection["phases"]["connect_ms"] is None
    assert connection["tls_start_ms"] == first["tls_start_ms"]
    assert document["zero"]["at"].startswith("2026-")


def test_a_log_comes_packed_or_not_or_by_standard_input(tmp_path: Path) -> None:
    plain = tmp_path / "log.json"
    plain.write_bytes(logs.text_of("h3"))
    packed = document_of("netlog", "--json", str(logs.path_of("h3")))
    assert document_of("netlog", "--json", str(plain)) == packed
    with plain.open("rb") as file:
        done = firstbyte("netlog", "--json", "-", stdin=file)
    assert json.loads(done.stdout) == packed


def test_a_log_is_drawn_on_one_screen_and_whole_into_a_pipe() -> None:
    drawn = firstbyte("netlog", str(logs.path_of("many"))).stdout.splitlines()
    assert re.match(r"  1 shop\.test/ +200 ", drawn[0])
    assert len([line for line in drawn if re.match(r" +\d+ ", line)]) == 49
    assert "░ dns" in drawn[-1]
    on_screen = firstbyte("netlog", str(logs.path_of("many")), env=os.environ | {"LINES": "24"}).stdout.splitlines()
    assert len(on_screen) < 24
    assert on_screen[:10] == drawn[:10]
    assert on_screen[-3].endswith(" more requests: --all shows all")


def test_what_there_is_to_beware_of_is_told_beside_the_drawing(tmp_path: Path) -> None:
    cut = tmp_path / "cut.json.gz"
    cut.write_bytes(gzip.compress(logs.text_of("many"))[:20_000])
    done = firstbyte("netlog", str(cut))
    assert done.returncode == 0
    assert "breaks off before its end" in done.stderr
    assert "breaks off before its end" in document_of("netlog", "--json", str(cut))["warnings"][-1]


def test_no_more_requests_are_told_than_asked_for() -> None:
    document = document_of("netlog", "--json", "--limit", "2", str(logs.path_of("many")))
    assert (len(document["requests"]), document["truncated"]) == (2, True)
    assert document["warnings"] == ["47 more requests are in the file: --limit says how many are told."]


@pytest.mark.parametrize("command", ["netlog", "cdp"])
def test_every_request_of_a_page_of_ten_thousand_is_told(command: str, tmp_path: Path) -> None:
    path, count = tmp_path / "log.json", 10_100
    urls = [f"https://a.test/{number}.png" for number in range(count)]
    path.write_text("\n".join(network_log(urls) if command == "netlog" else devtools_events(urls)))
    document = document_of(command, "--json", str(path))
    assert [row["url"] for row in document["requests"]] == urls
    assert (document["truncated"], len({row["id"] for row in document["requests"]})) == (False, count)


def network_log(urls: list[str]) -> Iterator[str]:
    """The beginning of a request for each."""
    head = logs.text_of("many").split(b"\n", 1)[0].decode()
    types = json.loads(head.rstrip(",") + "}")["constants"]["logEventTypes"]
    yield f'{head}\n"events": ['
    for number, url in enumerate(urls):
        event = {"phase": 1, "source": {"id": number, "type": 1}, "time": str(number), "params": {"url": url}}
        yield json.dumps({**event, "type": types["URL_REQUEST_START_JOB"]}) + ","
    yield "]}"


def devtools_events(urls: list[str]) -> Iterator[str]:
    for number, url in enumerate(urls):
        told = {"requestId": str(number), "timestamp": 10 + number / 1000, "request": {"url": url, "method": "GET"}}
        yield json.dumps({"method": "Network.requestWillBeSent", "params": told})


def test_a_large_file_takes_little_memory(tmp_path: Path) -> None:
    """Two hundred times the same events: what is not looked at costs nothing."""
    lines = logs.text_of("many").split(b"\n")
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.write(b"\n".join(lines[:2]) + b"\n")
        noise = [line for line in lines[2:] if line.endswith(b"},") and b'"url"' not in line]
        for _ in range(200):
            file.write(b"\n".join(noise) + b"\n")
        file.write(b"\n".join(lines[2:]))
    # What getrusage tells has grown with the process that started this one.
    code = (
        "import re, sys; from workers.cli import main;"
        "assert main(['netlog', '--json', sys.argv[1]]) == 0;"
        "sys.stderr.write(re.search(r'VmHWM:\\s+(\\d+) kB', open('/proc/self/status').read())[1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True, timeout=120
    )
    assert path.stat().st_size > 30_000_000
    assert int(done.stderr) < 100_000
    assert len(json.loads(done.stdout)["requests"]) == 49


def test_devtools_events_give_the_same_as_far_as_they_know(tmp_path: Path) -> None:
    path = tmp_path / "events.json"
    path.write_text(json.dumps(saved_events()))
    document = document_of("cdp", "--json", str(path))
    assert (document["schema"], document["warnings"]) == ("firstbyte.cdp/1", [])
    assert [row["status"] for row in document["requests"]] == [301, 200, 200, 200, 200, 200, None, None]
    moved, first = document["requests"][:2]
    assert (moved["id"], moved["hop"], first["hop"]) == (first["id"], 0, 1)
    assert first["dns_end_ms"] - first["dns_start_ms"] >= 30
    assert first["connect_end_ms"] <= first["tls_start_ms"]
    assert set(document["unknown"]) >= {"preconnected", "attempts"}
    assert document["requests"][-1]["error"] == "ERR_CONNECTION_REFUSED"


def test_devtools_events_are_drawn_too(tmp_path: Path) -> None:
    path = tmp_path / "events.json"
    path.write_text(json.dumps(saved_events())[:-2000])
    done = firstbyte("cdp", str(path))
    assert done.returncode == 0
    assert re.match(r"  1 shop\.test/ +301 ", done.stdout)
    assert "breaks off before its end" in done.stderr


@pytest.mark.parametrize(
    ("command", "text", "said"),
    [
        ("netlog", '{"log": {}}', "firstbyte import reads it"),
        ("cdp", '{"constants": {}}', "firstbyte netlog reads it"),
        ("cdp", '{"a": {}}', "Network.requestWillBeSent"),
    ],
)
def test_a_file_of_another_kind_is_refused_with_what_to_do(command: str, text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    done = firstbyte(command, str(path))
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_that_is_not_there_is_named() -> None:
    done = firstbyte("netlog", "/nowhere/log.json")
    assert (done.returncode, "/nowhere/log.json cannot be read: there is no such file" in done.stderr) == (2, True)


@pytest.mark.parametrize("command", ["netlog", "cdp"])
def test_help_teaches_with_examples(command: str) -> None:
    done = firstbyte(command, "--help")
    assert "examples:" in done.stdout
    assert f"firstbyte {command} --json" in done.stdout
