"""What the JSON of `firstbyte probe` tells of TCP, and the checklist of the server's window."""

from dataclasses import replace

import pytest

from workers.diagnosis.probe.diagnose import diagnose
from workers.diagnosis.probe.document import probe_document
from workers.measurement.document import Document
from workers.measurement.evidence import ProbeEvidence, TcpState, Trial
from workers.measurement.finding import CheckColumn
from workers.measurement.messages import Measured, ProbeMeasurement
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Server, deep


def told(evidence: ProbeEvidence) -> Document | None:
    document = probe_document("https://www.example.org/", [Measured(measurement=ProbeMeasurement(evidence=evidence))])
    tcp: Document | None = document["tcp"]
    return tcp


@pytest.mark.parametrize(("window", "body_bytes", "segments"), [(4, 60_000, 4), (20, 60_000, 20), (10, 4_000, None)])
def test_the_servers_window_is_told_where_answers_fill_it(window: int, body_bytes: int, segments: int | None) -> None:
    tcp = told(deep(Path(rtt_ms=80, iw=window), Server(body_bytes=body_bytes)))
    assert tcp is not None
    assert tcp["initial_window_segments"] == segments


def test_what_the_kernel_counted_of_the_first_connection_is_told() -> None:
    evidence = deep(Path(rtt_ms=80), Server())
    first, *others = evidence.trials
    assert first.trial is Trial.FULL
    state = TcpState(min_rtt_us=79_900, rcv_mss_bytes=1448, total_retransmits=1, out_of_order_packets=2)
    seen = replace(first, tcp_ended=state, syn_retransmits=0)
    assert told(replace(evidence, trials=(seen, *others))) == {
        "initial_window_segments": None,
        "mss_bytes": 1448,
        "min_rtt_ms": 79.9,
        "syn_retransmits": 0,
        "retransmits": 1,
        "out_of_order_packets": 2,
    }
    assert told(replace(evidence, trials=())) is None


@pytest.mark.parametrize(("window", "words"), [(10, "10 packets"), (30, "30 packets")])
def test_the_checklist_tells_how_large_the_window_is(window: int, words: str) -> None:
    checks = diagnose(deep(Path(rtt_ms=80, iw=window, idle_restart=False), Server(body_bytes=90_000))).checklist
    column = next(one for one in checks if one.column is CheckColumn.INITIAL_WINDOW)
    assert column.detail == f"{words}, also after a pause"
