"""What commands say of themselves: whatever an example shows can be typed."""

import re
import shlex
from typing import cast

import pytest

from workers.commands.help_layout import laid_out
from workers.commands.page_arguments import PAGE_SCRIPT
from workers.commands.parser import parse
from workers.commands.sites_arguments import SITES
from workers.commands.sites_file import read_file
from workers.config import AgentConfig
from workers.diagnosis.catalogue.failures import Door, advice_on
from workers.measurement.failure import FailureKind, failure
from workers.measurement.page_options import Click, TypeText, Visit, WaitFor
from workers.measurement.script_text import parse_script

COMMANDS = (
    "",
    "probe",
    "page",
    "without",
    "compare",
    "gate",
    "deploys",
    "sites",
    "netlog",
    "cdp",
    "import",
    "agent",
    "doctor",
)


def help_of(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        parse([*command.split(), "--help"])
    assert ended.value.code == 0
    return capsys.readouterr().out


def examples_in(text: str) -> list[list[str]]:
    """Lines that begin with the command's name, without what is said behind several spaces or after a pipe."""
    lines = re.findall(r"^ +(firstbyte .+)$", re.sub(r" *\\\n *", " ", text), re.MULTILINE)
    typed = [re.split(r"  +(?![-\w.]*:?//)(?!-)|;| \| ", line)[0] for line in lines]
    return [shlex.split(line)[1:] for line in typed]


@pytest.mark.parametrize("columns", [60, 80, 200])
@pytest.mark.parametrize("command", COMMANDS)
def test_each_example_can_be_typed(
    command: str, columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for words in examples_in(help_of(command, capsys)):
        parsed = parse(words)
        assert parsed.command == words[0]


@pytest.mark.parametrize(
    "command", ["", "probe", "page", "without", "compare", "gate", "sites", "netlog", "cdp", "import"]
)
def test_what_measures_or_asks_shows_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert examples_in(help_of(command, capsys))


def test_the_help_of_an_agent_names_all_that_its_environment_sets(capsys: pytest.CaptureFixture[str]) -> None:
    text = help_of("agent", capsys)
    assert [name for name in AgentConfig.model_fields if f"FIRSTBYTE_{name.upper()} " not in text] == []


def test_the_script_in_the_help_is_a_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert PAGE_SCRIPT in help_of("page", capsys)
    steps = parse_script(PAGE_SCRIPT)
    assert [type(step) for step in steps] == [Visit, TypeText, TypeText, Click, WaitFor]


@pytest.mark.parametrize("columns", [50, 60, 80, 200])
def test_the_file_in_the_help_says_the_same_in_a_narrow_terminal(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("SHOP_KEY", "s3cret")
    monkeypatch.setenv("SLACK_WEBHOOK", "https://hooks.slack.com/services/s3cret")
    told, meant = (_file_in(text) for text in (help_of("sites", capsys), SITES))
    assert told == meant
    assert set(meant) == {"sites", "rules", "maintenance", "channels", "status_pages"}


def _file_in(text: str) -> dict[str, object]:
    shown = text.partition("the file:\n")[2].partition("\n\n")[0]
    return cast("dict[str, object]", read_file(shown.encode()).document)


@pytest.mark.parametrize("columns", [60, 80, 100])
@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_fills_the_terminal_and_does_not_leave_it(
    command: str, columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = [line for line in help_of(command, capsys).splitlines() if len(line) > columns]
    # A word, in quotes or brackets, is never broken: it may be longer than a terminal is wide.
    assert [line for line in lines if len(re.findall(r"'[^']*'|\[[^]]*\]|[^ \\]+", line)) > 1] == []


def test_an_option_and_its_value_stay_in_one_line_where_both_fit_and_no_name_is_broken_at_its_hyphens() -> None:
    text = """\
  firstbyte compare --cdn https://cdn.example.org/app.js --origin https://www.example.org/app.js
  firstbyte page --har /a/very/long/path/that/fills/the/line/of/the/terminal.har https://a.example/
A log comes from chrome://net-export, or from --log-net-log=FILE.
"""
    assert laid_out(text, 62) == [
        "  firstbyte compare --cdn https://cdn.example.org/app.js \\",
        "      --origin https://www.example.org/app.js",
        "  firstbyte page --har \\",
        "      /a/very/long/path/that/fills/the/line/of/the/terminal.har \\",
        "      https://a.example/",
        "A log comes from chrome://net-export, or from",
        "--log-net-log=FILE.",
    ]


def test_examples_are_broken_between_words_and_what_is_said_of_them_stands_below() -> None:
    text = """\
  firstbyte page --block cdn.example.net https://www.example.org/    what if it is silent?
  firstbyte netlog --json log.json | jq '.requests[] | {url, ttfb_ms}'
  FIRSTBYTE_URL    instead of --url, for pipelines that keep it in their settings
  0 measured   1 failed the check of the command   2 wrong usage
"""
    assert laid_out(text, 50) == [
        "  firstbyte page --block cdn.example.net \\",
        "      https://www.example.org/",
        "      what if it is silent?",
        "  firstbyte netlog --json log.json | jq \\",
        "      '.requests[] | {url, ttfb_ms}'",
        "  FIRSTBYTE_URL    instead of --url, for pipelines",
        "                   that keep it in their settings",
        "  0 measured   1 failed the check of the command",
        "  2 wrong usage",
    ]
    assert laid_out(text, 100) == text.splitlines()


@pytest.mark.parametrize("command", ["probe", "page", "compare"])
def test_advice_on_a_failure_names_options_that_its_command_has(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    known = set(_options_in(help_of(command, capsys)))
    named = {option for kind in FailureKind for option in _options_in(advice_on(failure(kind), Door.TERMINAL))}
    assert named
    assert named <= known


def _options_in(text: str) -> list[str]:
    return re.findall(r"--[a-z-]+", text)
