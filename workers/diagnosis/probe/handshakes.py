"""Rules on the flights of the TLS handshake: what the server waits for in the middle of it.

A pause before the server's first byte is its key's, as long as handshakes without a signature do not wait too; a pause
after that is put down to one cause by `gaps`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median

from workers.diagnosis.case import Case, Rule, Verdicts, rtt_of
from workers.diagnosis.probe.compression import MOST_VISITORS, spared_browsers
from workers.diagnosis.probe.flights import Gap, handshake_turns, mss_of, packet_time_us
from workers.diagnosis.probe.gaps import (
    USUAL_WINDOW,
    GapKind,
    KnownGap,
    Ruler,
    handshake_gaps,
    ruler_of,
    splits_record,
)
from workers.diagnosis.probe.late_begins import first_packet_bytes, lead_us
from workers.diagnosis.probe.signatures import MIN_STALL_US, begins_late, key_cost, server_key
from workers.diagnosis.probe.weighing import (
    Sure,
    fact,
    is_blind,
    jitter_us,
    ms_of,
    visits,
    weigh,
)
from workers.diagnosis.probe.windows import SMALL_BELOW, known_window, sooner_us, spared_us
from workers.measurement.evidence import Trial, TrialEvidence
from workers.measurement.finding import Confidence, Finding, FindingId, NotJudged, NotJudgedReason, Severity
from workers.measurement.thresholds import LEAST_RTT

# A stall differs from one connection to the next by less than this part of it, or it is no property of the server.
_STEADY = 0.5
# The content type of all that is sealed in TLS 1.3 (RFC 8446, 5.2).
_SEALED = 23
# What a delayed acknowledgement adds at least to a wait for it (Linux delays by 40 ms).
_LEAST_DELAY_US = 25_000


def cert_flush_stall(case: Case) -> Verdicts:
    """tls.cert_flush_stall: Nagle's algorithm holds the end of the server's handshake until we have acknowledged it."""
    id, window = FindingId.TLS_CERT_FLUSH_STALL, known_window(case)
    sure = _sight(case, id, GapKind.HELD, window)
    if isinstance(sure, Sure):
        # A server whose window is four segments stops at the same byte: unless its window is known, that may be it.
        confidence = sure.confidence if window is not None else Confidence.MEDIUM
        yield _paused(id, sure, confidence)
        return
    held = case.once(_held_for_acks)
    if isinstance(held, Sure):
        yield _paused(id, held, held.confidence)
        return
    left_open = held or sure
    if left_open is not None:
        yield left_open


def _held_for_acks(case: Case) -> Sure[tuple[KnownGap, ...]] | NotJudged | None:
    """What shows at whatever byte the server stops: the rest comes a round trip later, and where we delay our
    acknowledgements later by just that. Nothing but our acknowledgement can have been waited for."""
    id, jitter = FindingId.TLS_CERT_FLUSH_STALL, jitter_us(case)
    delayed = [trial for trial in case.evidence.of(Trial.DELAYED_ACK) if handshake_turns(trial)]
    # Of several turns only some may be: full segments are acknowledged at once.
    places = [found for trial in delayed if (found := {place for place, _ in _late_rests(trial, jitter)})]
    if not places:
        return None
    held = set.intersection(*places)

    def soon(trial: TrialEvidence) -> tuple[KnownGap, ...] | None:
        ruler = ruler_of(trial, jitter)
        rests = (one for place, one in _small_rests(trial, ruler) if place in held)
        return tuple(one for one in rests if ruler.near(one.gap.duration_us)) or None

    def late(trial: TrialEvidence) -> tuple[KnownGap, ...] | None:
        return tuple(one for place, one in _late_rests(trial, jitter) if place in held) or None

    quick = weigh(case, id, [trial for trial in visits(case) if handshake_turns(trial)], soon)
    slow = weigh(case, id, delayed, late, counts_round_trips=False)
    if not isinstance(quick, Sure) or not isinstance(slow, Sure):
        return quick if not isinstance(quick, Sure) else slow
    apart_us = min(map(_paused_us, slow.seen)) - max(map(_paused_us, quick.seen))
    return quick if apart_us > _LEAST_DELAY_US else None


def _small_rests(trial: TrialEvidence, ruler: Ruler) -> Iterator[tuple[int, KnownGap]]:
    """Pauses with less than a segment behind them, and in which turn of the server each is."""
    places = {turn.asked_us: place for place, turn in enumerate(handshake_turns(trial))}
    for one in handshake_gaps(trial, ruler):
        if one.gap.bytes_after < ruler.mss and one.kind is not GapKind.WINDOW:
            yield places[one.turn.asked_us], one


def _late_rests(trial: TrialEvidence, jitter: int) -> list[tuple[int, KnownGap]]:
    ruler = ruler_of(trial, jitter)
    return [found for found in _small_rests(trial, ruler) if ruler.waits_for_late_ack(found[1].gap.duration_us)]


def _paused_us(gaps: tuple[KnownGap, ...]) -> int:
    return sum(one.gap.duration_us for one in gaps)


def chain_exceeds_iw(case: Case) -> Verdicts:
    """tls.chain_exceeds_iw: the server's handshake is larger than its initial window."""
    id, window = FindingId.TLS_CHAIN_EXCEEDS_IW, known_window(case)
    sure = _sight(case, id, GapKind.WINDOW, window)
    if not isinstance(sure, Sure):
        if sure is not None:
            yield sure
        return
    if not all(map(_is_for_chain, sure.seen, sure.trials)):
        yield NotJudged(id=id, reason=NotJudgedReason.PADDED)
    elif (window or USUAL_WINDOW) >= SMALL_BELOW:
        yield _too_long(case, sure, round(median(map(_rest_us, sure.seen))))
    elif _fits_usual_window(sure):
        # A chain of usual size: it is the window that is too small, and that is told with all that it costs.
        yield NotJudged(id=id, reason=NotJudgedReason.HIDDEN, hidden_by=FindingId.TCP_IW_SMALL)
    else:
        yield _too_long(case, sure, _beyond_usual_us(sure))


def _too_long(case: Case, sure: Sure[tuple[KnownGap, ...]], saving_us: int) -> Finding:
    """With what tells how to shorten it: the kind of the server's key, and the version. Where browsers are sent it
    compressed, so that it fits, the round trip is that of others.
    """
    told, key = _paused(FindingId.TLS_CHAIN_EXCEEDS_IW, sure, sure.confidence), server_key(case)
    key_type = fact("key_type", None if key is None else key.key_type)
    versions = {trial.handshake.version for trial in sure.trials if trial.handshake is not None}
    version = fact("version", versions.pop() if len(versions) == 1 else None)
    spared = spared_browsers(case, max(gaps[0].gap.bytes_after for gaps in sure.seen))
    evidence = (*told.evidence, key_type, version, fact("compressed_for", spared or None))
    if MOST_VISITORS in spared:
        return replace(told, severity=Severity.LOW, saving_us=None, evidence=evidence)
    return replace(told, saving_us=saving_us, evidence=evidence)


def _rest_us(gaps: tuple[KnownGap, ...]) -> int:
    """How much sooner the handshake would end with what fits the window: a narrow link takes its time for the rest.
    What it waited for besides is told for itself."""
    turn, first_us = gaps[0].turn, gaps[0].gap.start_us
    mine = {one.gap for one in gaps}
    others = (gap.duration_us for gap in turn.gaps() if gap.start_us > first_us and gap not in mine)
    return turn.end_us - first_us - sum(others)


def _is_for_chain(gaps: tuple[KnownGap, ...], trial: TrialEvidence) -> bool:
    """Whether it would have fitted with hardly any certificates: servers may fill their records up to any size, and the
    shortest chain takes one."""
    sent = None if trial.handshake is None else trial.handshake.certificate_message_bytes
    return sent is None or gaps[0].turn.size_bytes - sent + _least_record_bytes(trial) <= gaps[0].gap.bytes_before


def _least_record_bytes(trial: TrialEvidence) -> int:
    """What the smallest sealed record of its handshake carries."""
    until_us = 0 if trial.handshake is None else trial.handshake.ended_us or 0
    sealed = (one.length_bytes for one in trial.records if one.content_type == _SEALED and one.at_us <= until_us)
    return min(sealed, default=0)


def _beyond_usual_us(sure: Sure[tuple[KnownGap, ...]]) -> int:
    """What the handshake would wait although the window were the usual one: the rest is claimed by `tcp.iw_small`."""
    seen = zip(sure.seen, sure.trials, strict=True)
    return round(
        median(sum(one.gap.duration_us for one in gaps) - spared_us(gaps, mss_of(trial)) for gaps, trial in seen)
    )


def handshake_stall(case: Case) -> Verdicts:
    """tls.handshake_stall: the server stops in the middle of its handshake, or before each, and not for the network."""
    sure = _sight(case, FindingId.TLS_HANDSHAKE_STALL, GapKind.SERVER, known_window(case), least_us=MIN_STALL_US)
    if not isinstance(sure, Sure):
        begun = begins_late(case)
        if isinstance(begun, Sure):
            yield _late_begin(begun)
            return
        left_open = sure or begun
        if left_open is not None and not isinstance(case.once(_held_for_acks), Sure):
            yield left_open
        return
    pauses = [_paused_us(gaps) for gaps in sure.seen]
    middle = median(pauses)
    if max(abs(pause - middle) for pause in pauses) > _STEADY * middle:
        yield NotJudged(id=FindingId.TLS_HANDSHAKE_STALL, reason=NotJudgedReason.NOT_REPEATED)
        return
    # A small rest may have waited for our acknowledgement, and have got lost besides: that leaves no other trace.
    small = (gaps[-1].gap.bytes_after < mss_of(trial) for gaps, trial in zip(sure.seen, sure.trials, strict=True))
    may_be_held = all(small) and min(pauses) > sure.rtt_us
    confidence = Confidence.MEDIUM if may_be_held else sure.confidence
    told, window = _paused(FindingId.TLS_HANDSHAKE_STALL, sure, confidence, Severity.MEDIUM), known_window(case)
    needless_us = round(median(sooner_us(*one, window) for one in zip(sure.seen, sure.trials, strict=True)))
    yield replace(told, saving_us=max(0, min(told.saving_us or 0, needless_us)) or None)


def _late_begin(sure: Sure[int]) -> Finding:
    """A pause before the server's first word, in handshakes that continue a session too."""
    late_us = round(median(sure.seen))
    return Finding(
        id=FindingId.TLS_HANDSHAKE_STALL,
        severity=Severity.MEDIUM,
        confidence=sure.confidence,
        saving_us=late_us,
        evidence=sure.facts(fact("gap_ms", ms_of(late_us)), fact("bytes_before", 0)),
    )


def _sight(
    case: Case, id: FindingId, kind: GapKind, window: float | None, *, least_us: int = 0
) -> Sure[tuple[KnownGap, ...]] | NotJudged | None:
    jitter = jitter_us(case)

    def gaps_of(trial: TrialEvidence) -> tuple[KnownGap, ...]:
        return handshake_gaps(trial, ruler_of(trial, jitter, window))

    def look(trial: TrialEvidence) -> tuple[KnownGap, ...] | None:
        return tuple(one for one in gaps_of(trial) if one.kind is kind and one.gap.duration_us >= least_us) or None

    def unsure(trial: TrialEvidence) -> bool:
        ruler = ruler_of(trial, jitter, window)
        unclear = (one.gap for one in gaps_of(trial) if one.kind is GapKind.UNCLEAR)
        return any(gap.duration_us >= least_us and _may_be(kind, gap, ruler, trial) for gap in unclear)

    trials = [trial for trial in visits(case) if handshake_turns(trial)]
    quickest_us = min((lead_us(trial) or 0 for trial in trials), default=0)
    known = [gaps_of(trial) for trial in trials]
    stops_bytes = _stops_behind_bytes(known)
    begun = {one.gap.bytes_before for gaps in known for one in gaps if ruler_of(trials[0]).is_begun(one.gap)}

    def blind(trial: TrialEvidence) -> bool:
        ended = handshake_turns(trial)[0].size_bytes <= stops_bytes
        # Where it stops too, what is left may be so small that it cannot be told why.
        alike = kind is GapKind.SERVER and any(one.gap.bytes_before in begun for one in gaps_of(trial))
        return is_blind(trial) or ended or alike or _may_be_several_flights(trial, quickest_us)

    told = weigh(case, id, trials, look, counts_round_trips=kind is not GapKind.SERVER, blind=blind, unsure=unsure)
    missed = told is None and any(_is_missed(kind, trial, ruler_of(trial, jitter, window)) for trial in trials)
    return NotJudged(id=id, reason=NotJudgedReason.UNSTEADY) if missed else told


def _is_missed(kind: GapKind, trial: TrialEvidence, ruler: Ruler) -> bool:
    """Whether the handshake is large enough for such a wait, and the way hides that."""
    size_bytes = max(turn.size_bytes for turn in handshake_turns(trial))
    may_wait = {GapKind.WINDOW: ruler.fills_window(size_bytes, 1), GapKind.HELD: size_bytes > ruler.mss}
    return ruler.misses_round_trips and may_wait.get(kind, False)


def _stops_behind_bytes(known: Sequence[tuple[KnownGap, ...]]) -> int:
    """Behind how much of its first flight the server stops, each time that it does: a handshake that is no longer, as
    that without the key share of post-quantum exchange, says nothing of it. 0 where that differs."""
    first = {gaps[0].gap.bytes_before for gaps in known if gaps}
    return first.pop() if len(first) == 1 else 0


def _may_be_several_flights(trial: TrialEvidence, quickest_us: int) -> bool:
    """Whether the first flight came with a single read, and a round trip later than in another connection: a read has
    the stamp of its last packet alone, and how late we were for the first leaves no other trace."""
    first = handshake_turns(trial)[0].flights[0]
    several_packets = first.size_bytes > mss_of(trial)
    late_us = (lead_us(trial) or 0) - quickest_us
    return not first.spread_us and several_packets and late_us >= LEAST_RTT * (rtt_of(trial) or 0)


def _may_be(kind: GapKind, gap: Gap, ruler: Ruler, trial: TrialEvidence) -> bool:
    """Whether an unclear pause may be of that kind: what it is not is seen by the bytes before and behind it. What was
    held back may be a record of its own, which waits behind a small packet for a round trip and nothing else."""
    if kind is GapKind.WINDOW:
        return ruler.fills_window(gap.bytes_before, 1) or ruler.is_old_window(gap.bytes_before)
    cut = ruler.is_flushed(gap.bytes_before) or splits_record(trial, gap)
    behind_small = ruler.is_exact(gap.duration_us) and not ruler.is_whole(gap.flight_bytes)
    return kind is GapKind.SERVER or (gap.bytes_after < ruler.mss and (cut or behind_small))


def _paused(
    id: FindingId,
    sure: Sure[tuple[KnownGap, ...]],
    confidence: Confidence,
    severity: Severity = Severity.HIGH,
) -> Finding:
    """What it costs is the time in which nothing came, less what the next packet takes anyway."""
    paused_us = median(map(_paused_us, sure.seen))
    saving_us = round(median(map(_spared_us, sure.seen, sure.trials)))
    first = sure.seen[0][0]
    mss = mss_of(sure.trials[0])
    return Finding(
        id=id,
        severity=severity,
        confidence=confidence,
        saving_us=saving_us,
        evidence=sure.facts(
            fact("gap_ms", ms_of(paused_us)),
            fact("gap_rtt", round(paused_us / (sure.rtt_us or 1), 2)),
            fact("bytes_before", first.gap.bytes_before),
            fact("bytes_after", first.gap.bytes_after),
            fact("handshake_bytes", first.turn.size_bytes),
            fact("mss_bytes", mss),
        ),
    )


def _spared_us(gaps: tuple[KnownGap, ...], trial: TrialEvidence) -> int:
    """A narrow link takes its time for the packet behind each pause; no longer than for the handshake's first."""
    mss = mss_of(trial)
    first_us = (lead_us(trial) or 0) * mss / first_packet_bytes(trial, gaps[0].turn)
    packet_us = min(first_us, packet_time_us(trial))
    return round(_paused_us(gaps) - sum(packet_us * min(1, one.gap.next_bytes / mss) for one in gaps))


def _fits_usual_window(sure: Sure[tuple[KnownGap, ...]]) -> bool:
    sizes = (gaps[0].turn.size_bytes / mss_of(trial) for gaps, trial in zip(sure.seen, sure.trials, strict=True))
    return max(sizes) <= USUAL_WINDOW


RULES: tuple[Rule, ...] = (cert_flush_stall, chain_exceeds_iw, handshake_stall, key_cost)
