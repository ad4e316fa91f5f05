"""What TCP did, as a part of the probe's document."""

from workers.diagnosis.case import Case
from workers.diagnosis.probe.summary import main_trial
from workers.diagnosis.probe.windows import filled_window
from workers.measurement.document import Document, milliseconds
from workers.measurement.evidence import TcpState
from workers.measurement.messages import ProbeMeasurement


def tcp_part(probe: ProbeMeasurement) -> Document | None:
    """Of the first connection to the last hop's host, as the kernel counted at its end; the window is what two
    connections at least agree on. None when none was made."""
    trial = main_trial(probe)
    if probe.evidence is None or trial is None or trial.connect_us is None:
        return None
    state = trial.tcp_ended or TcpState()
    return {
        "initial_window_segments": filled_window(Case(evidence=probe.evidence, hops=probe.hops)),
        "mss_bytes": state.rcv_mss_bytes,
        "min_rtt_ms": milliseconds(state.min_rtt_us),
        "syn_retransmits": trial.syn_retransmits,
        "retransmits": state.total_retransmits,
        "out_of_order_packets": state.out_of_order_packets,
    }
