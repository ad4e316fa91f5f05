"""What TLS did, as a part of the probe's document."""

from collections.abc import Sequence

from workers.diagnosis.probe.summary import main_trial
from workers.measurement.connection import Connection
from workers.measurement.document import Document, milliseconds
from workers.measurement.evidence import (
    ChainCertificate,
    Handshake,
    ProbeEvidence,
    TlsRecord,
    Trial,
    TrialEvidence,
)
from workers.measurement.messages import ProbeMeasurement
from workers.measurement.tls_records import TLS13

_RESUMPTIONS_12 = {"tls12_ticket": Trial.TLS12_TICKET, "tls12_session_id": Trial.TLS12_SESSION_ID}
# Enough to see whether records are large, small or growing.
_MAX_RECORDS = 32


def tls_part(probe: ProbeMeasurement, connection: Connection | None) -> Document | None:
    """None when there was no handshake."""
    evidence, trial = probe.evidence, main_trial(probe)
    if evidence is None or trial is None or trial.handshake is None:
        return None
    shaken = trial.handshake
    return {
        "version": shaken.version,
        "cipher": shaken.cipher,
        "group": shaken.group,
        "protocol": shaken.protocol,
        "resumed": shaken.resumed,
        "hello_retry": shaken.hello_retry,
        "hello_bytes": shaken.hello_bytes,
        "network_ms": milliseconds(shaken.network_us),
        "own_ms": milliseconds(shaken.own_us),
        "stapled": shaken.stapled,
        "tickets": shaken.tickets,
        "ticket_lifetime_s": shaken.ticket_lifetime_s,
        "max_early_data_bytes": shaken.max_early_data_bytes,
        "early_data": _early_data(evidence),
        "resumption": {
            "tls13": _resumed(evidence.of(Trial.RESUMED, Trial.EARLY_DATA), old=False),
            **{name: _resumed(evidence.of(trial), old=True) for name, trial in _RESUMPTIONS_12.items()},
        },
        "chain": [_certificate(one) for one in _chain(evidence, shaken)],
        "chain_bytes": sum(one.der_bytes for one in _chain(evidence, shaken)) if shaken.chain else None,
        "chain_zlib_bytes": shaken.chain_zlib_bytes,
        "certificate_error": connection.certificate_error if connection else None,
        "records": _records(trial.records),
    }


def _early_data(evidence: ProbeEvidence) -> str | None:
    told = [one.handshake.early_data for one in evidence.of(Trial.EARLY_DATA) if one.handshake]
    return next((str(answer) for answer in told if answer), None)


def _resumed(trials: Sequence[TrialEvidence], *, old: bool) -> Document:
    """Of those that agreed on TLS 1.2 or older, or on TLS 1.3."""
    shaken = [one.handshake for one in trials if one.handshake and (one.handshake.version != TLS13) is old]
    answers = [one.resumed for one in shaken if one.resumed is not None]
    return {"tried": len(answers), "resumed": sum(answers)}


def _chain(evidence: ProbeEvidence, shaken: Handshake) -> list[ChainCertificate]:
    return [evidence.certificates[index] for index in shaken.chain if index < len(evidence.certificates)]


def _certificate(one: ChainCertificate) -> Document:
    return {
        "subject": one.subject,
        "issuer": one.issuer,
        "names": list(one.names),
        "not_before": one.not_before.isoformat(),
        "not_after": one.not_after.isoformat(),
        "sha256": one.sha256,
        "key_type": one.key_type,
        "key_bits": one.key_bits,
        "bytes": one.der_bytes,
    }


def _records(records: Sequence[TlsRecord]) -> list[Document]:
    return [
        {
            "at_ms": milliseconds(one.at_us),
            "end_ms": milliseconds(one.end_us),
            "bytes": one.length_bytes,
            "application": one.application,
        }
        for one in records[:_MAX_RECORDS]
    ]
