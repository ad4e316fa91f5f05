"""What commands say of themselves: whatever an example shows can be typed."""

import re
import shlex

import pytest

from workers.cli import parse
from workers.commands.page_arguments import PAGE_SCRIPT
from workers.measurement.page_options import Click, TypeText, Visit, WaitFor
from workers.measurement.script_text import parse_script

COMMANDS = ("", "probe", "page", "compare", "gate", "deploys", "netlog", "cdp", "import", "agent", "doctor")


def help_of(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        parse([*command.split(), "--help"])
    assert ended.value.code == 0
    return capsys.readouterr().out


def examples_in(text: str) -> list[list[str]]:
    """Lines that begin with the command's name, without what is said behind several spaces or after a pipe."""
    lines = re.findall(r"^ +(firstbyte .+)$", text.replace("\\\n", " "), re.MULTILINE)
    typed = [re.split(r"  +(?![-\w.]*:?//)(?!-)|;| \| ", line)[0] for line in lines]
    return [shlex.split(line)[1:] for line in typed]


@pytest.mark.parametrize("command", COMMANDS)
def test_each_example_can_be_typed(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in examples_in(help_of(command, capsys)):
        parsed = parse(words)
        assert parsed.command == words[0]


@pytest.mark.parametrize("command", ["", "probe", "page", "compare", "gate", "netlog", "cdp", "import"])
def test_what_measures_or_asks_shows_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert examples_in(help_of(command, capsys))


def test_the_script_in_the_help_is_a_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert PAGE_SCRIPT in help_of("page", capsys)
    steps = parse_script(PAGE_SCRIPT)
    assert [type(step) for step in steps] == [Visit, TypeText, TypeText, Click, WaitFor]


@pytest.mark.parametrize("columns", [60, 100])
@pytest.mark.parametrize("command", COMMANDS)
def test_sentences_fill_the_terminal_and_do_not_leave_it(
    command: str, columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    # Argument names and lists that are indented may be longer than any terminal is wide.
    prose = [line for line in help_of(command, capsys).splitlines() if not line.startswith((" ", "usage:"))]
    assert max(map(len, prose)) <= columns
