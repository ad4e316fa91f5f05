"""Network logs from files: whole ones, cut off ones, damaged, hostile and foreign ones."""

import gzip
import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workers.measurement.compute.files.log_file import NoNetlogError
from workers.measurement.compute.files.log_rows import rows_of
from workers.tests.captures import logs
from workers.tests.measurement.log_files import HEAD, read


def test_zero_is_the_first_event_of_a_request_and_told_on_the_walls_clock() -> None:
    found = read(logs.text_of("h3"))
    assert found.zero_at is not None
    assert found.zero_at.year == 2026
    assert rows_of(found.log, limit=10).waterfall.requests[0].timing.start_us <= 1000
    assert found.warnings == ()


def test_a_file_is_the_same_however_it_is_laid_out() -> None:
    data = logs.text_of("h2-new-pool")
    whole = read(data)
    parsed = json.loads(data)
    for text in (json.dumps(parsed), json.dumps(parsed, indent=2), json.dumps(parsed, sort_keys=False, indent=None)):
        assert read(text.encode(), chunk_bytes=1000).log == whole.log
    assert read(b"\xef\xbb\xbf" + data, chunk_bytes=7).log == whole.log


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_a_log_that_went_through_windows_own_shell_is_the_same(encoding: str) -> None:
    data = logs.text_of("h3")
    mark = b"\xfe\xff" if encoding.endswith("be") else b""
    assert read(mark + data.decode().encode(encoding), chunk_bytes=7).log == read(data).log


def test_events_may_stand_before_the_constants() -> None:
    parsed = json.loads(logs.text_of("h3"))
    turned = read(json.dumps({"events": parsed["events"], "constants": parsed["constants"]}).encode())
    assert turned.warnings == ()
    assert rows_of(turned.log, limit=1000) == rows_of(read(logs.text_of("h3")).log, limit=1000)


@pytest.mark.parametrize(("rest", "said"), [(', "events": []}', ()), ("}", ()), ("", ("breaks off",))])
def test_a_log_without_events_has_no_rows_and_no_zero(rest: str, said: tuple[str, ...]) -> None:
    found = read(json.dumps(HEAD)[:-1].encode() + rest.encode())
    assert (found.log.hops, found.log.zero_ms, found.zero_at) == ([], None, None)
    assert len(found.warnings) == len(said)
    assert all(word in warning for word, warning in zip(said, found.warnings, strict=True))


@pytest.mark.parametrize(("behind", "is_told"), [(b"", False), (b"\n\n", False), (logs.text_of("many"), True)])
def test_a_second_log_behind_the_first_is_told_and_not_read(behind: bytes, is_told: bool) -> None:
    parsed = json.loads(logs.text_of("h3"))
    ways = (parsed, parsed | {"polledData": {"a": [1]}}, {"events": parsed["events"], "constants": parsed["constants"]})
    for one in ways:
        found = read(json.dumps(one).encode() + behind)
        assert len(found.log.hops) == 5
        assert ["Behind" in warning for warning in found.warnings] == [True] * is_told


def test_keys_may_stand_in_any_order() -> None:
    parsed = json.loads(logs.text_of("h3"))
    turned = [dict(reversed(event.items())) for event in parsed["events"]]
    assert read(json.dumps(parsed | {"events": turned}).encode()).log == read(logs.text_of("h3")).log


def test_a_file_without_its_end_is_read_as_far_as_it_goes() -> None:
    data = logs.text_of("h3")
    cut = data[: data.rfind(b"],") - 40]
    found = read(cut)
    assert len(found.log.hops) == 5
    assert found.warnings == (
        "1 events could not be read and were passed over.",
        "The file breaks off before its end: the last requests may lack phases.",
    )


@settings(max_examples=settings().max_examples // 4)
@given(st.data())
def test_a_log_cut_off_anywhere_gives_a_part_of_its_rows_or_says_that_it_is_none(data: st.DataObject) -> None:
    whole = logs.text_of("h3")
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    try:
        found = read(cut)
    except NoNetlogError:
        assert len(cut) < whole.index(b'"events"')
        return
    full = {(hop.source, hop.index): hop for hop in read(whole).log.hops}
    for hop in found.log.hops:
        assert hop.url == full[hop.source, hop.index].url
        assert hop.send.begin_ms in (None, full[hop.source, hop.index].send.begin_ms)
    rows_of(found.log, limit=100)


def test_events_that_are_not_in_the_order_in_which_they_happened_are_told() -> None:
    lines = logs.text_of("many").split(b"\n")
    events = [line.rstrip(b",]") for line in lines[2:] if line.startswith(b'{"p')]
    said = "not in the order in which they happened"
    for some, is_told in ((events, False), (events[::-1], True), (events[500:] + events[:500], True)):
        found = read(b"\n".join([*lines[:2], b",\n".join(some), b"]}"]))
        assert any(said in warning for warning in found.warnings) is is_told


@settings(max_examples=settings().max_examples // 6)
@given(st.randoms(use_true_random=False))
def test_events_in_any_order_give_rows_whose_phases_do_not_run_backwards(random: Any) -> None:
    lines = logs.text_of("many").split(b"\n")
    head, events = lines[:2], [line.rstrip(b",]") for line in lines[2:] if line.startswith(b'{"p')]
    random.shuffle(events)
    found = read(b"\n".join([*head, b",\n".join(events), b"]}"]))
    # Spans refuse to end before they begin, so that rows were made is the proof.
    assert len(rows_of(found.log, limit=1000).waterfall.requests) == len(found.log.hops)


@settings(max_examples=settings().max_examples // 4)
@given(st.data())
def test_damage_costs_the_events_that_it_touches_and_no_more(data: st.DataObject) -> None:
    lines = logs.text_of("many").split(b"\n")
    at = data.draw(st.integers(2, len(lines) - 4))
    lines[at] = data.draw(st.binary(max_size=60)).replace(b"\n", b"").replace(b"]", b"") + lines[at][20:]
    found = read(b"\n".join(lines))
    assert len(found.log.hops) >= 48
    rows_of(found.log, limit=1000)


def test_a_brace_that_damage_left_before_the_first_event_is_not_the_end_of_the_file() -> None:
    lines = logs.text_of("many").split(b"\n")
    lines[2] = b"}" + lines[2][20:]
    found = read(b"\n".join(lines))
    assert len(found.log.hops) == 49
    assert found.warnings == ("1 events could not be read and were passed over.",)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "url", "x"]), inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.parametrize("word", ["\ud800", "\x1b[2J", [], 10**400])
def test_an_event_of_a_type_that_is_none_is_passed_over(word: object) -> None:
    parsed = json.loads(logs.text_of("h3"))
    found = read(json.dumps(parsed | {"events": [{**parsed["events"][0], "type": word}, *parsed["events"]]}).encode())
    assert found.log == read(logs.text_of("h3")).log


@pytest.mark.parametrize("count", [10**400, -(10**30), 1e300, True, "100"])
def test_more_bytes_than_there_are_anywhere_are_no_size(count: object) -> None:
    parsed = json.loads(logs.text_of("h1-new-pool"))
    for event in parsed["events"]:
        if "byte_count" in event.get("params", {}):
            event["params"]["byte_count"] = count
    waterfall = rows_of(read(json.dumps(parsed).encode()).log, limit=1000).waterfall
    assert {one.received_bytes for one in waterfall.connections} == {None}
    assert {row.body_bytes for row in waterfall.requests} <= {None, 0}


NAMES = ["url", "method", "net_error", "source_dependency", "address", "byte_count", "headers"]
NAMES += ["location", "host", "port", "state", "version", "group_id"]


@settings(max_examples=settings().max_examples // 2)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(sorted(HEAD["constants"]["logEventTypes"])),
            st.sampled_from([0, 1, 2, 7, None, "1"]),
            st.integers(0, 5) | JSON,
            st.integers(-5, 99) | JSON,
            st.dictionaries(st.sampled_from(NAMES), JSON | st.fixed_dictionaries({"id": st.integers(0, 5)})) | JSON,
        ),
        max_size=40,
    )
)
def test_events_of_every_wrong_type_are_borne(events: list[tuple[Any, ...]]) -> None:
    written = [
        {
            "params": params,
            "phase": phase,
            "source": {"id": source, "type": 1},
            "time": time,
            "type": HEAD["constants"]["logEventTypes"][name],
        }
        for name, phase, source, time, params in events
    ]
    rows_of(read(json.dumps(HEAD | {"events": written}).encode()).log, limit=100)


@given(st.binary(max_size=300))
def test_what_is_no_log_is_called_none(data: bytes) -> None:
    with pytest.raises(NoNetlogError):
        read(data)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is empty"),
        ("  \n", "it is empty"),
        ("<html>", "it is no JSON"),
        ('{"log": {"entries": []}}', "HTTP Archive"),
        ('{"traceEvents": []}', "trace of Chrome"),
        ('[{"method": "Network.requestWillBeSent", "params": {}}]', "firstbyte cdp"),
        ('{"method": "Network.requestWillBeSent", "params": {}}', "firstbyte cdp"),
        ('{"constants": {"logEventTypes": {"A": 1}, "logEventPhase": {}}, "events": []}', "name no events"),
        ('{"constants": 7, "events": []}', "has no constants"),
        ("{" * 5000, "has no constants"),
        ("[" * 100_000, "list"),
    ],
)
def test_the_reason_says_what_the_file_is_instead(text: str, said: str) -> None:
    with pytest.raises(NoNetlogError, match=said):
        read(text.encode())


def test_deep_nesting_inside_an_event_costs_that_event() -> None:
    deep = b'{"params":' + b"[" * 200_000 + b",\n"
    lines = logs.text_of("h3").split(b"\n")
    found = read(b"\n".join([*lines[:5], deep.rstrip(b"\n"), *lines[5:]]))
    assert len(found.log.hops) == 5


def test_a_log_of_which_every_line_is_damaged_is_read_in_seconds() -> None:
    lines = logs.text_of("many").split(b"\n")
    broken = b"\n".join(line.replace(b'"source":', b'"source"') for line in lines[2:-1])
    began = time.process_time()
    found = read(b"\n".join([*lines[:2], *[broken] * 24]), chunk_bytes=1_048_576)
    assert int(found.warnings[0].split()[0]) > 20_000
    assert time.process_time() - began < 5


def test_an_event_that_is_a_large_body_does_not_hide_the_next() -> None:
    lines = logs.text_of("h3").split(b"\n")
    large = (
        b'{"params":{"bytes":"' + b"A" * 3_000_000 + b'"},"phase":0,"source":{"id":1,"type":1},"time":"1","type":1},'
    )
    found = read(b"\n".join([*lines[:5], large, *lines[5:]]))
    assert (len(found.log.hops), found.warnings) == (5, ())


def test_answers_without_any_connection_are_an_alarm() -> None:
    parsed = json.loads(logs.text_of("h3"))
    types = parsed["constants"]["logEventTypes"]
    kept = {number for name, number in types.items() if name.startswith(("URL_", "REQUEST_", "HTTP_TRANSACTION"))}
    events = [event for event in parsed["events"] if event["type"] in kept]
    found = read(json.dumps(parsed | {"events": events}).encode())
    assert "5 requests were answered and not one connection was seen" in found.warnings[0]


def test_a_browser_that_names_no_handshakes_is_told_and_none_are_made_up() -> None:
    parsed = json.loads(logs.text_of("h1-new-pool"))
    del parsed["constants"]["logEventTypes"]["SSL_CONNECT"]
    found = read(json.dumps(parsed).encode())
    assert "lacks SSL_CONNECT" in found.warnings[0]
    assert all(request.timing.tls is None for request in rows_of(found.log, limit=100).waterfall.requests)


def test_what_is_beyond_the_limit_is_left_out_and_said() -> None:
    waterfall = rows_of(read(logs.text_of("many")).log, limit=3).waterfall
    assert (len(waterfall.requests), waterfall.truncated) == (3, True)


def test_archives_are_what_the_tests_say() -> None:
    for name in logs.NAMES:
        assert gzip.decompress(logs.path_of(name).read_bytes()).startswith(b'{"constants":')
