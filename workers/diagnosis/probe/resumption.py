"""Whether returning visitors can continue a session, and send their request along with the first packet."""

from collections.abc import Sequence
from dataclasses import dataclass

from workers.diagnosis.case import REPEATS, Case, Rule, Verdicts, lost_packets
from workers.diagnosis.facts import facts, in_ms, seen
from workers.diagnosis.probe.full_packets import fell_silent
from workers.diagnosis.probe.thinking import THOUGHTFUL, first_think_us
from workers.diagnosis.probe.tls_visits import (
    AS_BROWSERS,
    browsers_start_early,
    completed,
    first_visits,
    speaks_tls13,
)
from workers.measurement.evidence import Depth, EarlyData, Handshake, Trial, TrialEvidence
from workers.measurement.failure import FailureKind
from workers.measurement.finding import Confidence, Finding, FindingId, NotJudged, NotJudgedReason, Severity
from workers.measurement.tls_records import TLS13

# So many attempts that all failed prove that none succeeds; flaky needs more.
MIN_ATTEMPTS = 5
MIN_ATTEMPTS_FLAKY = 10
FLAKY_BELOW = 0.9
# Connections without a single ticket prove that none are given.
_MIN_WITHOUT_TICKET = 3
# What a server does that breaks a handshake off.
_BROKEN_OFF = frozenset({FailureKind.TLS_ALERT, FailureKind.TLS_FAILED, FailureKind.CONNECTION_RESET})


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """What became of all attempts to continue a session in one way."""

    tried: int = 0
    resumed: int = 0

    @property
    def rate(self) -> float:
        return self.resumed / self.tried if self.tried else 0.0


def attempts_13(case: Case) -> Attempts:
    """By a pre-shared key of TLS 1.3."""
    return case.once(_attempts_13)


def _attempts_13(case: Case) -> Attempts:
    return _attempts(case, (Trial.RESUMED, Trial.EARLY_DATA), old=False)


def attempts_12(case: Case) -> dict[str, Attempts]:
    """By each of the ways of TLS 1.2 that were tried."""
    return case.once(_attempts_12)


def _attempts_12(case: Case) -> dict[str, Attempts]:
    ways = {
        "ticket": _attempts(case, (Trial.TLS12_TICKET,), old=True),
        "session_id": _attempts(case, (Trial.TLS12_SESSION_ID,), old=True),
        "either": _attempts(case, (Trial.RESUMED,), old=True),
    }
    return {way: one for way, one in ways.items() if one.tried}


def _attempts(case: Case, kinds: Sequence[Trial], *, old: bool) -> Attempts:
    shaken = completed(case.evidence.of(*kinds))
    told = [one.resumed for one in shaken if one.resumed is not None and (one.version != TLS13) is old]
    return Attempts(tried=len(told), resumed=sum(told))


def missing(case: Case) -> Verdicts:
    """Not one session could be continued; for visitors with TLS 1.3 that costs bytes and computing, else a trip."""
    modern = speaks_tls13(case)
    if modern is None:
        return
    lacking = [version for version, reason in _standing(case, modern=modern).items() if reason is None]
    if lacking:
        yield _missing(case, tuple(lacking), modern=modern)
        return
    reason = _standing(case, modern=modern).get(_visitors(modern=modern))
    if isinstance(reason, NotJudgedReason):
        yield NotJudged(id=FindingId.TLS_RESUMPTION_MISSING, reason=reason)


def _visitors(*, modern: bool) -> str:
    return TLS13 if modern else "TLSv1.2"


def _standing(case: Case, *, modern: bool) -> dict[str, NotJudgedReason | bool | None]:
    """For each version: True where sessions are continued, None where they never are, else why it cannot be said."""
    standing: dict[str, NotJudgedReason | bool | None] = {}
    if modern:
        standing[TLS13] = _standing_13(case)
    standing["TLSv1.2"] = _standing_12(case)
    return standing


def _standing_13(case: Case) -> NotJudgedReason | bool | None:
    made = attempts_13(case)
    if made.resumed:
        return True
    given = [one.tickets for one in first_visits(case) if one.version == TLS13 and one.tickets is not None]
    if made.tried >= MIN_ATTEMPTS or (not made.tried and len(given) >= _MIN_WITHOUT_TICKET and not any(given)):
        return None
    return _why_open(case, made.tried)


def _standing_12(case: Case) -> NotJudgedReason | bool | None:
    ways = attempts_12(case)
    if any(one.resumed for one in ways.values()):
        return True
    # Servers that take turns, as TLS 1.3 shows of them, may have met strangers alone.
    turns = 0 < attempts_13(case).rate < FLAKY_BELOW
    if ways and not turns and all(one.tried >= MIN_ATTEMPTS for one in ways.values()):
        return None
    return _why_open(case, sum(one.tried for one in ways.values()))


def _why_open(case: Case, tried: int) -> NotJudgedReason:
    if case.evidence.depth is Depth.LIGHT:
        return NotJudgedReason.NEEDS_DEEP_PROBE
    return NotJudgedReason.NOT_REPEATED if tried else NotJudgedReason.NOT_MEASURED


def _missing(case: Case, versions: tuple[str, ...], *, modern: bool) -> Finding:
    made = {TLS13: attempts_13(case), **attempts_12(case)}
    return Finding(
        id=FindingId.TLS_RESUMPTION_MISSING,
        severity=Severity.LOW if modern else Severity.HIGH,
        confidence=Confidence.HIGH,
        saving_us=None if modern else case.rtt_us,
        evidence=facts(
            versions=versions,
            psk=_told(made[TLS13]),
            ticket=_told(made.get("ticket")),
            session_id=_told(made.get("session_id")),
            rtt_ms=in_ms(case.rtt_us),
            false_start_possible=None if modern else browsers_start_early(case, first_visits(case)),
        ),
    )


def _told(made: Attempts | None) -> str | None:
    return None if made is None or not made.tried else seen(made.resumed, made.tried)


def attempts_elsewhere(case: Case) -> dict[str, Attempts]:
    """At each further address of the name, with sessions that the first one had given."""
    return case.once(_attempts_elsewhere)


def _attempts_elsewhere(case: Case) -> dict[str, Attempts]:
    made: dict[str, Attempts] = {}
    for trial in case.evidence.of(Trial.RESUMED_ELSEWHERE):
        for shaken in completed((trial,)):
            if trial.address is not None and shaken.resumed is not None:
                before = made.get(trial.address, Attempts())
                resumed = before.resumed + shaken.resumed
                made[trial.address] = Attempts(tried=before.tried + 1, resumed=resumed)
    return made


def unshared_addresses(case: Case) -> tuple[str, ...]:
    """Those that continued none of the first one's sessions, which itself continues its own."""
    at_home = (
        _attempts(case, (Trial.RESUMED,), old=False).resumed or _attempts(case, (Trial.RESUMED,), old=True).resumed
    )
    there = attempts_elsewhere(case).items() if at_home else ()
    return tuple(address for address, one in there if not one.resumed and one.tried >= MIN_ATTEMPTS)


def _unshared(case: Case, *, modern: bool) -> Finding:
    """Visitors who come back get any of the addresses, so of those that were tried they miss so many."""
    apart, there = unshared_addresses(case), attempts_elsewhere(case)
    saving_us = None if modern or case.rtt_us is None else round(case.rtt_us * len(apart) / (len(there) + 1))
    return Finding(
        id=FindingId.TLS_RESUMPTION_FLAKY,
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        saving_us=saving_us,
        evidence=facts(
            version=_visitors(modern=modern),
            resumed=seen(0, sum(there[address].tried for address in apart)),
            session_of=next((one.address for one in case.evidence.of(Trial.FULL, Trial.CLASSICAL)), None),
            addresses=apart,
        ),
    )


def flaky(case: Case) -> Verdicts:
    """Sessions are continued sometimes, or not at every address, in the way that visitors would use."""
    modern = speaks_tls13(case)
    if modern is None:
        return
    if unshared_addresses(case):
        yield _unshared(case, modern=modern)
        return
    made = attempts_13(case) if modern else _best_12(case)
    if not made.rate < FLAKY_BELOW and any(not one.resumed for one in attempts_elsewhere(case).values()):
        yield NotJudged(id=FindingId.TLS_RESUMPTION_FLAKY, reason=NotJudgedReason.NOT_REPEATED)
    if case.evidence.depth is Depth.LIGHT and not made.tried:
        yield NotJudged(id=FindingId.TLS_RESUMPTION_FLAKY, reason=NotJudgedReason.NEEDS_DEEP_PROBE)
    if not 0 < made.rate < FLAKY_BELOW:
        return
    if made.tried < MIN_ATTEMPTS_FLAKY:
        yield NotJudged(id=FindingId.TLS_RESUMPTION_FLAKY, reason=NotJudgedReason.NOT_REPEATED)
        return
    saving_us = None if modern or case.rtt_us is None else round((1 - made.rate) * case.rtt_us)
    yield Finding(
        id=FindingId.TLS_RESUMPTION_FLAKY,
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        saving_us=saving_us,
        evidence=facts(
            version=_visitors(modern=modern),
            resumed=seen(made.resumed, made.tried),
            ticket_lifetime_s=_shortest_life_s(case),
        ),
    )


def _shortest_life_s(case: Case) -> int | None:
    """For how long the server says that its sessions can be continued, at least; None where it does not say."""
    told = (one.ticket_lifetime_s for one in first_visits(case))
    return min((life_s for life_s in told if life_s), default=None)


def _best_12(case: Case) -> Attempts:
    """Clients send a ticket where they were given one that works, else the session's id. Where neither did by itself,
    what came of both together is a part of all attempts: servers that take turns may have met each of one kind."""
    ways = attempts_12(case)
    working = [ways[way] for way in ("ticket", "session_id") if way in ways and ways[way].resumed]
    made = ways.values()
    together = Attempts(tried=sum(one.tried for one in made), resumed=sum(one.resumed for one in made))
    return next(iter(working), together)


def broken(case: Case) -> Verdicts:
    """Every connection that wanted to continue a session was broken off or left without a word, and those that began
    anew before and after were not: a server that has had enough of us breaks off all."""
    tried = case.evidence.of(Trial.RESUMED)
    died = [trial for trial in tried if _broke_off(trial)]
    began = sorted(trial.started_us for trial in case.evidence.of(*AS_BROWSERS, Trial.CLASSICAL) if completed((trial,)))
    if not died or len(died) < len(tried) or not began:
        return
    if len(died) < REPEATS or not began[0] < died[0].started_us or not died[-1].started_us < began[-1]:
        yield NotJudged(id=FindingId.TLS_RESUMPTION_BROKEN, reason=NotJudgedReason.NOT_REPEATED)
        return
    yield Finding(
        id=FindingId.TLS_RESUMPTION_BROKEN,
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        evidence=facts(
            version=_visitors(modern=bool(speaks_tls13(case))),
            resumed=f"fails {seen(len(died), len(tried))}",
            failure=None if died[0].failure is None else str(died[0].failure.kind),
            anew=f"works {seen(len(began), len(began))}",
        ),
    )


def _broke_off(trial: TrialEvidence) -> bool:
    """In a word, or in a silence that is no lost packet's."""
    if trial.failure is None or completed((trial,)):
        return False
    silent = trial.failure.kind is FailureKind.TLS_TIMEOUT and fell_silent(trial)
    return silent or trial.failure.kind in _BROKEN_OFF


def zero_rtt(case: Case) -> Verdicts:
    """Tickets that allow no early data, or a server that rejects all that it allowed: a remark, not a fault."""
    modern = speaks_tls13(case)
    if modern is None:
        return
    if not modern:
        yield _hidden(FindingId.TLS_VERSION_OLD)
        return
    with_tickets = [one for one in first_visits(case) if one.version == TLS13 and one.tickets]
    known = [one.max_early_data_bytes for one in with_tickets if one.max_early_data_bytes is not None]
    rejected = _rejected(case)
    if known and (not any(known) or rejected is not None):
        yield Finding(
            id=FindingId.TLS_ZERO_RTT,
            severity=Severity.INFO,
            confidence=Confidence.HIGH,
            saving_us=_spared_us(case),
            evidence=facts(
                max_early_data_bytes=max(known),
                tickets=max(one.tickets or 0 for one in with_tickets),
                rejected=rejected,
            ),
        )
    elif not known:
        yield _open_question(case, given=[one.tickets for one in first_visits(case) if one.tickets is not None])


def _spared_us(case: Case) -> int | None:
    """What those who come back wait at least for the server's first word, along with which an early request would be
    answered: a round trip, and the way of a server far behind whoever accepts its connections.

    What a hello takes to leave by a narrow link, and what the server computes for it, comes before early data too; so
    the time of the hello's bytes is no part of it, nor what the server's quickest answer did not take as well. Where
    that is not known, the round trip alone is certain.
    """
    upload_us, quickest_us = _upload_us_a_byte(case), _quickest_us(case)
    if case.rtt_us is None or upload_us is None or quickest_us is None:
        return case.rtt_us
    took = [us - upload_us * size for size, us in _hellos(case, Trial.RESUMED, resumed=True)]
    return max(case.rtt_us, min(round(min(took, default=0)), case.rtt_us + quickest_us))


def _upload_us_a_byte(case: Case) -> float | None:
    """By how much a larger hello is answered later. None where hellos of both sizes were not answered."""
    large, small = (min(_hellos(case, kind), default=None) for kind in (Trial.FULL, Trial.CLASSICAL))
    if large is None or small is None or large[0] <= small[0]:
        return None
    return max(0.0, (_least_us(case, Trial.FULL) - _least_us(case, Trial.CLASSICAL)) / (large[0] - small[0]))


def _quickest_us(case: Case) -> int | None:
    thinks = (first_think_us(trial) for trial in case.evidence.of(*THOUGHTFUL))
    return min((think for think in thinks if think is not None), default=None)


def _least_us(case: Case, kind: Trial) -> int:
    return min(us for _, us in _hellos(case, kind))


def _hellos(case: Case, kind: Trial, *, resumed: bool = False) -> list[tuple[int, int]]:
    """The sizes of hellos that were not asked for again, and how long each took to be answered."""
    made = completed(trial for trial in case.evidence.of(kind) if not lost_packets(trial))
    return [
        (one.hello_bytes, one.network_us)
        for one in made
        if one.resumed is resumed and one.version == TLS13 and not one.hello_retry and one.network_us is not None
    ]


def _rejected(case: Case) -> str | None:
    """How often, when it was each time."""
    shaken: list[Handshake] = [one for one in completed(case.evidence.of(Trial.EARLY_DATA)) if one.early_data]
    all_rejected = all(one.early_data is EarlyData.REJECTED for one in shaken)
    return seen(len(shaken), len(shaken)) if len(shaken) >= REPEATS and all_rejected else None


def _open_question(case: Case, given: list[int]) -> NotJudged:
    if given and not any(given) and _standing_13(case) is None:
        return _hidden(FindingId.TLS_RESUMPTION_MISSING)
    light = case.evidence.depth is Depth.LIGHT
    reason = NotJudgedReason.NEEDS_DEEP_PROBE if light else NotJudgedReason.NOT_MEASURED
    return NotJudged(id=FindingId.TLS_ZERO_RTT, reason=reason)


def _hidden(by: FindingId) -> NotJudged:
    return NotJudged(id=FindingId.TLS_ZERO_RTT, reason=NotJudgedReason.HIDDEN, hidden_by=by)


RULES: tuple[Rule, ...] = (missing, flaky, broken, zero_rtt)
