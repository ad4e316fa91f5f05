"""However a command ends, it says so in a sentence and a number, and leaves nothing behind."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from workers.commands.output import write_json
from workers.tests.browser import processes
from workers.tests.captures import logs
from workers.tests.commands.test_cli import PATIENCE_S, firstbyte
from workers.tests.ports import closed_port
from workers.tests.site import running_site
from workers.tests.waiting import wait_for

LOG = str(logs.path_of("many"))
FIRSTBYTE = [sys.executable, "-m", "workers.cli"]
PLAIN = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}


def in_shell(words: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`"$@"` in the words is the command."""
    command = ["sh", "-c", words, "sh", *FIRSTBYTE, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=PLAIN, timeout=PATIENCE_S, check=False)


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["netlog", LOG], ["netlog", "--json", LOG]])
def test_a_full_disk_is_told_with_what_to_do_and_ends_with_4(words: list[str]) -> None:
    done = in_shell('"$@" > /dev/full', *words)
    assert done.returncode == 4
    assert done.stderr == (
        "firstbyte: standard output cannot be written (No space left on device); make room, or send it elsewhere\n"
    )


def test_a_file_that_cannot_be_written_takes_nothing_else_away() -> None:
    with running_site() as site:
        done = firstbyte("page", "--json", "--har", "/dev/full", f"{site}/")
    assert json.loads(done.stdout)["error"] is None
    assert done.returncode == 4
    assert "firstbyte page: --har: /dev/full cannot be written (No space left on device)" in done.stderr


def test_who_closes_standard_output_is_told_nothing_and_gets_the_number() -> None:
    done = in_shell('"$@" >&-', "netlog", LOG)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["a\x1b[2Jb", "a\u202eb", "a\rb"])
def test_a_files_name_moves_no_cursor(name: str) -> None:
    done = firstbyte("netlog", name)
    assert done.returncode == 2
    assert "\ufffd" in done.stderr
    assert done.stderr.rstrip("\n").isprintable()


def test_a_closed_standard_input_is_an_empty_file() -> None:
    done = in_shell('"$@" <&-', "netlog", "-")
    assert done.returncode == 2
    assert "is empty" in done.stderr


@pytest.mark.parametrize("words", ['"$@" 2>&-', '"$@" 2>/dev/full'])
def test_faults_that_nobody_hears_change_no_number(words: str) -> None:
    done = in_shell(words, "netlog", "/there/is/none")
    assert (done.returncode, done.stdout) == (2, "")


def test_progress_that_nobody_reads_any_more_holds_nothing_up() -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    command = [*FIRSTBYTE, "probe", "--json", f"http://127.0.0.1:{closed_port()}/"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, env=PLAIN, timeout=PATIENCE_S, check=False)
    os.close(theirs)
    assert (done.returncode, json.loads(done.stdout)["error"]["kind"]) == (4, "connect_refused")


def test_a_folder_that_was_removed_is_told(tmp_path: Path) -> None:
    code = f"import os, sys; os.chdir('{tmp_path}'); os.rmdir('{tmp_path}'); from workers.cli import main; main()"
    command = [sys.executable, "-c", code, "netlog", "log.json"]
    environment = PLAIN | {"PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=PATIENCE_S, check=False)
    assert "there is no such file here, in a folder that was removed" in done.stderr


def test_a_terminal_that_knows_no_blocks_gets_bars_of_what_it_knows() -> None:
    done = firstbyte("netlog", LOG, env=PLAIN | {"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "% dns : connect = tls _ send - wait # download . in no phase"
    assert "?" not in done.stdout


def test_what_a_server_says_in_json_moves_no_cursor_and_stays_what_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    document = {"via": "\x9b2J\x7f\u202e\u2028\ud800\U000e0041", "url": "https://例え.test/ü?a=\x1b"}
    write_json(document)
    told = capsys.readouterr().out
    assert told.rstrip("\n").isprintable()
    assert json.loads(told) == document
    assert "例え.test/ü" in told


def test_json_is_json_in_every_locale(tmp_path: Path) -> None:
    name = tmp_path / "bücher€.json"
    name.write_text(json.dumps([{"method": "Network.requestWillBeSent", "params": _asked("https://a.test/€")}]))
    for encoding in ("utf-8", "latin-1", "ascii"):
        done = firstbyte("cdp", "--json", str(name), env=PLAIN | {"PYTHONIOENCODING": encoding})
        assert json.loads(done.stdout)["requests"][0]["url"] == "https://a.test/€"


def _asked(url: str) -> dict[str, object]:
    return {"requestId": "1", "timestamp": 1.0, "wallTime": 1.0, "type": "Document", "request": {"url": url}}


def test_who_interrupts_a_command_that_only_begins_is_told_nothing_of_its_insides() -> None:
    code = (
        "import os, signal, workers.cli as cli;"
        "cli.importlib.import_module = lambda name: os.kill(os.getpid(), signal.SIGINT); cli.main(['doctor'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=PATIENCE_S, preexec_fn=_heed)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, b"")


def test_an_interrupt_that_was_held_back_while_python_started_ends_the_command_as_it_begins() -> None:
    done = subprocess.run([*FIRSTBYTE, "doctor"], capture_output=True, timeout=PATIENCE_S, preexec_fn=_hold_back)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, b"")


def _hold_back() -> None:
    _heed()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    os.kill(os.getpid(), signal.SIGINT)


def _heed() -> None:
    """Whoever started these tests in the background of a shell made them ignore Ctrl+C, and with `nohup` a lost
    terminal, as it should: what is ignored from the beginning stays ignored.
    """
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture
def temporary() -> Iterator[Path]:
    """Short, because Chromium puts a socket into it."""
    with tempfile.TemporaryDirectory(prefix="fb-", dir="/tmp") as folder:
        yield Path(folder)


@pytest.mark.parametrize(
    ("words", "number"), [([], signal.SIGINT), ([], signal.SIGTERM), (["--repeat-view"], signal.SIGHUP)]
)
def test_who_ends_a_page_load_is_left_no_browser_and_no_file(
    words: list[str], number: signal.Signals, temporary: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        command = [*FIRSTBYTE, "page", *words, f"http://127.0.0.1:{silent.getsockname()[1]}/"]
        environment = PLAIN | {"TMPDIR": str(temporary)}
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=_heed
        ) as process:
            stranger, _ = silent.accept()
            family = processes.descendants(process.pid)
            process.send_signal(number)
            told, errors = process.communicate(timeout=PATIENCE_S)
            stranger.close()
    assert (process.returncode, told) == (128 + number, "")
    assert "Traceback" not in errors
    assert family
    wait_for(lambda: not [pid for pid in family if processes.command(pid)], "its processes to end")
    assert list(temporary.iterdir()) == []
