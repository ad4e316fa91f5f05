"""How much of certificates is sent, and whether it must be."""

from collections.abc import Iterable

from workers.diagnosis.case import REPEATS, Case, Rule, Verdicts
from workers.diagnosis.facts import facts, in_ms, seen
from workers.diagnosis.probe.chains import Chain, of_use, total_bytes
from workers.diagnosis.probe.compression import MOST_VISITORS, OFFERED_BY, compression_offers, spared_browsers
from workers.diagnosis.probe.handshakes import chain_exceeds_iw
from workers.diagnosis.probe.tls_visits import chain_of, completed, judged_chain
from workers.measurement.evidence import (
    CertificateCompression,
    ChainCertificate,
    Depth,
    Direction,
    Handshake,
    Transfer,
    Trial,
    TrialEvidence,
)
from workers.measurement.failure import FailureKind
from workers.measurement.finding import Confidence, Finding, FindingId, NotJudged, NotJudgedReason, Severity
from workers.measurement.thresholds import (
    BROWSERS_QUIC_FLIGHT_BYTES,
    LARGE_CHAIN_BYTES,
    MIN_RTT_US,
    QUIC_FIRST_FLIGHT_BYTES,
)
from workers.measurement.tls_records import TLS13

# A first flight of so many times what we sent was stopped by that rule: full datagrams need not fill it quite, and some
# servers begin one as long as any of it is left.
_STOPPED_FROM, _STOPPED_AT = 2.0, 3.0
# What came so much of a round trip later was sent after our answer.
_LATER_RTT = 0.7
# What we sent later than this before the first answer to it had not been heard.
_HEARD_RTT = 0.5
# A datagram that begins a handshake has so many bytes at least (RFC 9000, 14.1): what is less tells what has come.
_LEAST_INITIAL_BYTES = 1_200
_TOLD = 4


def chain_large(case: Case) -> Verdicts:
    """More than 4 KB are worth a remark; over HTTP/3 what exceeds the first flight to a browser costs a round trip,
    unless most are sent it compressed.
    """
    chain: Chain = (judged_chain(case) or (None, ()))[1]
    if not chain:
        return
    slow = _slowed_by_amplification(case)
    late_bytes = None if slow is None else _parted(slow, case.rtt_us or 0)[1]
    spared = () if late_bytes is None else spared_browsers(case, late_bytes)
    slow = None if MOST_VISITORS in spared else slow
    over_tcp = total_bytes(chain)
    if not slow and over_tcp <= LARGE_CHAIN_BYTES:
        return
    # What costs a round trip is told, where HTTP/3 has a chain of its own.
    chain = _quic_chain(case) if slow else chain
    size = total_bytes(chain)
    largest = max(chain, key=lambda one: one.der_bytes)
    yield Finding(
        id=FindingId.TLS_CHAIN_LARGE,
        severity=Severity.MEDIUM if slow else Severity.INFO,
        confidence=Confidence.HIGH,
        saving_us=case.rtt_us if slow else None,
        evidence=facts(
            chain_bytes=size,
            certificate_bytes=tuple(float(one.der_bytes) for one in chain),
            names_in_leaf=chain[0].name_count,
            key_type=chain[0].key_type,
            largest=largest.subject,
            tcp_chain_bytes=over_tcp if size != over_tcp else None,
            http3_first_flight_bytes=_parted(slow, case.rtt_us or 0)[0] if slow else None,
            rtt_ms=in_ms(case.rtt_us) if slow else None,
            compressed_for=spared or None,
        ),
    )


def _slowed_by_amplification(case: Case) -> TrialEvidence | None:
    """An HTTP/3 handshake that was stopped after its first flight; one that was not acquits the chain. Older agents
    said hello in one datagram, which stops servers that browsers do not stop."""
    rtt_us = case.rtt_us
    if rtt_us is None or rtt_us < MIN_RTT_US or total_bytes(_quic_chain(case)) <= BROWSERS_QUIC_FLIGHT_BYTES:
        return None
    full = [one for one in case.evidence.of(Trial.HTTP3) if one.handshake is not None and not one.handshake.resumed]
    ended = [one for one in full if one.handshake is not None and one.handshake.ended_us is not None]
    return ended[0] if ended and all(_was_stopped(one, rtt_us) for one in ended) else None


def _quic_chain(case: Case) -> Chain:
    """Over HTTP/3 where it was seen there, else as it comes over TCP: servers send the same."""
    over_quic = [chain_of(case, one.handshake) for one in case.evidence.of(Trial.HTTP3) if one.handshake is not None]
    _, usual = judged_chain(case) or (None, ())
    return next((chain for chain in over_quic if chain), usual)


def _was_stopped(trial: TrialEvidence, rtt_us: int) -> bool:
    """The server sent three times what it had got, then nothing until it had heard from us again."""
    early, late = _datagrams(trial, rtt_us)
    sent = _sent_bytes(trial, early[0].at_us - _HEARD_RTT * rtt_us) if early else 0
    return bool(late) and _STOPPED_FROM * sent < _size(early) and _size(early[:-1]) < _STOPPED_AT * sent


def _parted(trial: TrialEvidence, rtt_us: int) -> tuple[int, int]:
    """What came of the handshake at first, and what came a round trip later, in bytes."""
    early, late = _datagrams(trial, rtt_us)
    return _size(early), _size(late)


def _datagrams(trial: TrialEvidence, rtt_us: int) -> tuple[list[Transfer], list[Transfer]]:
    """The same, each by itself in the order in which it came. Acknowledgements alone, as of the one half of a hello
    whose other half the server did not get, are nothing of it."""
    end_us = trial.handshake.ended_us if trial.handshake is not None else None
    received = [one for one in trial.transfers if one.direction is Direction.RECEIVED and one.at_us <= (end_us or 0)]
    late = sorted(received, key=lambda one: one.at_us)
    early: list[Transfer] = []
    while late and _size(early) < _LEAST_INITIAL_BYTES:
        until_us = late[0].at_us + _LATER_RTT * rtt_us
        early, late = ([one for one in late if (one.at_us < until_us) is soon] for soon in (True, False))
    return early, late


def _sent_bytes(trial: TrialEvidence, until_us: float) -> int:
    sent = (one for one in trial.transfers if one.direction is Direction.SENT and one.at_us < until_us)
    return _size(sent)


def _size(datagrams: Iterable[Transfer]) -> int:
    return sum(one.size_bytes for one in datagrams)


def chain_needless(case: Case) -> Verdicts:
    """A root, a certificate twice, or one that does not lead from the leaf to anywhere."""
    _, chain = judged_chain(case) or (None, ())
    needless = _needless(chain)
    if not needless:
        return
    yield Finding(
        id=FindingId.TLS_CHAIN_NEEDLESS,
        severity=Severity.LOW,
        confidence=Confidence.HIGH,
        evidence=facts(
            needless=tuple(one.subject for one in needless[:_TOLD]),
            needless_bytes=total_bytes(needless),
            chain_bytes=total_bytes(chain),
        ),
    )


def _needless(chain: Chain) -> list[ChainCertificate]:
    """Those that help nobody; of what is sent twice, all but the first."""
    useful = of_use(chain) if chain else ()
    first = {one.sha256: place for place, one in reversed(list(enumerate(chain)))}
    return [one for place, one in enumerate(chain) if one not in useful or first[one.sha256] != place]


def cert_compression(case: Case) -> Verdicts:
    """Certificates come as they are, however often it was offered to take them compressed.

    A round trip that a smaller chain would save stands at the finding on the chain and is not claimed twice.
    """
    shaken, chain = judged_chain(case) or (None, ())
    if shaken is None or shaken.version != TLS13 or total_bytes(chain) <= worth_compressing_bytes(case):
        return
    offered = compression_offers(case)
    if not offered:
        light = case.evidence.depth is Depth.LIGHT
        reason = NotJudgedReason.NEEDS_DEEP_PROBE if light else NotJudgedReason.NOT_MEASURED
        yield NotJudged(id=FindingId.TLS_CERT_COMPRESSION, reason=reason)
    elif not any(one.certificate_compression for one in offered):
        yield _uncompressed(case, shaken, chain, len(offered))


def compression_broken(case: Case) -> Verdicts:
    """tls.cert_compression_broken: compressed certificates that no browser could read. Records are protected, so that
    nothing on the way has spoilt them."""
    tried = case.evidence.of(Trial.COMPRESSED)
    spoilt = [how for trial in tried if (how := _spoilt(trial)) is not None]
    if not spoilt:
        return
    if len(spoilt) < max(len(tried), REPEATS):
        yield NotJudged(id=FindingId.TLS_CERT_COMPRESSION_BROKEN, reason=NotJudgedReason.NOT_REPEATED)
        return
    yield Finding(
        id=FindingId.TLS_CERT_COMPRESSION_BROKEN,
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        evidence=facts(
            algorithm=spoilt[0],
            offered_by=OFFERED_BY[spoilt[0]],
            seen=seen(len(spoilt), len(tried)),
        ),
    )


def _spoilt(trial: TrialEvidence) -> CertificateCompression | None:
    failed = trial.failure is not None and trial.failure.kind is FailureKind.CERTIFICATE_INVALID
    return trial.handshake.certificate_compression if failed and trial.handshake is not None else None


def worth_compressing_bytes(case: Case) -> int:
    """Chains that are no longer gain nothing."""
    return QUIC_FIRST_FLIGHT_BYTES if completed(case.evidence.of(Trial.HTTP3)) else LARGE_CHAIN_BYTES


def _uncompressed(case: Case, shaken: Handshake, chain: Chain, times: int) -> Finding:
    spared = total_bytes(chain) - (shaken.chain_zlib_bytes or total_bytes(chain))
    over_tcp, over_quic = _late_bytes(case), _late_quic_bytes(case)
    saves = any(late is not None and late <= spared for late in (over_tcp, over_quic))
    return Finding(
        id=FindingId.TLS_CERT_COMPRESSION,
        severity=Severity.MEDIUM if saves else Severity.LOW,
        confidence=Confidence.HIGH if times >= REPEATS else Confidence.MEDIUM,
        evidence=facts(
            chain_bytes=total_bytes(chain),
            zlib_bytes=shaken.chain_zlib_bytes,
            offered=tuple(CertificateCompression),
            refused=seen(times, times),
            saves_round_trip=saves,
            late_bytes=over_tcp,
            http3_late_bytes=over_quic,
        ),
    )


def _late_bytes(case: Case) -> int | None:
    """So much of a handshake over TCP came a round trip late, because the rest had filled the initial window."""
    found = (one for one in chain_exceeds_iw(case) if isinstance(one, Finding))
    late = next((fact.value for one in found for fact in one.evidence if fact.name == "bytes_after"), None)
    return late if isinstance(late, int) else None


def _late_quic_bytes(case: Case) -> int | None:
    slow = _slowed_by_amplification(case)
    return None if slow is None else _parted(slow, case.rtt_us or 0)[1]


RULES: tuple[Rule, ...] = (chain_large, chain_needless, cert_compression, compression_broken)
