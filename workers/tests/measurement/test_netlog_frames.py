"""When a request had left, in real logs of which the browser wrote parts late, as it does on a busy machine."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from workers.measurement.captures_page import NetlogCapture
from workers.measurement.compute.netlog.events import names_of
from workers.measurement.compute.netlog.nouns import NetHop
from workers.measurement.compute.netlog.reading import read_netlog
from workers.tests.shapes import golden

_LATE_MS = 9


def told_late(log: NetlogCapture) -> NetlogCapture:
    """The same, but that requests are called sent later than they were: their last bytes are as they were."""
    number, end = log.constants["logEventTypes"]["HTTP_TRANSACTION_SEND_REQUEST"], log.constants["logEventPhase"]

    def lines() -> Iterator[bytes]:
        for line in log.lines:
            event = json.loads(line.rstrip(b"], \r\n"))
            if event["type"] == number and event["phase"] == end["PHASE_END"]:
                event["time"] = str(int(event["time"]) + _LATE_MS)
            yield json.dumps(event, sort_keys=True, separators=(",", ":")).encode()

    return replace(log, lines=tuple(lines()))


def hops(log: NetlogCapture) -> list[NetHop]:
    return read_netlog(names_of(log.constants), log.lines).hops


@pytest.mark.parametrize("shape", ["one-connection-h2", "beacon", "post", "forced-h3", "alt-svc-h3", "coalesced-h2"])
def test_a_request_had_left_with_its_last_frame_however_late_the_browser_says_so(shape: str) -> None:
    log = golden.load(shape).netlog
    assert log is not None
    sent = [(hop.url, hop.send.whole) for hop in hops(log) if hop.send.whole is not None]
    late = [(hop.url, hop.send.whole) for hop in hops(told_late(log)) if hop.send.whole is not None]
    assert sent == late
    assert sent
