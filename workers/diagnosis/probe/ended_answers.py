"""The run's own answer, which asks for the end of the connection too: with that a server's kernel sends all that it
has, and Nagle's algorithm holds nothing back."""

from math import ceil

from workers.diagnosis.case import Case, lost_packets, rtt_of
from workers.diagnosis.probe.flights import RECORD_HEADER_BYTES, answer_turn, mss_of
from workers.diagnosis.probe.thinking import begun_us
from workers.diagnosis.probe.tls_visits import over_http2
from workers.diagnosis.probe.weighing import ASKED, is_blind, is_late, jitter_us
from workers.diagnosis.probe.windows import first_answer
from workers.measurement.evidence import Exchange, TrialEvidence
from workers.measurement.thresholds import LEAST_RTT


def is_asked_to_end(case: Case, trial: TrialEvidence) -> bool:
    """Whether it is the first that was answered. Not every server says good-bye."""
    own = next((one for one in case.evidence.trials if first_answer(one) is not None), None)
    return trial is own and not over_http2(trial)


def asked_to_end(case: Case) -> list[TrialEvidence]:
    """That one connection, where it shows what the server did."""
    own = [one for one in case.evidence.of(*ASKED) if is_asked_to_end(case, one)]
    return [one for one in own if not lost_packets(one) and not is_late(one) and not is_blind(one)]


def holding(trial: TrialEvidence) -> tuple[Exchange, ...]:
    """Its first two answers, of which an end could have been held back: with that of the connection all is sent."""
    return trial.exchanges[:-1][:2] if _ends(trial) else trial.exchanges[:2]


def _ends(trial: TrialEvidence) -> bool:
    """Whether the server said good-bye with or behind its last answer."""
    begun = begun_us(trial, trial.exchanges[-1])
    last = trial.records[-1] if trial.records else None
    return last is not None and begun is not None and last.at_us >= begun and last.application is False


def at_once_bytes(case: Case) -> int:
    """The size of its first answer, where that came in one go; 0 where it did not."""
    turns = (found[1] for one in asked_to_end(case) if (found := first_answer(one)) is not None)
    return max((turn.size_bytes for turn in turns if not turn.cut and not turn.gaps()), default=0)


def rest_us(case: Case, end_bytes: int) -> int:
    """How long the server itself takes until it has written an end of so many bytes; 0 where that is not known, as of
    servers that keep the connection, and with it the end, all the same."""
    jitter = jitter_us(case)
    rests = [
        rest
        for trial in asked_to_end(case)
        if jitter < (rest := _came_later_us(trial, end_bytes)) < LEAST_RTT * (rtt_of(trial) or 0) - jitter
    ]
    return max(rests, default=0)


def _came_later_us(trial: TrialEvidence, end_bytes: int) -> int:
    """How much later than what was before it the end of its answer was there."""
    turn = answer_turn(trial, trial.exchanges[0], longest_us=0)
    gaps = () if turn is None or turn.cut else turn.gaps()
    return min((turn.end_us - gap.start_us for gap in gaps if turn and gap.bytes_after >= end_bytes), default=0)


def packets_apart(trial: TrialEvidence) -> int:
    """How many packets its first answer and the tickets before it are at most, where Nagle's algorithm puts none
    together: then what a server writes by itself, as records are, leaves by itself."""
    exchange, mss = trial.exchanges[0], mss_of(trial)
    sent_us, ended_us = exchange.sent_us or 0, exchange.ended_us or 0
    own = (one for one in trial.records if sent_us <= one.at_us <= ended_us)
    return sum(ceil((RECORD_HEADER_BYTES + one.length_bytes) / mss) for one in own)
