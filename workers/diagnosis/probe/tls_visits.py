"""What several rules ask of a probe's TLS handshakes."""

from collections.abc import Iterable, Sequence

from workers.diagnosis.case import Case
from workers.diagnosis.probe.weighing import ASKED
from workers.measurement.evidence import ChainCertificate, Handshake, Trial, TrialEvidence
from workers.measurement.tls_records import TLS13

# Connections whose ClientHello is a browser's on a first visit.
AS_BROWSERS = (Trial.FULL, Trial.DELAYED_ACK, Trial.HTTP2)
# The same, where those cannot be had: without the hybrid key share.
_NEXT_BEST = (Trial.CLASSICAL,)
# Answers of one page differ by less, where they are made anew for everybody.
_AS_LARGE = 0.9


def completed(trials: Iterable[TrialEvidence]) -> tuple[Handshake, ...]:
    """The handshakes that came to an agreement."""
    shaken = (trial.handshake for trial in trials)
    return tuple(one for one in shaken if one is not None and one.version is not None and one.ended_us is not None)


def first_visits(case: Case) -> tuple[Handshake, ...]:
    """Full handshakes as browsers make them; where the server breaks on those, with classical groups."""
    return case.once(_first_visits)


def _first_visits(case: Case) -> tuple[Handshake, ...]:
    for kinds in (AS_BROWSERS, _NEXT_BEST):
        full = tuple(one for one in completed(case.evidence.of(*kinds)) if not one.resumed)
        if full:
            return full
    return ()


def speaks_tls13(case: Case) -> bool | None:
    """Whether browsers get TLS 1.3 here; None when nobody got anything."""
    versions = {one.version for one in first_visits(case)}
    return TLS13 in versions if versions else None


def over_http2(trial: TrialEvidence) -> bool:
    """Whether that was agreed on."""
    return trial.handshake is not None and trial.handshake.protocol == "h2"


def page_over_http2(case: Case) -> list[TrialEvidence]:
    """Connections over HTTP/2 that brought what comes over HTTP/1.1: answers of the same status, about as large. An
    error, as of a server that has been asked too often, says nothing of the page as browsers get it."""
    asked = [trial.exchanges[0] for trial in case.evidence.of(*ASKED) if trial.exchanges]
    ended = [one for one in asked if one.ended_us is not None]
    known, least = {one.status for one in ended}, min((one.body_bytes or 0 for one in ended), default=0)
    over = (trial for trial in case.evidence.of(Trial.HTTP2) if over_http2(trial) and trial.exchanges)
    return [
        trial
        for trial in over
        if trial.exchanges[0].status in known and (trial.exchanges[0].body_bytes or 0) >= _AS_LARGE * least
    ]


def negotiated_protocol(case: Case) -> str | None:
    """What ALPN agreed on in any handshake: the best there was."""
    return case.once(_negotiated_protocol)


def _negotiated_protocol(case: Case) -> str | None:
    protocols = {one.protocol for one in completed(case.evidence.trials)}
    return next((name for name in ("h2", "http/1.1") if name in protocols), None) or next(
        (name for name in sorted(filter(None, protocols))), None
    )


def false_start_possible(shaken: Handshake) -> bool:
    """Whether Chrome, Firefox and Safari would send their request early over this TLS 1.2 handshake.

    They do with ALPN, ECDHE and an AEAD cipher (BoringSSL's ssl_can_false_start), told by OpenSSL's name of it.
    """
    return shaken.protocol is not None and _suits_false_start(shaken)


def _suits_false_start(shaken: Handshake) -> bool:
    cipher = shaken.cipher or ""
    return cipher.startswith("ECDHE-") and ("GCM" in cipher or "CHACHA20" in cipher)


def browsers_start_early(case: Case, visits: Sequence[Handshake]) -> bool | None:
    """Whether they would over each of these handshakes. They offer HTTP/2 too, where probes offer HTTP/1.1 alone: some
    servers agree on the one or on nothing (Tomcat). None where nothing else lacks and nobody offered them HTTP/2."""
    if all(map(false_start_possible, visits)):
        return True
    offered = [one for one in completed(case.evidence.of(Trial.HTTP2)) if not one.resumed and one.version != TLS13]
    if not all(map(_suits_false_start, visits)):
        return False
    return all(map(false_start_possible, offered)) if offered else None


def chain_of(case: Case, shaken: Handshake) -> tuple[ChainCertificate, ...]:
    """The certificates as they were sent."""
    known = case.evidence.certificates
    return tuple(known[index] for index in shaken.chain if 0 <= index < len(known))


def judged_chain(case: Case) -> tuple[Handshake, tuple[ChainCertificate, ...]] | None:
    """The handshake whose certificates are judged: the first that a browser would see any in."""
    return case.once(_judged_chain)


def _judged_chain(case: Case) -> tuple[Handshake, tuple[ChainCertificate, ...]] | None:
    for shaken in (*first_visits(case), *completed(case.evidence.of(Trial.TLS12, Trial.OTHER_FAMILY))):
        chain = chain_of(case, shaken)
        if chain:
            return shaken, chain
    return None
