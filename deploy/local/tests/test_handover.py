"""Files that `./dev firstbyte` is told to read or write, by whoever calls it from wherever."""

import os
import pwd
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from deploy.local import handover
from deploy.local.handover import Named, Use
from workers.commands.parser import parse

# Reads the file behind --cacert, and writes what it read to the file behind --har and into the folder of --filmstrip.
COPIES = """\
import pathlib, sys
words = dict(zip(sys.argv[2::2], map(pathlib.Path, sys.argv[3::2])))
text = words["--cacert"].read_text()
words["--har"].write_text(text)
words["--filmstrip"].mkdir()
(words["--filmstrip"] / "0.jpg").write_text(text)
sys.exit(3)
"""
# Where a file is asked for, points to another one instead.
POINTS = "import os, sys; os.symlink(sys.argv[4], sys.argv[3])"


def carried_out(program: str, *words: str, private: Sequence[Named] | None = None) -> int:
    ourselves = pwd.getpwuid(os.geteuid())
    lent = list(handover.named_in(words)) if private is None else private
    command = [sys.executable, "-c", program]
    return handover.run(command, words, lent, ourselves, become=lambda: None, env=os.environ)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["netlog", "--json", "log.json"], ["netlog", "--json", "/from/log.json"]),
        (["netlog", "--limit", "3", "../log.json"], ["netlog", "--limit", "3", "/from/../log.json"]),
        (["cdp", "/logs/log.json"], ["cdp", "/logs/log.json"]),
        (["cdp", "-"], ["cdp", "-"]),
        (
            ["import", "--site", "shop", "page.har", "--local"],
            ["import", "--site", "shop", "/from/page.har", "--local"],
        ),
        (["sites", "plan", "sites.yaml", "--delete"], ["sites", "plan", "/from/sites.yaml", "--delete"]),
        (["sites", "apply", "--token", "fb", "a.yaml"], ["sites", "apply", "--token", "fb", "/from/a.yaml"]),
        (["sites", "plan", "-"], ["sites", "plan", "-"]),
        (["sites", "export", "--json"], ["sites", "export", "--json"]),
        (["page", "--har=a.har", "https://a.example/"], ["page", "--har=/from/a.har", "https://a.example/"]),
        (["page", "--filmstrip", "film", "URL"], ["page", "--filmstrip", "/from/film", "URL"]),
        (["probe", "URL", "--cacert", "ca.pem"], ["probe", "URL", "--cacert", "/from/ca.pem"]),
        (["gate", "--site", "shop", "--markdown", "-"], ["gate", "--site", "shop", "--markdown", "-"]),
        ([], []),
    ],
)
def test_files_are_those_of_the_callers_folder(words: list[str], expected: list[str]) -> None:
    assert handover.absolute(words, Path("/from")) == expected


def test_every_option_that_names_a_file_or_a_folder_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("probe", "page", "without", "netlog", "cdp", "import", "compare", "gate", "doctor"):
        with pytest.raises(SystemExit):
            parse([command, "--help"])
    named = set(re.findall(r"(--[a-z-]+) (?:FILE|DIR)\b", capsys.readouterr().out))
    assert {"--har", "--filmstrip", "--cacert"} <= named
    assert [word for word in sorted(named) if not list(handover.named_in(["page", word, "a"]))] == []


@pytest.mark.parametrize("command", [["netlog"], ["cdp"], ["import"], ["sites", "plan"], ["sites", "apply"]])
def test_the_values_of_other_options_are_no_files(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Of every command that is given a file without an option before it."""
    with pytest.raises(SystemExit):
        parse([*command, "--help"])
    valued = set(re.findall(r"^ +(--[a-z-]+) [A-Z]", capsys.readouterr().out, re.MULTILINE)) - set(handover._OPTIONS)
    assert valued
    assert [option for option in sorted(valued) if list(handover.named_in([*command, option, "a"]))] == []


def test_what_another_user_cannot_reach_is_read_and_written_for_it(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("an authority")
    words = [
        "--cacert",
        str(tmp_path / "ca.pem"),
        "--har",
        str(tmp_path / "a.har"),
        "--filmstrip",
        str(tmp_path / "a/b"),
    ]
    assert carried_out(COPIES, "page", *words) == 3
    assert (tmp_path / "a.har").read_text() == "an authority"
    assert [path.read_text() for path in (tmp_path / "a" / "b").iterdir()] == ["an authority"]


def test_what_was_not_written_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "a.har").write_text("of last time")
    assert carried_out("", "page", "--har", str(tmp_path / "a.har")) == 0
    assert (tmp_path / "a.har").read_text() == "of last time"


def test_nothing_is_taken_back_that_only_points_to_a_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("of root")
    carried_out(POINTS, "page", "--har", str(tmp_path / "a.har"), str(tmp_path / "secret"))
    assert not (tmp_path / "a.har").exists()


def test_a_command_that_a_signal_ended_ends_like_one() -> None:
    assert carried_out("import os; os.kill(os.getpid(), 9)", "page") == 128 + signal.SIGKILL


def test_only_what_is_out_of_reach_is_handed_over(tmp_path: Path) -> None:
    """/proc lets nobody write, root neither."""
    (tmp_path / "log.json").touch()
    here = [
        "page",
        "--cacert",
        str(tmp_path / "log.json"),
        "--har",
        str(tmp_path / "a.har"),
        "--filmstrip",
        str(tmp_path),
    ]
    elsewhere = ["--screenshot", "/proc/self/a.jpg", "--netlog", "/proc/self/status/no/folder"]
    found = handover.out_of_reach([*here, *elsewhere], become=lambda: None)
    assert [(one.path, one.use) for one in found] == [(Path("/proc/self/a.jpg"), Use.WRITTEN)]
