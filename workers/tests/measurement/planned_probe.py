"""Connections made by hand, and the probe that they come to by the plan."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from workers.measurement.compute.probe.trial_plan import MAX_CONNECTIONS, Scope, Step, next_step
from workers.measurement.evidence import Exchange, Handshake, TcpState, Trial, TrialEvidence

RTT_US = 40_000
SCOPE = Scope(secure=True, other_family=True, http3=True)
Act = Callable[[Step, int], TrialEvidence]


def answered(asked_us: int = 90_000, **changes: Any) -> Exchange:
    values: dict[str, Any] = {
        "asked_us": asked_us,
        "sent_us": asked_us + 100,
        "first_raw_us": asked_us + RTT_US,
        "ended_us": asked_us + RTT_US + 1000,
        "status": 200,
    }
    return Exchange(**(values | changes))


def connection(trial: Trial, **changes: Any) -> TrialEvidence:
    """A healthy connection of a server with TLS 1.3 that is 40 ms away."""
    resuming = trial in (Trial.RESUMED, Trial.EARLY_DATA, Trial.TLS12_TICKET, Trial.TLS12_SESSION_ID)
    old = trial in (Trial.TLS12, Trial.TLS12_TICKET, Trial.TLS12_SESSION_ID)
    values: dict[str, Any] = {
        "trial": trial,
        "started_us": 0,
        "connect_us": RTT_US,
        "syn_rtt_us": RTT_US,
        "syn_retransmits": 0,
        "handshake": Handshake(
            started_us=RTT_US,
            hello_bytes=1500,
            ended_us=2 * RTT_US,
            version="TLSv1.2" if old else "TLSv1.3",
            resumed=resuming,
            max_early_data_bytes=16384 if trial is Trial.FULL else None,
        ),
        "exchanges": (answered(),),
        "tcp_ended": TcpState(total_retransmits=0, out_of_order_packets=0),
    }
    return TrialEvidence(**(values | changes))


def healthy(step: Step, _: int) -> TrialEvidence:
    return connection(step.trial)


def play(act: Act, scope: Scope = SCOPE) -> tuple[list[Step], list[TrialEvidence]]:
    """All steps of a probe whose connections turn out as `act` says, after the journey's own."""
    seen, steps = [connection(Trial.FULL)], []
    while (step := next_step(seen, scope)) is not None:
        steps.append(step)
        seen.append(act(step, len(seen)))
        assert len(seen) <= MAX_CONNECTIONS
    return steps, seen


def count(act: Act, scope: Scope = SCOPE) -> Counter[Trial]:
    return Counter(trial.trial for trial in play(act, scope)[1])
