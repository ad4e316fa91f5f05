"""What files are that a command was given by mistake."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.compute.files.devtools_file import NoDevToolsError, read_devtools_file
from workers.measurement.compute.files.kinds import kind_of, names_in
from workers.measurement.compute.files.log_file import NoNetlogError, read_log_file
from workers.measurement.imports.read import UnreadableFileError, read_import

HAR = {"log": {"version": "1.2", "entries": [], "pages": [{"id": "a}", "title": 'b"]'}]}}
NETLOG = {"constants": {"logEventTypes": {"REQUEST_ALIVE": 1}}, "events": []}
EVENT = {"method": "Page.loadEventFired", "params": {"timestamp": 1}}


def by_cdp(text: str) -> str:
    with pytest.raises(NoDevToolsError) as error:
        read_devtools_file([text.encode()], limit=10)
    return str(error.value)


def by_netlog(text: str) -> str:
    with pytest.raises(NoNetlogError) as error:
        read_log_file([text.encode()])
    return str(error.value)


def by_import(text: str) -> str:
    with pytest.raises(UnreadableFileError) as error:
        read_import(text.encode())
    return str(error.value)


FILES: list[tuple[Any, str, str | None]] = [
    (HAR, "an HTTP Archive (HAR)", "firstbyte import"),
    (NETLOG, "a network log of Chrome", "firstbyte netlog"),
    (
        {"data": {"id": "1", "testUrl": "https://a.test/", "runs": {}}, "statusCode": 200},
        "WebPageTest's JSON",
        "firstbyte import",
    ),
    ([EVENT], "a log of DevTools' events", "firstbyte cdp"),
    ([{"level": "INFO", "message": "{}", "timestamp": 1}], "a log of DevTools' events", "firstbyte cdp"),
    ({"lighthouseVersion": "12.2.1"}, "a Lighthouse report", None),
    ({"metadata": {"source": "DevTools"}, "traceEvents": []}, "a trace of Chrome", None),
    ([{"pid": 1, "ts": 2, "ph": "X", "cat": "a"}], "a trace of Chrome", None),
    ([{"info": {}, "files": {}, "browserScripts": []}], "a result of browsertime", None),
    ([{"status": "COMPLETE", "scheme": "https", "host": "a.test", "path": "/"}], "a session of Charles", None),
    ({"info": {"name": "a"}, "item": []}, "a collection of Postman", None),
]


@pytest.mark.parametrize(("written", "what", "command"), FILES)
def test_every_command_calls_another_tools_file_by_its_name_and_says_who_reads_it(
    written: Any, what: str, command: str | None
) -> None:
    text = json.dumps(written)
    readers = {"firstbyte import": by_import, "firstbyte cdp": by_cdp, "firstbyte netlog": by_netlog}
    for name, read in readers.items():
        if name != command:
            said = read(text)
            assert what in said
            assert command is None or f"{command} reads it" in said


def test_a_command_sends_nobody_to_itself() -> None:
    assert "save what a session with Network.enable receives" in by_cdp(json.dumps([EVENT]))
    assert "has no constants" in by_netlog('{"constants": 7, "events": []}')


def test_lines_of_events_are_known_for_what_they_are() -> None:
    assert "firstbyte cdp reads it" in by_import("\n".join([json.dumps(EVENT)] * 2))


def test_what_nobody_knows_has_no_name() -> None:
    assert kind_of(names_in('{"message": "Not found"}')) is None
    assert kind_of(names_in('{"a": {"log": 1}}')) is None


def test_a_text_that_breaks_off_among_many_quotation_marks_is_read_once() -> None:
    marks = '\\"' * 50_000
    began_s = time.process_time()
    assert names_in('{"message": 1, "log": "' + marks) == {"message", "log"}
    assert time.process_time() - began_s < 1


@given(st.text(max_size=200))
def test_any_text_has_names_or_none(text: str) -> None:
    assert isinstance(names_in(text), frozenset)
