"""Rules on TLS records: too large for the first window, or needlessly small."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, zip_longest
from statistics import median

from workers.diagnosis.case import Case, Rule, Verdicts, lost_packets, rtt_of
from workers.diagnosis.probe.flights import RECORD_HEADER_BYTES, Turn, mss_of, tickets_before
from workers.diagnosis.probe.gaps import USUAL_WINDOW
from workers.diagnosis.probe.slow_start import FIRST_FLIGHT_BYTES
from workers.diagnosis.probe.tls_visits import over_http2, page_over_http2
from workers.diagnosis.probe.weighing import ASKED, Sure, fact, ms_of, visits, weigh
from workers.diagnosis.probe.windows import SMALL_BELOW, first_answer, is_paced, known_window, unfilled_by_tickets
from workers.measurement.evidence import Direction, Exchange, TlsRecord, Trial, TrialEvidence
from workers.measurement.finding import Confidence, Finding, FindingId, NotJudged, NotJudgedReason, Severity
from workers.measurement.tls_records import sealed_bytes

# A record that waits for a window takes at least so much of a round trip (measured in the lab).
_LEAST_WAIT_RTT = 0.7
# Two segments less than the usual window is as little as a full one looks; it may have grown by a long chain.
_SPARE_SEGMENTS, _GROWN_SEGMENTS = 2, 2
# A record of 4 KB with its overhead: what the repaired server would have sent first, and what is called large.
_REPAIRED_BYTES = 4096 + 22
LARGE_RECORD_BYTES = 4300
# Smaller records cost more than a per cent, and in a body from this size on that is seen.
TINY_RECORD_BYTES = 2048
LEAST_TINY_BODY_BYTES = 100_000
# From here on it is more than the few per cent that any record costs.
_MUCH_ADDED = 0.25
_APPLICATION = 23


@dataclass(frozen=True, slots=True, kw_only=True)
class _Overflow:
    """The first record of an answer that did not fit: until when it kept us waiting that a small one would not have.
    `behind_head` where that was not for the first byte, but for the first of the body."""

    saving_us: int
    behind_head: bool
    length_bytes: int
    bytes_before: int
    wait_us: int


def record_overflow(case: Case) -> Verdicts:
    """tls.record_overflow: the first record of the answer, or behind its head of the body, is larger than the window,
    so nothing of it can be read."""
    id = FindingId.TLS_RECORD_OVERFLOW
    trials = [trial for trial in visits(case, ASKED) if _telling_record(trial) is not None]
    sure = _over_http2(case) or weigh(case, id, trials, _overflow)
    if isinstance(sure, Sure):
        yield _over_http1_alone(sure) if _is_free_over_http2(case) else _overflowing(sure)
    elif sure is not None:
        yield sure
    elif trials and (known_window(case) or USUAL_WINDOW) < SMALL_BELOW and all(map(_stopped_by_small_window, trials)):
        yield NotJudged(id=id, reason=NotJudgedReason.HIDDEN, hidden_by=FindingId.TCP_IW_SMALL)
    elif trials and all(map(_waits, trials)):
        yield NotJudged(id=id, reason=NotJudgedReason.UNSTEADY)
    elif trials:
        yield from _not_triggered(case, trials)


def _over_http2(case: Case) -> Sure[_Overflow] | None:
    """As browsers get it, whose answers begin behind what HTTP/2 says of itself."""
    sure = weigh(case, FindingId.TLS_RECORD_OVERFLOW, _visits_over_http2(case), _overflow)
    return sure if isinstance(sure, Sure) else None


def _visits_over_http2(case: Case) -> list[TrialEvidence]:
    return [trial for trial in visits(case, (Trial.HTTP2,), ()) if over_http2(trial) and _telling_record(trial)]


def _is_free_over_http2(case: Case) -> bool:
    """Whether browsers are spared, since they would use HTTP/2, over which no record waits. Where nothing else is
    spoken, it is HTTP/2's that does."""
    over, alone = _visits_over_http2(case), any(map(over_http2, case.evidence.of(*ASKED)))
    free = weigh(case, FindingId.TLS_RECORD_OVERFLOW, over, _overflow) is None
    page = page_over_http2(case)
    return any(one in page for one in over) and not alone and free and not any(map(_waits, over))


def record_tiny(case: Case) -> Verdicts:
    """tls.record_tiny: what is large, or becomes it by headers and seals, comes in nothing but small records. Some
    servers let them grow late, in answers that follow over the same connection."""
    sent = (one for trial in case.evidence.trials for one in trial.records if one.application)
    if any(one.length_bytes >= TINY_RECORD_BYTES for one in sent):
        return
    for trial in visits(case, ASKED):
        sizes = sorted(one.length_bytes for one in answer_records(trial, trial.exchanges[0])) if trial.exchanges else []
        if not sizes or sizes[-1] >= TINY_RECORD_BYTES:
            continue
        body_bytes, added = trial.exchanges[0].body_bytes or 0, _added(trial, sizes)
        # Of records beyond count only the first are kept: what all of them are follows from the body.
        if max(sum(sizes), body_bytes * (1 + added)) > LEAST_TINY_BODY_BYTES:
            yield Finding(
                id=FindingId.TLS_RECORD_TINY,
                severity=Severity.INFO if added < _MUCH_ADDED else Severity.MEDIUM,
                confidence=Confidence.HIGH,
                evidence=(
                    fact("record_bytes", round(median(sizes))),
                    fact("largest_record_bytes", sizes[-1]),
                    fact("body_bytes", body_bytes),
                    fact("added_percent", round(100 * added)),
                ),
            )
            return


def _added(trial: TrialEvidence, lengths: Sequence[int]) -> float:
    """What headers and seals add to what records of these lengths carry, as a share of it."""
    shake = trial.handshake
    sealed = 0 if shake is None else sealed_bytes(shake.version, shake.cipher)
    return len(lengths) * (sealed + RECORD_HEADER_BYTES) / max(1, sum(lengths) - len(lengths) * sealed)


def answer_records(trial: TrialEvidence, exchange: Exchange) -> tuple[TlsRecord, ...]:
    """The records that carried this answer, in order; those of which it is not known are left out."""
    if exchange.first_application_us is None or exchange.ended_us is None:
        return ()
    since_us, until_us = exchange.first_application_us, exchange.ended_us
    return tuple(
        one
        for one in trial.records
        if since_us <= one.at_us <= until_us and one.content_type == _APPLICATION and one.application is not False
    )


def _first_record(trial: TrialEvidence) -> TlsRecord | None:
    """The first of the answer; behind interim ones, which have records of their own, the one that brings its head."""
    if not trial.exchanges:
        return None
    exchange = trial.exchanges[0]
    until_us = exchange.head_us or 0 if exchange.interim else 0
    return next((one for one in answer_records(trial, exchange) if one.end_us is None or one.end_us >= until_us), None)


def _telling_record(trial: TrialEvidence) -> TlsRecord | None:
    """The first, or where that is small and brings nothing but the head, the one that brings the first of the body."""
    first = _first_record(trial)
    body_us = trial.exchanges[0].first_body_us if trial.exchanges else None
    if first is None or body_us is None or first.end_us is None or first.length_bytes > LARGE_RECORD_BYTES:
        return first
    own = (one for one in answer_records(trial, trial.exchanges[0]) if one.end_us is None or one.end_us >= body_us)
    return next(own, first) if first.end_us < body_us else first


def _overflow(trial: TrialEvidence) -> _Overflow | None:
    found, record, rtt_us = first_answer(trial), _telling_record(trial), rtt_of(trial)
    if found is None or record is None or record.end_us is None or rtt_us is None:
        return None
    if record.length_bytes <= LARGE_RECORD_BYTES:
        return None
    before = _bytes_before_wait(found[1], record)
    wait_us = record.end_us - record.at_us
    if before is None or wait_us < _LEAST_WAIT_RTT * rtt_us:
        return None
    mss, tickets = mss_of(trial), tickets_before(trial, found[0])
    least, most = (USUAL_WINDOW - _SPARE_SEGMENTS) * mss, (USUAL_WINDOW + _GROWN_SEGMENTS) * mss + tickets
    first = _first_record(trial)
    behind_head = first is not record and (trial.exchanges[0].first_readable_us or 0) < record.end_us
    # What brings a head by itself takes a segment of the window.
    left = -(RECORD_HEADER_BYTES + first.length_bytes) % mss if first is not None and behind_head else 0
    if not least - unfilled_by_tickets(trial, found[0]) <= before + left <= most:
        return None
    saving_us = record.end_us - _readable_us(trial, record)
    if saving_us < _LEAST_WAIT_RTT * rtt_us:
        # Where segments are small a repaired server's first record waits for as long.
        return None
    return _Overflow(
        saving_us=saving_us,
        behind_head=behind_head,
        length_bytes=record.length_bytes,
        bytes_before=before,
        wait_us=wait_us,
    )


def _waits(trial: TrialEvidence) -> bool:
    """Whether the first record took as long as one that waits for a window, whatever the reason."""
    record, rtt_us = _telling_record(trial), rtt_of(trial)
    if record is None or record.end_us is None or rtt_us is None:
        return False
    return record.end_us - record.at_us >= _LEAST_WAIT_RTT * rtt_us


def _bytes_before_wait(turn: Turn, record: TlsRecord) -> int | None:
    """What had come of the turn when the record stopped for the first time; None where it came in one go."""
    within = (gap for gap in turn.gaps() if record.at_us <= gap.start_us and gap.end_us <= (record.end_us or 0))
    return next((gap.bytes_before for gap in within), None)


def _readable_us(trial: TrialEvidence, record: TlsRecord) -> int:
    """When the first part of this record was here that a repaired server would have sealed alone."""
    received = sorted(
        ((one.at_us, one.size_bytes) for one in trial.transfers if one.direction is Direction.RECEIVED),
        key=lambda one: one[0],
    )
    since = sum(size for at_us, size in received if at_us < record.at_us)
    place = _stream_place(trial, record)
    start = since if place is None else place
    totals = accumulate(size for _, size in received)
    return next((at for (at, _), total in zip(received, totals, strict=True) if total >= start + _REPAIRED_BYTES), 0)


def _stream_place(trial: TrialEvidence, record: TlsRecord) -> int | None:
    """Where the record begins in all that the server sent; None when earlier ones were not kept."""
    if trial.truncated:
        return None
    before = trial.records[: trial.records.index(record)]
    return sum(RECORD_HEADER_BYTES + one.length_bytes for one in before)


def _overflowing(sure: Sure[_Overflow]) -> Finding:
    return Finding(
        id=FindingId.TLS_RECORD_OVERFLOW,
        severity=Severity.MEDIUM if any(one.behind_head for one in sure.seen) else Severity.HIGH,
        confidence=sure.confidence,
        saving_us=round(median(one.saving_us for one in sure.seen)),
        evidence=sure.facts(
            fact("triggered", True),
            fact("record_bytes", sure.seen[0].length_bytes),
            fact("bytes_before", sure.seen[0].bytes_before),
            fact("wait_ms", ms_of(median(one.wait_us for one in sure.seen))),
            *([fact("alpn", "h2")] if all(map(over_http2, sure.trials)) else []),
        ),
    )


def _over_http1_alone(sure: Sure[_Overflow]) -> Finding:
    return replace(_overflowing(sure), severity=Severity.LOW, saving_us=None)


def _stopped_by_small_window(trial: TrialEvidence) -> bool:
    """Whether the record had to wait after fewer bytes than the usual window has."""
    found, record = first_answer(trial), _telling_record(trial)
    if found is None or record is None or lost_packets(trial):
        return False
    before = _bytes_before_wait(found[1], record)
    return before is not None and before < (USUAL_WINDOW - _SPARE_SEGMENTS) * mss_of(trial)


def holds_back(lengths: Sequence[int], window_bytes: int) -> bool:
    """Whether a record of the first 14 KB holds back more than what could be read before it: those that grow do not.
    One that is whole within the first window keeps nobody waiting; where others follow, the server makes none larger.
    """
    ends = accumulate(RECORD_HEADER_BYTES + length for length in lengths[:-1])
    whole = (end <= window_bytes for end in ends)
    return any(large and not fits for large, fits in zip_longest(_jumps(lengths), whole, fillvalue=False))


def is_static(lengths: Sequence[int]) -> bool:
    """Whether any of the first 14 KB is a large record that none before it has led up to."""
    return any(_jumps(lengths))


def _jumps(lengths: Sequence[int]) -> list[bool]:
    before = accumulate(lengths, initial=0)
    return [
        carried < FIRST_FLIGHT_BYTES and length > LARGE_RECORD_BYTES + carried
        for length, carried in zip(lengths, before, strict=False)
    ]


def first_window_bytes(case: Case, trial: TrialEvidence) -> int:
    """What the server may send of an answer at first: where its window is known to be less than usual, that, and of
    either what tickets leave, which take packets of their own."""
    exchange = trial.exchanges[0] if trial.exchanges else None
    taken = tickets_before(trial, exchange) + unfilled_by_tickets(trial, exchange) if exchange is not None else 0
    return round(min(known_window(case) or USUAL_WINDOW, USUAL_WINDOW) * mss_of(trial)) - taken


def _not_triggered(case: Case, trials: list[TrialEvidence]) -> Verdicts:
    """Where the answer is smaller than the window: whether its records would be too large for a larger answer."""
    id = FindingId.TLS_RECORD_OVERFLOW
    # One that is spread may be a busy machine's; a server that paces does it each time.
    trial = next((trial for trial in trials if not is_paced(trial)), None)
    if trial is None:
        yield NotJudged(id=id, reason=NotJudgedReason.PACED)
        return
    lengths = [one.length_bytes for one in answer_records(trial, trial.exchanges[0])]
    first = first_answer(trial)
    small = first is not None and not first[1].cut and first[1].size_bytes < USUAL_WINDOW * mss_of(trial)
    if small and holds_back(lengths, first_window_bytes(case, trial)):
        yield Finding(
            id=id,
            severity=Severity.INFO,
            confidence=Confidence.MEDIUM,
            evidence=(fact("triggered", False), fact("record_bytes", max(lengths))),
        )
    elif small:
        yield NotJudged(id=id, reason=NotJudgedReason.RESPONSE_SMALL)


RULES: tuple[Rule, ...] = (record_overflow, record_tiny)
