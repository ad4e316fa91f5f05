"""However many faults a server has at once: no millisecond is claimed twice, and nothing ends in an error."""

from statistics import median

from hypothesis import given, settings
from hypothesis import strategies as st

from workers.diagnosis.probe import answers, handshakes, records, transport
from workers.measurement.evidence import ProbeEvidence, Trial
from workers.measurement.finding import FindingId as Id
from workers.tests.diagnosis.judging import found, said
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Server, deep

RULES = (*transport.RULES, *handshakes.RULES, *records.RULES, *answers.RULES)
# What one visit waits for. The others are claims about further requests, or about clients unlike ours.
OF_A_VISIT = {
    Id.TLS_CERT_FLUSH_STALL,
    Id.TLS_CHAIN_EXCEEDS_IW,
    Id.TLS_HANDSHAKE_STALL,
    Id.TLS_KEY_COST,
    Id.TLS_RECORD_OVERFLOW,
    Id.TCP_IW_SMALL,
    Id.HTTP_THINK_TIME,
    Id.HTTP_BODY_STALL,
    Id.HTTP_BUFFERED_RESPONSE,
}
_TOLERANCE_US = 2_000

WAYS = st.builds(
    Path,
    rtt_ms=st.floats(2, 400),
    iw=st.sampled_from([2, 3, 4, 10, 10]),
    nagle=st.booleans(),
    idle_restart=st.booleans(),
)
SICK = st.builds(
    Server,
    handshake_bytes=st.integers(900, 20_000),
    flush_bytes=st.sampled_from([None, 4096]),
    stall=st.none() | st.tuples(st.integers(100, 3_000), st.integers(20_000, 600_000)),
    sign_us=st.sampled_from([500, 70_000]),
    version=st.sampled_from(["TLSv1.3", "TLSv1.2"]),
    record_bytes=st.sampled_from([1_300, 4_096, 16_384]),
    body_bytes=st.integers(10, 60_000),
    head_apart=st.booleans(),
    body_stall=st.none() | st.tuples(st.integers(1, 9), st.integers(20_000, 600_000)),
    think_us=st.tuples(st.sampled_from([300, 60_000, 180_000, 400_000, 900_000])),
    keeps=st.booleans(),
)


@settings(max_examples=settings().max_examples * 5 // 2)
@given(way=WAYS, server=SICK)
def test_no_millisecond_is_claimed_twice(way: Path, server: Server) -> None:
    evidence = deep(way, server)
    claimed = sum(one.saving_us or 0 for id, one in found(RULES, evidence).items() if id in OF_A_VISIT)
    assert claimed <= lost_us(evidence, way) + _TOLERANCE_US


@given(way=WAYS, server=SICK)
def test_a_cause_is_found_or_left_open_but_never_both(way: Path, server: Server) -> None:
    ids = [one.id for one in said(RULES, deep(way, server))]
    assert len(ids) == len(set(ids))


def lost_us(evidence: ProbeEvidence, way: Path) -> float:
    """What the visits took beyond one round trip each for TLS, the request, and TLS 1.2's second."""
    return median(
        trial.exchanges[0].ended_us
        - trial.handshake.started_us
        - way.rtt_us * (2 + trial.handshake.version.endswith("2"))
        for trial in evidence.of(Trial.FULL)
        if trial.handshake is not None
        and trial.handshake.version is not None
        and trial.exchanges[0].ended_us is not None
    )
