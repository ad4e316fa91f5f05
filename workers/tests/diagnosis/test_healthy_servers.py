"""Precision first: of a faultless server nothing is said, however far, unsteady or narrow the way to it is."""

from hypothesis import given, settings
from hypothesis import strategies as st

from workers.diagnosis.probe import answers, handshakes, path, records, transport
from workers.measurement.finding import FindingId as Id
from workers.tests.diagnosis.judging import found
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Server, deep, light

RULES = (*path.RULES, *transport.RULES, *handshakes.RULES, *records.RULES, *answers.RULES)
WAYS = st.builds(
    Path,
    rtt_ms=st.floats(0.2, 900),
    iw=st.sampled_from([10, 16, 20, 32]),
    mss=st.sampled_from([1448, 1460, 1400, 1388, 1220]),
    rate_bytes_s=st.none() | st.floats(16_000, 60_000) | st.floats(30_000, 10_000_000),
    up_bytes_s=st.none() | st.floats(16_000, 1_000_000),
    looked_into_us=st.just(0) | st.integers(1_000, 60_000),
    jitter=st.floats(0, 0.2) | st.floats(0.2, 4),
    slot_us=st.sampled_from([0, 1_000, 4_000]),
    paced=st.booleans(),
    seed=st.integers(0, 10_000),
)
SERVERS = st.builds(
    Server,
    handshake_bytes=st.integers(900, 9_000),
    sign_us=st.integers(100, 2_000),
    version=st.sampled_from(["TLSv1.3", "TLSv1.2"]),
    tickets_bytes=st.sampled_from([0, 79, 250, 574]),
    record_bytes=st.sampled_from([1370, 4096]),
    head_bytes=st.integers(150, 900),
    body_bytes=st.integers(0, 3_000) | st.integers(0, 90_000),
    think_us=st.tuples(st.integers(100, 20_000)),
    tickets_apart=st.booleans(),
)


@settings(max_examples=settings().max_examples * 3)
@given(way=WAYS, server=SERVERS)
def test_a_healthy_server_has_no_finding(way: Path, server: Server) -> None:
    assert found(RULES, deep(way, server)).keys() <= {Id.TCP_RTT_HIGH}


@given(way=WAYS, server=SERVERS)
def test_a_light_probe_of_a_healthy_server_has_no_finding(way: Path, server: Server) -> None:
    assert found(RULES, light(way, server)).keys() <= {Id.TCP_RTT_HIGH}
