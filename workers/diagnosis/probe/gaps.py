"""What a silence inside one turn of a server is put down to, each to one cause."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise

from workers.diagnosis.case import rtt_of
from workers.diagnosis.probe.flights import (
    Gap,
    Turn,
    answer_turn,
    handshake_turns,
    mss_of,
    packet_time_us,
    tickets_before,
)
from workers.measurement.evidence import Direction, Exchange, TrialEvidence
from workers.measurement.thresholds import ACK_DELAYS_US, LEAST_RTT, MOST_RTT

# When Linux sends a lost last segment again: by its probe after two round trips, and 200 ms more where it was alone, or
# by its timer, which begins at three (RFC 8985, 7.2; RFC 6298, 2.2) or is 200 ms beyond one.
_REPEATS_RTT = (2, 3)
# The window of nearly every server since 2011 (RFC 6928), and the smaller ones before.
USUAL_WINDOW = 10
_OLD_WINDOWS = (2, 3, 4)
# nginx before 1.5.6 wrote a handshake through a buffer of this size.
FLUSHED_BYTES = 4096
_FLUSHES = (1, 2, 3)
# How far sizes on the wire may be from whole segments and still be made of them.
_SEGMENT_TOLERANCE_BYTES = 16
# Of two full segments in a row the second is acknowledged at once.
_LEAST_PROMPT_SEGMENTS = 3
# Silences shorter than this part of a round trip may be the path's own unsteadiness.
_STALL_RTT = 0.3
# What is shorter than so many times the way's unsteadiness is no silence, but the way's.
_STALL_JITTERS = 1.5
# How unsteady a way is is known of a dozen handshakes of TCP, which seldom meet it at its quickest both there and back,
# nor at its slowest: by so many times that what comes later is sooner or later than it should be.
_SOONER_JITTERS, _LATER_JITTERS = 1.5, 2
# Packets on a slow link come apart by themselves; a stall is this many times longer.
_STALL_PACKETS = 4
_LEAST_STALL_US = 3_000
# What is held for an acknowledgement that nobody delays comes a round trip later, to so little.
_EXACTLY_US, _EXACTLY_RTT = 1_000, 0.02
# Where round trips differ by more than this part of one, a pause of about one may be the path's own.
_STEADY_RTT = 0.3
# Pauses of one cause differ by less than this part.
_ALIKE = 0.05
# Slow start doubles the window; where acknowledgements are delayed it is half as much again.
LEAST_GROWTH = 1.3
# What the path itself does to a sender that has filled its window: a round trip, and what queues add to it.
LONGEST_ROUND_RTT = 1.5


class GapKind(StrEnum):
    """`window`: the congestion window was full. `held`: Nagle's algorithm kept a last small segment until all before
    it was acknowledged. `server`: the server had nothing to send. `unclear`: it may be one or the other, or the way's:
    a server that has nothing more to send leaves neither full segments alone nor half a record behind."""

    WINDOW = "window"
    HELD = "held"
    SERVER = "server"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownGap:
    """A gap, what caused it, and the turn it lies in."""

    gap: Gap
    kind: GapKind
    turn: Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruler:
    """What the gaps of one connection are measured with. `jitter_us` is how unsteady its path is known to be;
    `window_segments` the server's initial window where it is known to be other than the usual one."""

    rtt_us: int
    mss: int
    jitter_us: int = 0
    window_segments: float | None = None

    @property
    def is_steady(self) -> bool:
        """Whether the round trips of this path differ by no good part of one."""
        return self.jitter_us <= _STEADY_RTT * self.rtt_us

    @property
    def misses_round_trips(self) -> bool:
        """Whether this path hides silences of a round trip: that none is seen says nothing of the server."""
        return _STALL_JITTERS * self.jitter_us > LEAST_RTT * self.rtt_us

    def near(self, us: float) -> bool:
        """Whether that is a round trip."""
        return LEAST_RTT * self.rtt_us <= us <= MOST_RTT * self.rtt_us

    def is_exact(self, us: float) -> bool:
        """Whether that is a round trip and nothing else."""
        return abs(us - self.rtt_us) <= max(_EXACTLY_US, _EXACTLY_RTT * self.rtt_us)

    def may_be_exact(self, us: float) -> bool:
        """Whether that is a round trip and what this path adds to it; never where that is a good part of one."""
        late_us = us - self.rtt_us
        return self.is_exact(us) or (self.is_steady and -self.jitter_us <= late_us <= 2 * self.jitter_us)

    def may_wait_for_ack(self, us: float) -> bool:
        """The same as `waits_for_ack`, on a path that is as unsteady as this one."""
        late_us = us - self.rtt_us
        return self.may_be_near(us) or any(self._may_be(late_us, least, most) for least, most in ACK_DELAYS_US)

    def waits_for_ack(self, us: float) -> bool:
        """A round trip, with or without a delayed acknowledgement."""
        return self.near(us) or self.waits_for_late_ack(us)

    def waits_for_late_ack(self, us: float) -> bool:
        """A round trip with a delayed acknowledgement."""
        return any(least <= us - self.rtt_us <= most for least, most in ACK_DELAYS_US)

    @property
    def waits_for_each_packet(self) -> bool:
        """Whether the window is so small that less than two full segments fill it: clients may delay the
        acknowledgement of these, and of no others (RFC 1122, 4.2.3.2)."""
        return self.window_segments is not None and self.window_segments < _LEAST_PROMPT_SEGMENTS

    def is_begun(self, gap: Gap) -> bool:
        """Whether less than a segment has come, and more than one is to come: no window is full by that, and Nagle's
        algorithm holds nothing back that fills a segment."""
        small = gap.bytes_before < self.mss - _SEGMENT_TOLERANCE_BYTES
        return small and gap.bytes_after > self.mss and (self.window_segments or USUAL_WINDOW) >= min(_OLD_WINDOWS)

    def may_be_repeated(self, us: float) -> bool:
        """Whether a last segment that got lost is sent again after so long. Nothing behind it tells of that loss."""
        least, most = ACK_DELAYS_US[-1]
        alone = self._may_be(us - 2 * self.rtt_us, least, most)
        again = (trips * self.rtt_us for trips in _REPEATS_RTT)
        return (
            self.may_wait_for_ack(us)
            or alone
            or any(self._may_be(us, LEAST_RTT * one, MOST_RTT * one) for one in again)
        )

    def may_be_repeated_twice(self, us: float) -> bool:
        """The same, where what was sent again by the probe got lost as well: then the timer begins with that."""
        least, most = ACK_DELAYS_US[-1]
        return any(self._may_be(us - trips * self.rtt_us, 2 * least, 2 * most) for trips in _REPEATS_RTT)

    def may_be_near(self, us: float) -> bool:
        """Whether that may be a round trip on a path that is as unsteady as this one."""
        return self._may_be(us, LEAST_RTT * self.rtt_us, MOST_RTT * self.rtt_us)

    def _may_be(self, us: float, least_us: float, most_us: float) -> bool:
        """Whether it is between these on a path that is as unsteady as this one."""
        return least_us - _SOONER_JITTERS * self.jitter_us <= us <= most_us + _LATER_JITTERS * self.jitter_us

    def is_alike(self, us: float, others_us: Sequence[int]) -> bool:
        """Whether it is as long as one of the others, but for what this path adds to it."""
        return any(abs(us - one) <= _ALIKE * one + self.jitter_us for one in others_us)

    def fills_window(self, size_bytes: int, spare: int) -> bool:
        """Whether that is the server's initial window, or more, less `spare` segments."""
        window = self.window_segments or USUAL_WINDOW
        return size_bytes >= (min(window, USUAL_WINDOW) - spare) * self.mss

    def is_old_window(self, size_bytes: int) -> bool:
        """Whether it is exactly as many full segments as small initial windows have; never where the server's is known
        to be larger than any of these."""
        may_be_old = self.window_segments is None or self.window_segments < USUAL_WINDOW
        return may_be_old and any(
            abs(size_bytes - window * self.mss) <= _SEGMENT_TOLERANCE_BYTES for window in _OLD_WINDOWS
        )

    def is_whole(self, size_bytes: int) -> bool:
        """Whether it is nothing but full segments: then more was there to be sent, unless by chance."""
        near = _SEGMENT_TOLERANCE_BYTES
        return size_bytes >= self.mss - near and (size_bytes + near) % self.mss <= 2 * near

    def is_flushed(self, size_bytes: int) -> bool:
        """Whether it is whole buffers of a server that flushes them, and full segments."""
        rests = (size_bytes - count * FLUSHED_BYTES for count in _FLUSHES)
        near = _SEGMENT_TOLERANCE_BYTES
        return any(rest >= -near and (rest + near) % self.mss <= 2 * near for rest in rests)


def ruler_of(trial: TrialEvidence, jitter_us: int = 0, window_segments: float | None = None) -> Ruler:
    return Ruler(rtt_us=rtt_of(trial) or 0, mss=mss_of(trial), jitter_us=jitter_us, window_segments=window_segments)


def handshake_gaps(trial: TrialEvidence, ruler: Ruler) -> tuple[KnownGap, ...]:
    """The silences inside the flights of the server's handshake."""
    turns, packet_us = handshake_turns(trial, _stall_us(trial, ruler)), packet_time_us(trial)

    def kind_of(gap: Gap, ruler: Ruler, turn: Turn) -> GapKind:
        return _handshake_kind(gap, ruler, packet_us, _unfilled_bytes(trial, turn, gap, ruler))

    known = tuple(_if_held(one, trial, ruler) for one in _known(turns, ruler, kind_of))
    stopped = {one.turn for one in known if one.kind is GapKind.WINDOW}
    grown = [_with_growth(one, ruler, packet_us) if one.turn in stopped else one for one in known]
    return tuple(_unless_it_fits(one, before, trial, ruler) for before, one in pairwise((None, *grown)) if one)


def _if_held(one: KnownGap, trial: TrialEvidence, ruler: Ruler) -> KnownGap:
    """What comes a round trip later, than the last packet before it or the first of its flight, small and out of the
    middle of a record, was in the kernel's hands. Where the window has room for more packets than the handshake took,
    nothing but Nagle's algorithm keeps it there."""
    secured = trial.tcp_secured
    taken = None if secured is None else secured.data_segments_in
    room = taken is not None and taken < min(ruler.window_segments or 0, USUAL_WINDOW)
    exact = ruler.is_exact(one.gap.duration_us) or ruler.is_exact(one.gap.period_us)
    small = one.gap.bytes_after < ruler.mss and exact
    return replace(one, kind=GapKind.HELD) if room and small and splits_record(trial, one.gap) else one


def _with_growth(one: KnownGap, ruler: Ruler, packet_us: int) -> KnownGap:
    """In a turn that a full window has stopped, so has the smaller one before it: slow start doubles it exactly."""
    before, after = (-(-size // ruler.mss) for size in (one.gap.flight_bytes, one.gap.next_bytes))
    round_trip = _is_round_trip(one.gap, ruler, packet_us)
    grown = one.kind is GapKind.UNCLEAR and round_trip and after == 2 * before
    return replace(one, kind=GapKind.WINDOW) if grown else one


def _unless_it_fits(one: KnownGap, before: KnownGap | None, trial: TrialEvidence, ruler: Ruler) -> KnownGap:
    """Behind a full window the next is half as large again at least: what ends the turn and would have fitted into that
    waits for something else. Nagle's algorithm, where it is small and out of the middle of a record."""
    if before is None or before.turn is not one.turn or {before.kind, one.kind} != {GapKind.WINDOW}:
        return one
    gap = one.gap
    if gap.flight_bytes + gap.bytes_after > LEAST_GROWTH * before.gap.flight_bytes:
        return one
    held = gap.bytes_after < ruler.mss and ruler.is_exact(gap.duration_us) and splits_record(trial, gap)
    return replace(one, kind=GapKind.HELD if held else GapKind.UNCLEAR)


def answer_gaps(trial: TrialEvidence, exchange: Exchange, ruler: Ruler) -> tuple[KnownGap, ...]:
    """The silences inside one answer, what came before its first byte included."""
    turn = answer_turn(trial, exchange, _stall_us(trial, ruler))
    if turn is None:
        return ()
    tickets = tickets_before(trial, exchange)

    # They leave so much of their segment unfilled: of the usual window's ten that one counts as a whole one.
    usual = (ruler.window_segments or USUAL_WINDOW) >= USUAL_WINDOW
    unfilled_bytes = -tickets % ruler.mss if usual else 0

    def kind_of(gap: Gap, ruler: Ruler, turn: Turn) -> GapKind:
        return _answer_kind(gap, ruler, turn, unfilled_bytes)

    known = [_unless_cut(one, trial, ruler, tickets) for one in _known((turn,), ruler, kind_of)]
    since_us = (exchange.head_us if exchange.interim else exchange.first_application_us) or 0
    own = (one.gap for one in known if one.kind is GapKind.SERVER)
    own_us = [gap.duration_us for gap in own if gap.start_us >= since_us]
    ended = (_unless_end_fits(one, before, trial, ruler) for before, one in pairwise((None, *known)) if one)
    return tuple(_unless_alike(one, own_us, ruler) for one in ended)


def _unless_end_fits(one: KnownGap, before: KnownGap | None, trial: TrialEvidence, ruler: Ruler) -> KnownGap:
    """A window that was full a round trip ago has become no smaller: where the rest of the answer, with a segment that
    each of its records may have left unfilled, is no more than that, it stopped for no window. What was held back is
    small, and out of the middle of a record."""
    gap, kinds = one.gap, {one.kind, before.kind if before else None}
    if before is None or kinds != {GapKind.WINDOW} or one.turn.cut or trial.handshake is None:
        return one
    ends = sum(gap.end_us - gap.period_us <= (record.end_us or 0) <= gap.end_us for record in trial.records)
    fits = gap.flight_bytes + gap.bytes_after + ends * ruler.mss <= before.gap.flight_bytes
    held = gap.bytes_after < ruler.mss and ruler.is_exact(gap.duration_us) and splits_record(trial, gap)
    return replace(one, kind=GapKind.HELD) if fits and held else one


def _unless_alike(one: KnownGap, own_us: Sequence[int], ruler: Ruler) -> KnownGap:
    """A server that sends piece by piece rests before the last as long as before the others: nothing need hold it."""
    alike = one.kind is GapKind.HELD and ruler.is_alike(one.gap.duration_us, own_us)
    return replace(one, kind=GapKind.UNCLEAR) if alike else one


def _unless_cut(one: KnownGap, trial: TrialEvidence, ruler: Ruler, tickets: int) -> KnownGap:
    """What pauses in the middle of a record, or between full packets, is no application: that has handed over more.
    What pauses elsewhere, and not for a round trip, may be one although as much was under way as fills a window."""
    gap = one.gap
    first = gap.flight_bytes == gap.bytes_before
    whole = ruler.is_whole(gap.flight_bytes) or (first and ruler.is_whole(gap.flight_bytes - tickets))
    cut = whole or splits_record(trial, gap)
    near = ruler.may_be_near(gap.duration_us) or ruler.may_be_near(gap.period_us)
    unclear = one.kind is GapKind.SERVER if cut else one.kind is GapKind.WINDOW and not near
    return replace(one, kind=GapKind.UNCLEAR) if unclear else one


def splits_record(trial: TrialEvidence, gap: Gap) -> bool:
    """Whether a TLS record had begun and not ended. Servers hand them over as a whole."""
    return any(one.at_us <= gap.start_us and gap.end_us <= (one.end_us or 0) for one in trial.records)


def _known(turns: tuple[Turn, ...], ruler: Ruler, kind_of: Callable[[Gap, Ruler, Turn], GapKind]) -> Iterator[KnownGap]:
    for turn in turns:
        for gap in turn.gaps():
            yield KnownGap(gap=gap, kind=kind_of(gap, ruler, turn), turn=turn)


def _is_round_trip(gap: Gap, ruler: Ruler, packet_us: int) -> bool:
    """Whether it is one, or from one flight to the next: a narrow link takes its time for a packet of that besides."""
    return any(map(ruler.near, (gap.duration_us, gap.period_us, gap.period_us - packet_us)))


def _unfilled_bytes(trial: TrialEvidence, turn: Turn, gap: Gap, ruler: Ruler) -> int:
    """What packets of less than a segment leave of theirs, where a server says parts of its handshake in packets of
    their own: a window counts packets. Those that were read together count as one."""
    came = (one for one in trial.transfers if one.direction is Direction.RECEIVED)
    sizes = (one.size_bytes for one in came if turn.start_us <= one.at_us < gap.start_us)
    return sum(ruler.mss - size_bytes for size_bytes in sizes if size_bytes < ruler.mss)


def _handshake_kind(gap: Gap, ruler: Ruler, packet_us: int, unfilled_bytes: int) -> GapKind:
    round_trip = _is_round_trip(gap, ruler, packet_us)
    if ruler.fills_window(gap.bytes_before + unfilled_bytes, 1):
        late = ruler.waits_for_each_packet and ruler.waits_for_late_ack(gap.duration_us)
        return GapKind.WINDOW if round_trip or late else _unless_near(gap, ruler)
    if ruler.is_begun(gap):
        return GapKind.SERVER
    held = gap.bytes_after < ruler.mss and ruler.is_flushed(gap.bytes_before)
    if held and ruler.waits_for_ack(gap.duration_us):
        return GapKind.HELD
    if ruler.is_old_window(gap.bytes_before) and round_trip:
        return GapKind.WINDOW
    return GapKind.UNCLEAR if ruler.is_whole(gap.flight_bytes) else _unless_near(gap, ruler)


def _answer_kind(gap: Gap, ruler: Ruler, turn: Turn, unfilled_bytes: int) -> GapKind:
    before, under_way = gap.bytes_before + unfilled_bytes, _under_way(gap, ruler, turn, unfilled_bytes)
    full = ruler.fills_window(before, 2) and ruler.fills_window(under_way, 2)
    if full and gap.period_us <= LONGEST_ROUND_RTT * ruler.rtt_us + 2 * ruler.jitter_us:
        return GapKind.WINDOW
    held = gap.bytes_after < ruler.mss and not turn.cut and not full
    if held and ruler.waits_for_ack(gap.duration_us):
        return GapKind.HELD
    return _unless_near(gap, ruler)


def _under_way(gap: Gap, ruler: Ruler, turn: Turn, unfilled_bytes: int) -> int:
    """What the server can have had under way when it stopped: that of the last round trip, since all before that had
    been acknowledged. A flight counts as a whole."""
    since_us = gap.start_us - MOST_RTT * ruler.rtt_us - 2 * ruler.jitter_us
    sizes = sum(one.size_bytes for one in turn.flights if since_us <= one.end_us <= gap.start_us)
    return sizes + (unfilled_bytes if turn.flights[0].end_us >= since_us else 0)


def _unless_near(gap: Gap, ruler: Ruler) -> GapKind:
    near = ruler.may_be_near(gap.duration_us) or ruler.may_be_near(gap.period_us)
    repeated = gap.bytes_after <= ruler.mss and ruler.may_be_repeated(gap.duration_us)
    return GapKind.UNCLEAR if near or repeated else GapKind.SERVER


def _stall_us(trial: TrialEvidence, ruler: Ruler) -> int:
    least_us = max(_STALL_RTT * ruler.rtt_us, _STALL_JITTERS * ruler.jitter_us, _STALL_PACKETS * packet_time_us(trial))
    return max(round(least_us), _LEAST_STALL_US)
