"""The rule on answers that begin in time and then stop."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median, median_low

from workers.diagnosis.case import Case, Verdicts
from workers.diagnosis.probe.begun_windows import begun
from workers.diagnosis.probe.flights import Gap, Turn, answer_turn, packet_time_us
from workers.diagnosis.probe.gaps import LEAST_GROWTH, GapKind, KnownGap, Ruler, answer_gaps, ruler_of, splits_record
from workers.diagnosis.probe.slow_start import needed_us
from workers.diagnosis.probe.thinking import begun_us
from workers.diagnosis.probe.weighing import ASKED, LEAST_SEEN, Sure, fact, jitter_us, ms_of, visits, weigh
from workers.diagnosis.probe.windows import (
    answer_alone,
    exact_window,
    first_answer,
    unfilled_at_first,
    unfilled_by_pieces,
    unfilled_bytes,
    usual_window_after,
    window_for,
    with_tickets_whole,
)
from workers.measurement.evidence import TrialEvidence
from workers.measurement.finding import Confidence, Finding, FindingId, Severity
from workers.measurement.thresholds import LEAST_RTT

# Shorter pauses in a body are within what retransmissions and busy machines do.
MIN_BODY_STALL_US = 150_000
# What is to be told with medium severity costs so much at least.
_WORTH_TELLING_US = 50_000
# A saving is known where it is at least this part of what it may be.
_KNOWN = 0.92
# By so many segments servers' pieces, and what windows have grown to, may differ from what is computed.
_SLACK_SEGMENTS = 2
# Beside pauses that are surely the server's, shorter ones are too that stand out of all that the way does.
_SHORT_RTT, _LEAST_SHORT_US = 0.05, 10_000
_JITTERS, _PACKETS = 3, 4


def body_stall(case: Case) -> Verdicts:
    """http.body_stall: the answer begins in time and then stops, not for the network."""
    id, jitter, window = FindingId.HTTP_BODY_STALL, jitter_us(case), exact_window(case)

    def look(trial: TrialEvidence) -> _Stall | None:
        return _stall(trial, ruler_of(trial, jitter, window))

    def unsure(trial: TrialEvidence) -> bool:
        ruler = ruler_of(trial, jitter, window)
        unclear, full = (pauses_in(trial, ruler, kind) for kind in (GapKind.UNCLEAR, GapKind.WINDOW))
        pieces = unclear + [one for one in full if _may_be_piece(trial, one.gap, ruler)]
        long = any(_is_long(one.gap.duration_us, ruler) for one in full)
        return long or _is_stalled(unclear) or (len(pieces) >= LEAST_SEEN and _is_stalled(pieces))

    trials = [trial for trial in visits(case, ASKED) if first_answer(trial) is not None]
    sure = weigh(case, id, trials, look, counts_round_trips=False, unsure=unsure)
    if isinstance(sure, Sure):
        savings_us = [one.saving_us for one in sure.seen]
        agreed = min(savings_us) >= _KNOWN * median(savings_us)
        known = agreed and all(one.known for one in sure.seen)
        yield Finding(
            id=id,
            severity=Severity.MEDIUM,
            confidence=sure.confidence if known else Confidence.MEDIUM,
            # Connections that differ by a round trip have no mean.
            saving_us=round(median(savings_us) if agreed else median_low(savings_us)),
            evidence=sure.facts(
                fact("gap_ms", ms_of(median(one.pause_us for one in sure.seen))),
                fact("pauses", sure.seen[0].pauses),
                fact("bytes_before", sure.seen[0].bytes_before),
                fact("body_bytes", sure.trials[0].exchanges[0].body_bytes),
            ),
        )
    elif sure is not None:
        yield sure


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stall:
    """Pauses of the server within one answer, and how much sooner it would have ended in one go. While a page needs
    further round trips anyway, a pause may cost nothing. The saving is `known` where it would be the same for pieces
    that still leave one by one, for a segment or two more or less, for every window that the connection may have begun
    with, and without pauses that may be the server's too; and where the pauses that show are all that was lost."""

    pauses: int
    pause_us: int
    bytes_before: int
    saving_us: int
    known: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Needed:
    """What an answer takes in one go, and at least and at most for all that is not known of its segments and of its
    window."""

    us: int
    least_us: int
    most_us: int


def pauses_in(trial: TrialEvidence, ruler: Ruler, kind: GapKind) -> list[KnownGap]:
    """Of that kind, within the first answer."""
    exchange = trial.exchanges[0]
    begun = begun_us(trial, exchange) or 0
    return [one for one in answer_gaps(trial, exchange, ruler) if one.kind is kind and one.gap.start_us >= begun]


def _stall(trial: TrialEvidence, ruler: Ruler) -> _Stall | None:
    pauses = pauses_in(trial, ruler, GapKind.SERVER)
    if not _is_stalled(pauses):
        return None
    turn = answer_alone(trial, trial.exchanges[0], pauses[0].turn)
    own = [one.gap for one in pauses] + _others(trial, ruler, pauses)
    lengths_us = [gap.duration_us for gap in own] + _short_pauses_us(trial, ruler)
    begun = max(turn.start_us, begun_us(trial, trial.exchanges[0]) or 0)
    paused_us, span_us = sum(lengths_us), turn.end_us - begun
    needed = _needed(trial, turn, ruler, own)
    saving_us = min(paused_us, span_us - needed.us)
    if saving_us < _WORTH_TELLING_US:
        return None
    return _Stall(
        pauses=len(lengths_us),
        pause_us=paused_us,
        bytes_before=pauses[0].gap.bytes_before,
        saving_us=saving_us,
        known=paused_us >= _KNOWN * (span_us - needed.us)
        and min(paused_us, span_us - needed.most_us)
        >= _KNOWN * min(paused_us + _unclear_us(trial, ruler, own), span_us - needed.least_us),
    )


def _others(trial: TrialEvidence, ruler: Ruler, pauses: Sequence[KnownGap]) -> list[Gap]:
    """Pauses beside one that is surely the server's: as long behind full packets, since it sends piece by piece, and
    some of them end where a packet does; or for about a round trip behind a piece. But what a pause has parted is
    acknowledged in parts, and what that lets out is parted by as much a round trip later."""
    unclear = [one.gap for one in pauses_in(trial, ruler, GapKind.UNCLEAR)]
    ends_us = [gap.end_us for gap in (*unclear, *(one.gap for one in pauses))]
    own = (gap for gap in unclear if not any(ruler.is_exact(gap.end_us - end_us) for end_us in ends_us))
    sure = [one.gap.duration_us for one in pauses]
    return [gap for gap in own if _is_behind_piece(trial, gap, ruler) or _is_alike(gap, sure, ruler)]


def _unclear_us(trial: TrialEvidence, ruler: Ruler, own: Sequence[Gap]) -> int:
    """How long the answer stopped besides, for whatever reason but what is surely a full window."""
    kinds = (GapKind.UNCLEAR, GapKind.HELD, GapKind.WINDOW)
    other = (one for kind in kinds for one in pauses_in(trial, ruler, kind) if one.gap not in own)
    return sum(
        one.gap.duration_us for one in other if one.kind is not GapKind.WINDOW or _may_end(trial, one.gap, ruler)
    )


def _may_end(trial: TrialEvidence, gap: Gap, ruler: Ruler) -> bool:
    """Whether what came before a full window's pause may be all that the server had: it is no round trip by just that,
    and ends with a record."""
    exact = any(map(ruler.may_be_exact, (gap.duration_us, gap.period_us)))
    return not exact and _ends_there(trial, gap, ruler)


def _may_be_piece(trial: TrialEvidence, gap: Gap, ruler: Ruler) -> bool:
    """The same however long it paused, where no more came behind it, as would once a full window is acknowledged."""
    return gap.next_bytes < LEAST_GROWTH * gap.flight_bytes and _ends_there(trial, gap, ruler)


def _ends_there(trial: TrialEvidence, gap: Gap, ruler: Ruler) -> bool:
    return not ruler.is_whole(gap.flight_bytes) and not splits_record(trial, gap)


def _is_alike(gap: Gap, sure_us: Sequence[int], ruler: Ruler) -> bool:
    return not ruler.may_be_near(gap.duration_us) and ruler.is_alike(gap.duration_us, sure_us)


def _is_behind_piece(trial: TrialEvidence, gap: Gap, ruler: Ruler) -> bool:
    """Whether nothing but the server stops there: a window is full by whole packets, and Nagle's algorithm holds less
    than one back."""
    whole = ruler.is_whole(gap.flight_bytes) or splits_record(trial, gap)
    return gap.bytes_after > ruler.mss and not whole


def _short_pauses_us(trial: TrialEvidence, ruler: Ruler) -> list[int]:
    """What else was silence within the first answer, before any of it can have been acknowledged: pieces of a page that
    trickles fill the window in small packets, and only the pause behind the last of them shows at length."""
    exchange = trial.exchanges[0]
    least_us = max(
        _LEAST_SHORT_US, _SHORT_RTT * ruler.rtt_us, _JITTERS * ruler.jitter_us, _PACKETS * packet_time_us(trial)
    )
    turn, begun = answer_turn(trial, exchange, round(least_us)), begun_us(trial, exchange) or 0
    known = {one.gap.start_us for one in answer_gaps(trial, exchange, ruler)}
    if turn is None:
        return []
    until_us = turn.start_us + LEAST_RTT * ruler.rtt_us
    short = (gap for gap in turn.gaps() if begun <= gap.start_us and gap.end_us < until_us)
    return [gap.duration_us for gap in short if gap.start_us not in known]


def _needed(trial: TrialEvidence, turn: Turn, ruler: Ruler, own: Sequence[Gap]) -> _Needed:
    """From the first byte to the last: the round trips of its window, and the packets one after the other where the
    link is narrow. What came with it before take segments of their own, and so do records of some servers."""
    exchange, packet_us = trial.exchanges[0], packet_time_us(trial)
    ahead = with_tickets_whole(trial, exchange, turn) - turn.size_bytes
    first, *others = unfilled_bytes(trial, exchange, turn, ruler)
    flights = zip(turn.flights, (ahead + first, *others), strict=True)
    whole = replace(turn, flights=tuple(replace(one, size_bytes=one.size_bytes + left) for one, left in flights))
    paused_us = {gap.start_us for gap in own}
    began = begun(trial, exchange, whole, ruler, paused_us)
    window = began.nearest(window_for(whole, ruler, paused_us, usual_window_after(trial)))
    left = unfilled_at_first(trial, exchange, window, ruler.mss) if any((first, *others)) else 0
    apart = max(left, unfilled_by_pieces(trial, exchange, turn, ruler.mss, paused_us))
    slack = _SLACK_SEGMENTS * ruler.mss

    def us(more: int, window: int = window) -> int:
        # What is not there takes room in the window and no time on the link.
        size_bytes, virtual = turn.size_bytes + ahead + more, more - left
        return needed_us(size_bytes, ruler, window, packet_us) - virtual * packet_us // ruler.mss

    return _Needed(
        us=us(left),
        least_us=min(us(left - slack), us(left, began.most or max(window, turn.size_bytes))),
        most_us=max(us(apart + slack), us(left, began.least)),
    )


def _is_stalled(pauses: Sequence[KnownGap]) -> bool:
    """Whether one pause is long, or many short ones are together."""
    lengths = [one.gap.duration_us for one in pauses]
    return max(lengths, default=0) > MIN_BODY_STALL_US or (
        len(lengths) >= LEAST_SEEN and sum(lengths) > MIN_BODY_STALL_US
    )


def _is_long(us: int, ruler: Ruler) -> bool:
    """Whether a full window's pause is so much longer than a round trip that the server may have paused too."""
    return not ruler.may_be_near(us) and us - ruler.rtt_us >= _WORTH_TELLING_US
