"""Which connection a deep probe makes next, from what those before it showed.

A healthy site is asked once for each thing there is to know; what looks suspicious is asked again until a rule can tell
chance from a setting. Suspicion costs a connection and nothing else, so it is wide where the rules are narrow.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from workers.measurement.evidence import Direction, Exchange, Trial, TrialEvidence
from workers.measurement.failure import FailureKind
from workers.measurement.thresholds import (
    LARGE_CHAIN_BYTES,
    MIN_RTT_US,
    QUIC_FIRST_FLIGHT_BYTES,
    is_far_slower,
)
from workers.measurement.tls_records import TLS13

MAX_CONNECTIONS = 36
# What rules ask for: seen three times of three; five resumptions that all failed; ten that failed sometimes.
_TIMES = 3
_NEVER = 5
_SOMETIMES = 10
# How many more connections are made in place of those that lost packets.
_MAX_SPARE = 2
_SUSPICIOUS_RTT = 0.5
# Linux delays an acknowledgement by 40 ms at least; rules look for 35 and more.
_DELAY_US = 25_000
_SMALL_WINDOW_SEGMENTS = 9.5
_USUAL_MSS = 1460
# A server that says these has answered what it will always answer.
_FINAL = frozenset({FailureKind.TLS_ALERT, FailureKind.TLS_FAILED, FailureKind.TLS_NOT_SPOKEN})

_SECURE = (
    Trial.FULL,
    # Before the others take up all sessions that there are.
    Trial.EARLY_DATA,
    Trial.RESUMED,
    Trial.RESUMED_ELSEWHERE,
    Trial.TLS12,
    Trial.TLS12_TICKET,
    Trial.TLS12_SESSION_ID,
    Trial.DELAYED_ACK,
    Trial.CLASSICAL,
    Trial.HTTP2,
    Trial.HTTP3,
    Trial.COMPRESSED,
    Trial.PLAIN,
    Trial.OTHER_FAMILY,
)
_PLAIN = (Trial.FULL, Trial.DELAYED_ACK, Trial.OTHER_FAMILY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What may be tried at a target. `http3`: it says that it speaks it. `classical`: it dies of the hybrid hello.
    `elsewhere` are further addresses of the name. `given_up` are trials that cannot be made any more."""

    secure: bool
    other_family: bool = False
    http3: bool = False
    classical: bool = False
    elsewhere: tuple[str, ...] = ()
    given_up: frozenset[Trial] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One connection: how often it asks, whether once more after a pause, whether it offers tickets. `address` is
    another than that of all others."""

    trial: Trial
    asks: int = 1
    after_pause: bool = False
    tickets: bool = True
    address: str | None = None


def next_step(seen: Sequence[TrialEvidence], scope: Scope) -> Step | None:
    """None when enough is known, or enough was asked."""
    if len(seen) >= MAX_CONNECTIONS:
        return None
    if _compares_families(seen):
        return Step(trial=Trial.CLASSICAL if scope.classical else Trial.FULL, asks=0)
    made = Counter(trial.trial for trial in seen)
    kinds = [kind for kind in (_SECURE if scope.secure else _PLAIN) if _applies(kind, seen, scope)]
    for wanted in (_at_least, _at_most):
        for kind in kinds:
            if made[kind] < wanted(kind, seen, scope):
                return _step(kind, made[kind], seen, scope)
    return None


def planned(seen: Sequence[TrialEvidence], scope: Scope) -> int:
    """To how many connections it comes as far as is known by now. What is suspected on the way adds to it."""
    made = Counter(trial.trial for trial in seen)
    kinds = [kind for kind in (_SECURE if scope.secure else _PLAIN) if _applies(kind, seen, scope)]
    left = sum(max(0, _at_most(kind, seen, scope) - made[kind]) for kind in kinds)
    # Between those of the other family, and so one less.
    left += max(0, _TIMES - 1 - made[Trial.OTHER_FAMILY]) if _families_differ(seen) else 0
    return min(len(seen) + left + _compares_families(seen), max(MAX_CONNECTIONS, len(seen)))


def _applies(kind: Trial, seen: Sequence[TrialEvidence], scope: Scope) -> bool:
    if kind in scope.given_up:
        return False
    if kind is Trial.EARLY_DATA:
        # Tickets of HTTP/3 are for HTTP/3 alone.
        over_tcp = (one.handshake for one in seen if one.trial is not Trial.HTTP3)
        return any(shaken.max_early_data_bytes for shaken in over_tcp if shaken is not None)
    if kind in (Trial.TLS12_TICKET, Trial.TLS12_SESSION_ID):
        return any(one.trial is Trial.TLS12 and _secured(one) for one in seen)
    if kind is Trial.RESUMED_ELSEWHERE:
        return bool(scope.elsewhere) and any(map(_resumed, _of(seen, Trial.RESUMED)))
    if kind is Trial.COMPRESSED:
        return _worth_compressing(seen, scope)
    allowed = {Trial.HTTP3: scope.http3, Trial.OTHER_FAMILY: scope.other_family}
    return allowed.get(kind, True)


def _at_least(kind: Trial, seen: Sequence[TrialEvidence], scope: Scope) -> int:
    """What a healthy site is asked."""
    if kind in (Trial.FULL, Trial.RESUMED):
        return _TIMES
    if kind is Trial.RESUMED_ELSEWHERE:
        return len(scope.elsewhere)
    if kind is Trial.TLS12:
        return 1 if _refused(_of(seen, kind)) else 2
    if kind is Trial.TLS12_TICKET:
        return 1 if _modern(seen) else _TIMES
    return 1


def _at_most(kind: Trial, seen: Sequence[TrialEvidence], scope: Scope) -> int:
    """What is asked in all, as far as it is known now."""
    trials = _of(seen, kind)
    least = _at_least(kind, seen, scope)
    if kind is Trial.FULL:
        # Whether the end of an answer is held back those who come back show too; without TLS there are none.
        held = not scope.secure and any(map(_has_small_end, trials))
        most = _TIMES + 1 if held or any(map(_shows_pause_or_close, trials)) else least
    elif kind is Trial.RESUMED:
        most = _resumptions(trials, least)
    elif kind is Trial.RESUMED_ELSEWHERE:
        most = len(trials) + (_next_elsewhere(trials, scope) is not None)
    elif kind in (Trial.TLS12_TICKET, Trial.TLS12_SESSION_ID):
        most = _old_resumptions(kind, seen, least)
    elif kind is Trial.EARLY_DATA or (_refused(trials) and kind is not Trial.HTTP3):
        # What is announced must have failed three times before it is told, whatever the server says.
        most = least
    else:
        most = _TIMES if _suspicious(kind, trials, seen) else least
    spare = sum(map(_lost, trials)) if kind in (Trial.FULL, Trial.TLS12, Trial.DELAYED_ACK, Trial.HTTP2) else 0
    return most + min(spare, _MAX_SPARE)


def _step(kind: Trial, made: int, seen: Sequence[TrialEvidence], scope: Scope) -> Step:
    if kind is Trial.FULL:
        if scope.classical:
            return Step(trial=kind, asks=0)
        return Step(trial=kind, asks=2, after_pause=made == 1 or any(map(_slower_after_pause, _of(seen, kind))))
    if kind is Trial.TLS12:
        return Step(trial=kind, tickets=made != 1)
    if kind is Trial.RESUMED_ELSEWHERE:
        return Step(trial=kind, asks=0, address=_next_elsewhere(_of(seen, kind), scope))
    if kind is Trial.HTTP2:
        # Whether its connections are kept, as browsers wish, shows when they are asked again.
        return Step(trial=kind, asks=2)
    if kind is Trial.DELAYED_ACK and (_over_http2(seen) or any(map(_has_small_end, _of(seen, Trial.FULL)))):
        # What we say of settings in the first answer acknowledges what came of it. And what is held back behind full
        # packets, whose acknowledgement nobody delays, shows by being held in the second answer too.
        return Step(trial=kind, asks=2)
    # Those of TLS 1.3 always ask: tickets for the next ones come only then.
    repeated = made and kind in (Trial.TLS12_TICKET, Trial.TLS12_SESSION_ID)
    return Step(trial=kind, asks=0 if repeated or kind is Trial.OTHER_FAMILY else 1)


def _of(seen: Sequence[TrialEvidence], kind: Trial) -> list[TrialEvidence]:
    return [trial for trial in seen if trial.trial is kind]


def _secured(trial: TrialEvidence) -> bool:
    return trial.handshake is not None and trial.handshake.ended_us is not None


def _resumed(trial: TrialEvidence) -> bool:
    return trial.handshake is not None and bool(trial.handshake.resumed)


def _next_elsewhere(made: list[TrialEvidence], scope: Scope) -> str | None:
    """Each address once; one that continued no session until that is proven, unless it cannot be reached."""
    for most in (1, _NEVER):
        for address in scope.elsewhere:
            there = [one for one in made if one.address == address]
            if len(there) < most and all(_secured(one) and not _resumed(one) for one in there):
                return address
    return None


def _worth_compressing(seen: Sequence[TrialEvidence], scope: Scope) -> bool:
    least = QUIC_FIRST_FLIGHT_BYTES if scope.http3 else LARGE_CHAIN_BYTES
    return any(
        shaken.version == TLS13 and (shaken.certificate_message_bytes or 0) > least
        for one in seen
        if (shaken := one.handshake) is not None
    )


def _refused(trials: list[TrialEvidence]) -> bool:
    return any(one.failure is not None and one.failure.kind in _FINAL and not _secured(one) for one in trials)


def _modern(seen: Sequence[TrialEvidence]) -> bool:
    first = next((one.handshake for one in seen if _secured(one)), None)
    return first is not None and first.version == TLS13


def _over_http2(seen: Sequence[TrialEvidence]) -> bool:
    """Whether the server was asked over HTTP/2 where HTTP/1.1 would have done: it speaks nothing else."""
    ours = (one.handshake for one in seen if one.trial in (Trial.FULL, Trial.CLASSICAL))
    return any(shaken is not None and shaken.protocol == "h2" for shaken in ours)


def _resumptions(trials: list[TrialEvidence], least: int) -> int:
    answers = {one.handshake.resumed for one in trials if one.handshake is not None and _secured(one)}
    if answers >= {True, False}:
        return _SOMETIMES
    return _NEVER if False in answers else least


def _old_resumptions(kind: Trial, seen: Sequence[TrialEvidence], least: int) -> int:
    """TLS 1.2 has two ways. Of tickets TLS 1.3 tells too, so for those one way that works is enough; that ids never
    work only trying shows. For visitors without TLS 1.3 it matters how often each does."""
    if not _modern(seen):
        return _resumptions(_of(seen, kind), least)
    tried = _of(seen, Trial.TLS12_SESSION_ID)
    if kind is Trial.TLS12_TICKET:
        tried += _of(seen, kind)
    return least if any(map(_resumed, tried)) else _NEVER


def _suspicious(kind: Trial, trials: list[TrialEvidence], seen: Sequence[TrialEvidence]) -> bool:
    if kind is Trial.PLAIN:
        return any(map(_dawdles, trials))
    if any(trial.failure is not None for trial in trials):
        return True
    if kind is Trial.TLS12:
        return any(map(_paused, trials)) or any(map(_small_window, trials))
    if kind is Trial.DELAYED_ACK:
        return any(map(_paused, [*trials, *_of(seen, Trial.FULL)])) or _waits_longer(trials, seen)
    if kind is Trial.CLASSICAL:
        return _shakes_quicker(trials, seen)
    if kind is Trial.COMPRESSED:
        return any(shaken.certificate_compression is None for one in trials if (shaken := one.handshake) is not None)
    if kind is Trial.OTHER_FAMILY:
        return _families_differ(seen)
    if kind is Trial.HTTP2:
        return any(map(_paused, trials)) or _waits_longer(trials, seen) or any(map(_closed, trials))
    return False


def _rtt_us(trial: TrialEvidence) -> int:
    """0 where no pause of it can be told from a busy server."""
    trip_us = trial.syn_rtt_us or (trial.tcp_ended.min_rtt_us if trial.tcp_ended is not None else None) or 0
    return trip_us if trip_us >= MIN_RTT_US else 0


def _lost(trial: TrialEvidence) -> bool:
    state = trial.tcp_ended
    broken = state is not None and bool(state.total_retransmits or state.out_of_order_packets)
    return broken or bool(trial.syn_retransmits)


def _paused(trial: TrialEvidence) -> bool:
    """Whether the server fell silent between two of its bytes with nothing said by us in between."""
    longest_us = _pause_us(trial)
    for one, other in pairwise(trial.transfers):
        both = one.direction is other.direction is Direction.RECEIVED
        if both and other.at_us - one.at_us > longest_us and not _between_asks(trial, one.at_us, other.at_us):
            return True
    return False


def _pause_us(trial: TrialEvidence) -> int:
    return max(_DELAY_US if not _rtt_us(trial) else 0, round(_rtt_us(trial) * _SUSPICIOUS_RTT))


def _has_small_end(trial: TrialEvidence) -> bool:
    """Whether the end of an answer came after a pause and is less than a packet: a server may have held it back. What
    stops at its window at first may have room for that by the second answer."""
    return any(_ends_small(trial, one) for one in trial.exchanges[:2] if not one.idle_us)


def _ends_small(trial: TrialEvidence, exchange: Exchange) -> bool:
    ended_us = exchange.ended_us
    if ended_us is None:
        return False
    moves = (one for one in trial.transfers if one.direction is Direction.RECEIVED)
    came = [one for one in moves if exchange.asked_us <= one.at_us <= ended_us]
    end = [one for one in came if one.at_us > ended_us - _pause_us(trial)]
    return len(end) < len(came) and sum(one.size_bytes for one in end) < _USUAL_MSS


def _between_asks(trial: TrialEvidence, start_us: int, end_us: int) -> bool:
    """Whether a request was sent meanwhile: then it is a wait."""
    return any(start_us < (one.sent_us or one.asked_us) <= end_us for one in trial.exchanges)


def _small_window(trial: TrialEvidence) -> bool:
    """Whether the first flight of an answer ended although more was to come, before a usual window was full."""
    if not _rtt_us(trial) or not trial.exchanges or trial.exchanges[0].first_raw_us is None:
        return False
    begun_us = trial.exchanges[0].first_raw_us
    until_us = begun_us + round(_rtt_us(trial) * _SUSPICIOUS_RTT)
    moves = [one for one in trial.transfers if one.direction is Direction.RECEIVED and one.at_us >= begun_us]
    first = sum(one.size_bytes for one in moves if one.at_us <= until_us)
    mss = trial.tcp_connected.adv_mss_bytes if trial.tcp_connected is not None else None
    return first < _SMALL_WINDOW_SEGMENTS * (mss or _USUAL_MSS) and any(one.at_us > until_us for one in moves)


def _shows_pause_or_close(trial: TrialEvidence) -> bool:
    """Of a browser's own connection: what needs one more to be seen three times, since the first one asks but once."""
    return trial.failure is None and (_closed(trial) or _slower_after_pause(trial))


def _closed(trial: TrialEvidence) -> bool:
    return any(one.kept is False for one in trial.exchanges)


def _slower_after_pause(trial: TrialEvidence) -> bool:
    rested = next((one for one in trial.exchanges if one.idle_us), None)
    before = next((one for one in reversed(trial.exchanges) if not one.idle_us), None)
    if rested is None or before is None or not _rtt_us(trial):
        return False
    slower_us = (_took_us(rested) or 0) - (_took_us(before) or 0)
    return slower_us > _SUSPICIOUS_RTT * _rtt_us(trial)


def _took_us(exchange: Exchange) -> int | None:
    return None if exchange.ended_us is None else exchange.ended_us - exchange.asked_us


def _waits_longer(others: list[TrialEvidence], seen: Sequence[TrialEvidence]) -> bool:
    usual_us = [took for one in _of(seen, Trial.FULL) if (took := _first_took_us(one)) is not None]
    others_us = [took for one in others if (took := _first_took_us(one)) is not None]
    return bool(usual_us and others_us) and max(others_us) - min(usual_us) > _DELAY_US


def _shakes_quicker(classical: list[TrialEvidence], seen: Sequence[TrialEvidence]) -> bool:
    """Whether a smaller hello may have been all that it takes."""
    usual_us, classical_us = (
        [shaken.network_us for one in trials if (shaken := one.handshake) and shaken.network_us is not None]
        for trials in (_of(seen, Trial.FULL), classical)
    )
    return bool(usual_us and classical_us) and min(usual_us) - min(classical_us) > _DELAY_US


def _first_took_us(trial: TrialEvidence) -> int | None:
    return _took_us(trial.exchanges[0]) if trial.exchanges else None


def _dawdles(trial: TrialEvidence) -> bool:
    """Whether a redirect takes longer than its round trips: that may be chance, and all of it is claimed."""
    took_us = _first_took_us(trial) or 0
    return bool(trial.syn_retransmits) or took_us > _rtt_us(trial) + _DELAY_US


def _compares_families(seen: Sequence[TrialEvidence]) -> bool:
    """Whether a connection of the usual family comes between two of the other: a queue that fills and empties makes any
    way slower for a while."""
    made = Counter(trial.trial for trial in seen)[Trial.OTHER_FAMILY]
    return 0 < made < _TIMES and seen[-1].trial is Trial.OTHER_FAMILY and _families_differ(seen)


def _families_differ(seen: Sequence[TrialEvidence]) -> bool:
    """Whether over one family connections take much longer than over the other, once at least."""
    usual_us = min((one.connect_us for one in _of(seen, Trial.FULL) if one.connect_us is not None), default=None)
    if usual_us is None:
        return False
    others_us = (one.connect_us for one in _of(seen, Trial.OTHER_FAMILY))
    return any(is_far_slower(us, usual_us) or is_far_slower(usual_us, us) for us in others_us if us is not None)
