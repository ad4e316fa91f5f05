"""The `firstbyte` command as people and scripts use it: a process, real servers on loopback."""

import fcntl
import json
import os
import pty
import re
import signal
import socket
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from workers.commands.parser import parse
from workers.tests.captures import logs
from workers.tests.ports import closed_port
from workers.tests.site import running_site
from workers.version import VERSION, build

# Nothing here is about how long a process takes to start on a busy machine.
PATIENCE_S = 240


@pytest.fixture
def site() -> Iterator[str]:
    with running_site() as url:
        yield url


def firstbyte(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "workers.cli", *arguments]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FIRSTBYTE_")}
    settings: dict[str, Any] = {"env": environment, "timeout": PATIENCE_S} | options
    return subprocess.run(command, capture_output=True, text=True, check=False, **settings)


def test_a_probe_is_drawn_and_progress_stays_out_of_the_way(site: str) -> None:
    done = firstbyte("probe", f"{site}/")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0] == f"{site}/"
    assert lines[1].startswith("  200  http/1.0  127.0.0.1:")
    assert any(line.startswith("  Wait") and "█" in line for line in lines)
    assert any(line.startswith("first byte") for line in lines)
    assert "\x1b" not in done.stdout
    assert "connecting" in done.stderr


def test_json_is_one_document_and_nothing_else(site: str) -> None:
    done = firstbyte("probe", "--json", f"{site}/moved")
    document = json.loads(done.stdout)
    assert (done.returncode, document["schema"], document["error"]) == (0, "firstbyte.probe/1", None)
    assert [hop["status"] for hop in document["hops"]] == [302, 200]
    assert document["address"] == "127.0.0.1"
    assert document["phases"]["ttfb_ms"] > 0
    assert document["phases"]["tls_ms"] is None
    assert done.stdout.count("\n") == 1


def test_a_host_can_be_given_an_address_as_with_curl(site: str) -> None:
    port = urlsplit(site).port
    url = f"http://shop.example:{port}/"
    done = firstbyte("probe", "--json", "--light", "--resolve", f"shop.example:{port}:127.0.0.1", url)
    document = json.loads(done.stdout)
    assert (done.returncode, document["address"]) == (0, "127.0.0.1")
    assert document["phases"]["dns_ms"] is None


def test_a_host_is_given_an_address_in_any_spelling_of_its_name(site: str) -> None:
    port = urlsplit(site).port
    url = f"http://bücher.example:{port}/"
    done = firstbyte("probe", "--json", "--light", "--resolve", f"BÜCHER.example:{port}:127.0.0.1", url)
    assert (done.returncode, json.loads(done.stdout)["address"]) == (0, "127.0.0.1")


def test_what_goes_into_a_pipe_is_as_wide_and_long_as_the_environment_says(site: str) -> None:
    usual = {"PATH": os.environ["PATH"], "PYTHONIOENCODING": "utf-8"}
    lines = firstbyte("probe", "--light", f"{site}/", env=usual | {"COLUMNS": "60", "LINES": "20"}).stdout.splitlines()
    assert (max(map(len, lines)) <= 60, len(lines) <= 20) == (True, True), lines
    lines = firstbyte("probe", "--light", f"{site}/", env=usual).stdout.splitlines()
    assert 60 < max(map(len, lines)) <= 100


def test_a_family_that_the_host_lacks_is_told(site: str) -> None:
    done = firstbyte("probe", "--json", "--ipv6", f"{site}/")
    assert done.returncode == 4
    assert json.loads(done.stdout)["error"]["stage"] in ("dns", "connect")


def test_of_several_samples_each_is_told(site: str) -> None:
    document = json.loads(firstbyte("probe", "--json", "--light", "--samples", "3", f"{site}/").stdout)
    times = [sample["phases"]["ttfb_ms"] for sample in document["samples"]]
    assert len(times) == 3
    assert document["phases"]["ttfb_ms"] == sorted(times)[1]


def test_the_flights_of_a_connection_are_drawn_when_asked_for(site: str) -> None:
    done = firstbyte("probe", "--light", "--flights", f"{site}/")
    assert any("◀ SYN, ACK" in line for line in done.stdout.splitlines())


def test_what_cannot_be_measured_ends_with_4_and_says_why() -> None:
    url = f"http://127.0.0.1:{closed_port()}/"
    done = firstbyte("probe", "--json", url)
    assert done.returncode == 4
    assert json.loads(done.stdout)["error"]["kind"] == "connect_refused"
    told = " ".join(firstbyte("probe", url).stdout.split())
    assert "Failed (connect): The server refused the connection" in told
    assert "→ Look whether the web server runs and listens on this address and port" in told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "required"),
        (["measure"], "invalid choice"),
        (["probe"], "required"),
        (["probe", "ftp://example.org/"], "must begin with http:// or https://"),
        (["probe", "example.org"], "example.org lacks https:// or http://: write https://example.org/"),
        (["probe", "localhost:3000/a"], "write https://localhost:3000/a"),
        (["probe", "https://2001:db8::1/a"], "An IPv6 address stands in brackets: https://[2001:db8::1]/a"),
        (["probe", "::1"], "https://[::1]"),
        (["probe", "--cacert", "/there/is/none", "https://a.example/"], "/there/is/none cannot be read: No such file"),
        (["probe", "--cacert", "/tmp", "https://a.example/"], "/tmp cannot be read: Is a directory"),
        (["probe", "--sample", "3", "https://a.example/"], "firstbyte probe: unrecognized arguments: --sample"),
        (["probe", "https://a.example/", "b"], "firstbyte probe --help tells all that it takes."),
        (["probe", "https://user:pw@example.org/"], "must not hold a user name or password"),
        (["probe", "--timeout", "0", "https://example.org/"], "from 0.1 to 120 seconds"),
        (["probe", "--timeout", "nan", "https://example.org/"], "from 0.1 to 120 seconds"),
        (["probe", "--allow-private", "10.0.0.1/8", "https://example.org/"], "--allow-private"),
        (["probe", "--cacert", "/dev/null", "https://example.org/"], "holds no certificate"),
        (["probe", "--timeout", "soon", "https://example.org/"], "a number from 0.1 to 120 seconds, not 'soon'"),
        (["probe", "--samples", "0", "https://example.org/"], "from 1 to 50"),
        (["probe", "--samples", "x", "https://example.org/"], "a whole number from 1 to 50, not 'x'"),
        (["probe", "--profile", "5g", "https://example.org/"], "is no profile"),
        (["probe", "--resolve", "example.org:443", "https://example.org/"], "is not HOST:PORT:ADDRESS"),
        (["probe", "--resolve", "*:443:192.0.2.1", "https://example.org/"], "'*' is no host name"),
        (["probe", "--ipv6", "--resolve", "a.test:443:192.0.2.1", "https://a.test/"], "is no address of IPv6"),
        (["probe", "--ipv4", "--ipv6", "https://example.org/"], "not allowed with"),
        (["probe", "--deep", "--light", "https://example.org/"], "not allowed with"),
        (["agent"], "FIRSTBYTE_REGION: is missing"),
    ],
)
def test_wrong_usage_ends_with_2_and_says_what_is_wrong(arguments: list[str], said: str) -> None:
    done = firstbyte(*arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""
    assert "usage:" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [["--profile", "-/-/300/0"], ["--profile=-/-/300/0"]])
def test_a_profile_may_begin_with_what_is_not_shaped(words: list[str]) -> None:
    asked = parse(["probe", *words, "https://example.org/"])
    assert (asked.profile.down_kbit_s, asked.profile.up_kbit_s, asked.profile.rtt_us) == (None, None, 300_000)
    assert asked.url == "https://example.org/"


def test_naming_private_ranges_refuses_the_others(site: str) -> None:
    refused = firstbyte("probe", "--json", "--allow-private", "10.0.0.0/8", f"{site}/")
    assert (refused.returncode, json.loads(refused.stdout)["error"]["kind"]) == (4, "blocked_destination")
    allowed = firstbyte("probe", "--json", "--allow-private", "127.0.0.0/8", f"{site}/")
    assert allowed.returncode == 0


def test_help_teaches_with_examples() -> None:
    done = firstbyte("--help")
    assert done.returncode == 0
    for word in ("firstbyte probe https://", "firstbyte doctor", "exit codes:", "could not measure"):
        assert word in done.stdout
    assert "FIRSTBYTE_BROKER_URL" in firstbyte("agent", "--help").stdout


def test_a_python_that_cannot_measure_says_what_it_lacks() -> None:
    command = [f"{sys.base_prefix}/bin/python3", "-S", "-m", "workers.cli", "probe", "https://shop.example/"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 4
    assert "needs the package" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_version_is_the_packages() -> None:
    assert firstbyte("--version").stdout == f"firstbyte {build()}\n"
    project = (Path(__file__).parents[3] / "pyproject.toml").read_text()
    assert f'\nversion = "{VERSION}"\n' in project


@pytest.mark.parametrize(
    ("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_colour_is_for_terminals_that_want_it(site: str, environment: dict[str, str], coloured: bool) -> None:
    output = shown_in_terminal("probe", f"{site}/", rows=24, columns=80, environment=environment)
    assert bool(re.search(r"\x1b\[\d+m", output)) is coloured
    assert "Wait" in output


@pytest.mark.parametrize(("rows", "columns"), [(12, 60), (24, 80), (50, 200)])
def test_a_terminal_is_told_a_screen_and_all_of_it_when_that_is_asked_for(site: str, rows: int, columns: int) -> None:
    plain = {"NO_COLOR": "1"}
    lines = shown_in_terminal("probe", f"{site}/moved", rows=rows, columns=columns, environment=plain).splitlines()
    assert len(lines) < rows
    assert max(map(len, lines)) <= columns
    assert any("to mend in this order" in line for line in lines)
    assert lines[-1].endswith("--all shows all") is (rows < 50)
    words = ["probe", "--all", f"{site}/moved"]
    whole = shown_in_terminal(*words, rows=12, columns=columns, environment=plain).splitlines()
    assert len(whole) > 12
    assert sum(line.startswith("  Wait") for line in whole) == 2


def shown_in_terminal(*words: str, rows: int, columns: int, environment: dict[str, str]) -> str:
    """What a person sees of standard output in a terminal of that size."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    command = [sys.executable, "-m", "workers.cli", *words]
    base = {"PATH": os.environ["PATH"], "TERM": "xterm", "LANG": "C.UTF-8"}
    subprocess.run(
        command, stdout=theirs, stderr=subprocess.DEVNULL, env=base | environment, check=True, timeout=PATIENCE_S
    )
    os.close(theirs)
    return all_of(ours)


def all_of(terminal: int) -> str:
    """What was said to it by those who have all left. The kernel brings it in parts, in its own time."""
    said = b""
    # Once nothing is left it says EIO.
    with open(terminal, "rb", buffering=0) as file, suppress(OSError):
        while part := file.read(65_536):
            said += part
    return said.decode()


def test_a_terminal_that_knows_no_blocks_still_gets_its_figures(site: str) -> None:
    done = firstbyte("probe", f"{site}/", env={"PATH": os.environ["PATH"], "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert "Wait" in done.stdout


def _heed_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_ends_quietly() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        command = [sys.executable, "-m", "workers.cli", "probe", f"http://127.0.0.1:{silent.getsockname()[1]}/"]
        # Whoever started these tests in the background of a shell made them, and what they start, ignore Ctrl+C.
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=_heed_ctrl_c)
        assert process.stderr is not None
        assert process.stderr.readline().startswith("connecting")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "Traceback" not in errors


@pytest.mark.parametrize("words", [["--help"], ["netlog", "--json"]])
def test_who_has_seen_enough_is_told_no_more_and_no_fault(words: list[str], tmp_path: Path) -> None:
    log = tmp_path / "log.json"
    log.write_bytes(logs.text_of("many"))
    command = [sys.executable, "-m", "workers.cli", *words, *([str(log)] if len(words) > 1 else [])]
    ours, theirs = os.pipe()
    os.close(ours)
    done = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S, check=False)
    os.close(theirs)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


def test_a_page_is_drawn_and_photographed(site: str, tmp_path: Path) -> None:
    done = firstbyte("page", "--screenshot", str(tmp_path / "page.jpg"), f"{site}/")
    assert done.returncode == 0, done.stderr
    assert re.match(r"  1 127\.0\.0\.1:\d+/ +200 ", done.stdout)
    assert "1 request · " in done.stdout
    assert (tmp_path / "page.jpg").read_bytes()[:3] == b"\xff\xd8\xff"


def test_a_script_that_stops_says_where_and_photographs_it(site: str, tmp_path: Path) -> None:
    script = tmp_path / "script.txt"
    script.write_text(f"visit {site}/\nclick ][\n")
    done = firstbyte("page", "--script", str(script), f"{site}/")
    assert done.returncode == 4
    assert "step 2, click ][: this is no CSS selector" in done.stdout
    assert "add --screenshot FILE" in done.stderr
    done = firstbyte("page", "--script", str(script), "--screenshot", str(tmp_path / "page.jpg"), f"{site}/")
    assert f"Where the script stopped is in {tmp_path / 'page.jpg'}." in done.stderr
    assert (tmp_path / "page.jpg").read_bytes()[:3] == b"\xff\xd8\xff"


def test_a_page_leaves_its_archive_its_log_and_its_film(site: str, tmp_path: Path) -> None:
    archive, log, film = tmp_path / "page.har", tmp_path / "log.json", tmp_path / "film"
    done = firstbyte("page", "--har", str(archive), "--netlog", str(log), "--filmstrip", str(film), f"{site}/")
    assert done.returncode == 0, done.stderr
    assert json.loads(archive.read_bytes())["log"]["entries"][0]["request"]["url"] == f"{site}/"
    assert f"{site}/" in {event.get("params", {}).get("url") for event in json.loads(log.read_bytes())["events"]}
    read = json.loads(firstbyte("netlog", str(log), "--json").stdout)
    named = json.loads(archive.read_bytes())["log"]["browser"]
    assert read["browser"] == f"{named['name']} {named['version']}"
    frames = sorted(film.iterdir())
    assert frames[0].name == "00000-ms.jpg"
    assert all(frame.read_bytes()[:3] == b"\xff\xd8\xff" for frame in frames)


def test_a_page_as_json_has_vitals_and_requests(site: str) -> None:
    done = firstbyte("page", "--json", f"{site}/")
    document = json.loads(done.stdout)
    assert (document["schema"], document["title"], document["error"]) == ("firstbyte.page/1", "A page", None)
    assert document["metrics"]["fcp_ms"] > 0
    assert document["requests"][0]["url"] == f"{site}/"
