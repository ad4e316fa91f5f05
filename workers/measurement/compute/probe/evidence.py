"""From what was captured of a probe's connections to its evidence."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from workers.measurement.captures_probe import HopCapture, NameCapture, ProbeCapture, TrialCapture
from workers.measurement.compute.chain import chain_certificates
from workers.measurement.compute.probe.evidence_trial import trial_evidence
from workers.measurement.compute.probe.handshake_messages import certificate_bytes
from workers.measurement.compute.probe.hop import RunClock
from workers.measurement.compute.probe.name import name_evidence
from workers.measurement.evidence import ChainCertificate, Depth, NameEvidence, ProbeEvidence, TrialEvidence


class CertificateBook:
    """Every certificate of a probe once, in the order in which servers sent them."""

    def __init__(self) -> None:
        self._ders: dict[bytes, int] = {}

    def chain(self, hop: HopCapture) -> tuple[int, ...]:
        """The places of a connection's chain; none where none was sent, as when a session is resumed."""
        if hop.handshake is None or certificate_bytes(hop.messages) is None:
            return ()
        return tuple(self._ders.setdefault(der, len(self._ders)) for der in hop.handshake.chain)

    def certificates(self) -> tuple[ChainCertificate | None, ...]:
        return chain_certificates(tuple(self._ders))


@dataclass(slots=True)
class Deeper:
    """What a deep probe gathers besides its journey: its connections so far, whose chains are in `book`, what was asked
    further about a name, whether an incomplete chain is trusted with the issuer that it names, and whether this agent
    has ever spoken HTTP/3 with anybody, or reached anybody over IPv6."""

    book: CertificateBook
    own: tuple[TrialEvidence, ...]
    trials: list[TrialEvidence] = field(default_factory=list)
    names: list[NameCapture] = field(default_factory=list)
    issuer_verified: bool | None = None
    quic_passes: bool | None = None
    ipv6_passes: bool | None = None

    @classmethod
    def of(cls, capture: ProbeCapture, clock: RunClock | None = None) -> "Deeper":
        """`clock` is the run's own."""
        book = CertificateBook()
        return cls(
            book, journey_trials(capture, book, clock if len(capture.hops) == len(capture.trials) == 1 else None)
        )

    def add(self, capture: TrialCapture, run_ns: int) -> None:
        self.trials.append(trial_evidence(capture, run_ns, self.book.chain(capture.hop)))

    @property
    def seen(self) -> tuple[TrialEvidence, ...]:
        """All connections, the journey's own first."""
        return (*self.own, *self.trials)


def probe_evidence(capture: ProbeCapture, clock: RunClock, deeper: Deeper | None) -> ProbeEvidence | None:
    """All that a probe saw; None when there was nothing to be asked at all."""
    if not capture.hops:
        return None
    last = capture.hops[-1]
    seen = Deeper.of(capture, clock) if deeper is None else deeper
    certificates = seen.book.certificates()
    evidence = ProbeEvidence(
        depth=Depth.LIGHT if deeper is None else Depth.DEEP,
        host=last.host,
        port=last.port,
        secure=is_secure(last),
        measured_at=datetime.fromtimestamp(capture.before.wall_ns / 1e9, UTC),
        names=_names(capture.hops, seen.names, clock),
        certificates=tuple(one for one in certificates if one is not None),
        trials=tuple(_with_issuer(trial, seen.issuer_verified) for trial in seen.seen),
        quic_passes=seen.quic_passes,
        ipv6_passes=seen.ipv6_passes,
    )
    return evidence if None not in certificates else _readable(evidence, certificates)


def journey_trials(capture: ProbeCapture, book: CertificateBook, clock: RunClock | None) -> tuple[TrialEvidence, ...]:
    """The connections of the journey itself to its last host."""
    run_ns = capture.before.monotonic_ns
    return tuple(trial_evidence(one, run_ns, book.chain(one.hop), clock) for one in capture.trials)


def _with_issuer(trial: TrialEvidence, verified: bool | None) -> TrialEvidence:
    if verified is None or trial.handshake is None or not trial.handshake.faults:
        return trial
    return replace(trial, handshake=replace(trial.handshake, verified_with_fetched_issuer=verified))


def is_secure(hop: HopCapture) -> bool:
    return hop.url.startswith("https:")


def _names(hops: Iterable[HopCapture], more: Sequence[NameCapture], clock: RunClock) -> tuple[NameEvidence, ...]:
    """Each as it was looked up first: of a resolver that knows the answer by then a redirect tells nothing."""
    captures: dict[str, NameCapture] = {}
    for hop in hops:
        captures.setdefault(hop.host, NameCapture(host=hop.host, addresses=hop.addresses, lookup=hop.lookup))
    captures |= {one.host: _as_first_asked(one, captures.get(one.host)) for one in more}
    return tuple(name_evidence(one, clock) for one in captures.values())


def _as_first_asked(one: NameCapture, first: NameCapture | None) -> NameCapture:
    """How far another resolver is says nothing of the first one's search."""
    if first is None or first.lookup is None or one.lookup is None or first.lookup.resolver != one.lookup.resolver:
        return one
    return replace(one, lookup=first.lookup)


def _readable(evidence: ProbeEvidence, found: tuple[ChainCertificate | None, ...]) -> ProbeEvidence:
    """Chains without those certificates that could not be read."""
    places = {index: len([one for one in found[:index] if one is not None]) for index, _ in enumerate(found)}
    return replace(
        evidence,
        certificates=tuple(
            replace(one, issued_by=None if one.issued_by is None else places[one.issued_by])
            for one in evidence.certificates
        ),
        trials=tuple(_with_places(trial, found, places) for trial in evidence.trials),
    )


def _with_places(
    trial: TrialEvidence, found: tuple[ChainCertificate | None, ...], places: dict[int, int]
) -> TrialEvidence:
    if trial.handshake is None:
        return trial
    chain = tuple(places[index] for index in trial.handshake.chain if found[index] is not None)
    return replace(trial, handshake=replace(trial.handshake, chain=chain))
