"""A faultless site as a deep probe sees it, and ways to take one thing away from it. Nothing is measured."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from workers.diagnosis.case import Case
from workers.diagnosis.probe.diagnose import diagnose
from workers.measurement.connection import Header
from workers.measurement.evidence import (
    ChainCertificate,
    Depth,
    EarlyData,
    Exchange,
    Handshake,
    HttpsRecord,
    NameEvidence,
    ProbeEvidence,
    Question,
    TcpState,
    TlsRecord,
    Trial,
    TrialEvidence,
)
from workers.measurement.finding import Check, CheckColumn, Diagnosis, Finding, FindingId, NotJudgedReason
from workers.measurement.messages import Hop
from workers.measurement.timing import Span, Timing

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
HOST = "www.example.org"
RTT_US = 80_000
HSTS = Header(name="Strict-Transport-Security", value="max-age=31536000; includeSubDomains; preload")
ALT_SVC = Header(name="Alt-Svc", value='h3=":443"; ma=86400')
_TO_TLS = Header(name="Location", value=f"https://{HOST}/")
_OLD = (Trial.TLS12, Trial.TLS12_TICKET, Trial.TLS12_SESSION_ID)
_AGAIN = (Trial.RESUMED, Trial.EARLY_DATA, Trial.TLS12_TICKET, Trial.TLS12_SESSION_ID)
_CLASSICAL = (*_OLD, Trial.CLASSICAL)
HYBRID_HELLO_BYTES = 1_541
CLASSICAL_HELLO_BYTES = 310


def certificate(subject: str, issuer: str, **changes: Any) -> ChainCertificate:
    """Ninety days, thirty of them over; ECDSA; signed by somebody else unless told otherwise."""
    values: dict[str, Any] = {
        "subject": f"CN={subject}",
        "issuer": f"CN={issuer}",
        "names": (subject,),
        "name_count": 1,
        "not_before": NOW - timedelta(days=30),
        "not_after": NOW + timedelta(days=60),
        "sha256": f"{subject}/{issuer}",
        "der_bytes": 1_000,
        "authority": False,
        "key_type": "EC",
        "key_bits": 256,
        "signature_algorithm": "ecdsa-with-SHA256",
        "issuer_urls": ("http://ca.example.net/issuer.der",),
    }
    return ChainCertificate(**(values | changes))


def authority(subject: str, issuer: str, **changes: Any) -> ChainCertificate:
    long = {"not_before": NOW - timedelta(days=900), "not_after": NOW + timedelta(days=900), "authority": True}
    return certificate(subject, issuer, **(long | {"names": (), "name_count": 0} | changes))


LEAF = certificate(HOST, "Issuing CA", issued_by=1)
INTERMEDIATE = authority("Issuing CA", "Root CA")


def handshake(trial: Trial, **changes: Any) -> Handshake:
    old, again = trial in _OLD, trial in _AGAIN
    values: dict[str, Any] = {
        "started_us": RTT_US,
        "hello_bytes": CLASSICAL_HELLO_BYTES if trial in _CLASSICAL else HYBRID_HELLO_BYTES,
        "ended_us": (3 if old and not again else 2) * RTT_US,
        "network_us": (2 if old and not again else 1) * RTT_US,
        "own_us": 600,
        "version": "TLSv1.2" if old else "TLSv1.3",
        "cipher": "ECDHE-ECDSA-AES128-GCM-SHA256" if old else "TLS_AES_128_GCM_SHA256",
        "group": "X25519" if trial in _CLASSICAL else "X25519MLKEM768",
        "protocol": {Trial.HTTP2: "h2", Trial.HTTP3: "h3"}.get(trial, "http/1.1"),
        "resumed": again,
        "hello_retry": False,
        "tickets": 1 if old else 2,
        "ticket_lifetime_s": 7_200,
        "max_early_data_bytes": None if old else 16_384,
        "early_data": EarlyData.ACCEPTED if trial is Trial.EARLY_DATA else None,
        "stapled": False,
        "chain": () if again else (0, 1),
        "chain_zlib_bytes": None if again else 1_500,
    }
    return Handshake(**(values | changes))


def answer(**changes: Any) -> Exchange:
    """Twenty kilobytes after 2 ms of thinking; instants count from the request."""
    at_us = 2 * RTT_US + 1_000
    values: dict[str, Any] = {
        "asked_us": at_us,
        "sent_us": at_us + 50,
        "first_raw_us": at_us + RTT_US + 2_050,
        "first_application_us": at_us + RTT_US + 2_050,
        "first_readable_us": at_us + RTT_US + 2_060,
        "head_us": at_us + RTT_US + 2_060,
        "first_body_us": at_us + RTT_US + 2_060,
        "ended_us": at_us + 2 * RTT_US + 2_100,
        "status": 200,
        "headers": (HSTS, ALT_SVC),
        "head_bytes": 300,
        "body_bytes": 20_000,
        "kept": True,
    }
    return Exchange(**(values | changes))


def trial(kind: Trial, **changes: Any) -> TrialEvidence:
    """One connection as it goes at the faultless site; of QUIC only the handshake and the answer."""
    exchanges: tuple[Exchange, ...] = (answer(),)
    if kind is Trial.FULL:
        exchanges = (answer(), answer(), answer(idle_us=2_000_000))
    if kind is Trial.PLAIN:
        asked = {"asked_us": RTT_US, "sent_us": RTT_US + 50, "ended_us": 2 * RTT_US + 1_500}
        exchanges = (answer(status=301, headers=(_TO_TLS,), body_bytes=160, **asked),)
    lengths = (4_096, 4_096, 4_096, 4_096, 4_096)
    values: dict[str, Any] = {
        "trial": kind,
        "started_us": 0,
        "address": "192.0.2.1",
        "connect_us": None if kind is Trial.HTTP3 else RTT_US,
        "syn_rtt_us": None if kind is Trial.HTTP3 else RTT_US,
        "handshake": None if kind is Trial.PLAIN else handshake(kind),
        "exchanges": () if kind is Trial.OTHER_FAMILY else exchanges,
        "records": tuple(
            TlsRecord(at_us=3 * RTT_US + 100 * place, content_type=23, length_bytes=length, application=True)
            for place, length in enumerate(lengths)
        ),
        "tcp_ended": TcpState(rtt_us=RTT_US, min_rtt_us=RTT_US, total_retransmits=0, out_of_order_packets=0),
        "ended_us": 5 * RTT_US,
    }
    return TrialEvidence(**(values | changes))


_DEEP = (
    *[Trial.FULL] * 3,
    *[Trial.RESUMED] * 3,
    Trial.EARLY_DATA,
    Trial.TLS12,
    Trial.TLS12_TICKET,
    Trial.TLS12_SESSION_ID,
    Trial.DELAYED_ACK,
    Trial.CLASSICAL,
    Trial.HTTP2,
    Trial.HTTP3,
    Trial.PLAIN,
)


def deep_site(**changes: Any) -> ProbeEvidence:
    """Everything as it should be."""
    https = HttpsRecord(protocols=("h3", "h2"), ech=True, ttl_s=300)
    name = NameEvidence(
        host=HOST,
        resolver="192.0.2.53",
        took_us=20_000,
        again_us=18_000,
        questions=(Question(record_type="A", took_us=20_000, code="NOERROR"),),
        addresses=("192.0.2.1",),
        min_ttl_s=300,
        https=https,
    )
    values: dict[str, Any] = {
        "depth": Depth.DEEP,
        "host": HOST,
        "port": 443,
        "secure": True,
        "measured_at": NOW,
        "names": (name,),
        "certificates": (LEAF, INTERMEDIATE),
        "trials": tuple(trial(kind) for kind in _DEEP),
    }
    return ProbeEvidence(**(values | changes))


def light_site(**changes: Any) -> ProbeEvidence:
    """The same site in one connection."""
    once = trial(Trial.FULL, exchanges=(answer(),))
    return replace(deep_site(), **({"depth": Depth.LIGHT, "trials": (once,)} | changes))


def shaken(evidence: ProbeEvidence, kinds: Iterable[Trial], **changes: Any) -> ProbeEvidence:
    """With other facts in the handshakes of these connections."""

    def change(one: TrialEvidence) -> TrialEvidence:
        return one if one.handshake is None else replace(one, handshake=replace(one.handshake, **changes))

    return changed(evidence, kinds, change)


def answered(evidence: ProbeEvidence, kinds: Iterable[Trial], **changes: Any) -> ProbeEvidence:
    """With other facts in all answers of these connections."""

    def change(one: TrialEvidence) -> TrialEvidence:
        return replace(one, exchanges=tuple(replace(each, **changes) for each in one.exchanges))

    return changed(evidence, kinds, change)


def changed(
    evidence: ProbeEvidence, kinds: Iterable[Trial], change: Callable[[TrialEvidence], TrialEvidence]
) -> ProbeEvidence:
    among = frozenset(kinds)
    return replace(evidence, trials=tuple(change(one) if one.trial in among else one for one in evidence.trials))


def without(evidence: ProbeEvidence, *kinds: Trial) -> ProbeEvidence:
    return replace(evidence, trials=tuple(one for one in evidence.trials if one.trial not in kinds))


def repeated(evidence: ProbeEvidence, kind: Trial, times: int) -> ProbeEvidence:
    """With that many connections of this kind, all as the first."""
    first = evidence.of(kind)[0]
    return replace(evidence, trials=(*without(evidence, kind).trials, *[first] * times))


def sent(*chain: ChainCertificate, **facts: Any) -> ProbeEvidence:
    """A site that sends these certificates in its full handshakes."""
    full = [one.trial for one in deep_site().trials if one.handshake and one.handshake.chain]
    return shaken(deep_site(certificates=chain), full, chain=tuple(range(len(chain))), **facts)


def hop(url: str, status: int, start_ms: float, **lengths_ms: float) -> Hop:
    """One request with its phases one after another, in milliseconds."""
    at_us, spans = round(start_ms * 1000), {}
    for phase in ("dns", "connect", "tls", "send", "wait", "download"):
        if phase in lengths_ms:
            end_us = at_us + round(lengths_ms[phase] * 1000)
            spans[phase] = Span(start_us=at_us, end_us=end_us)
            at_us = end_us
    timing = Timing(start_us=round(start_ms * 1000), end_us=at_us, **spans)
    return Hop(url=url, connection=1, timing=timing, status=status, response_headers=(HSTS, ALT_SVC))


def judge(evidence: ProbeEvidence, *hops: Hop) -> Diagnosis:
    """By all rules; one that raises fails the test."""

    def on_fault(_: Callable[..., object], error: Exception) -> None:
        raise error

    return diagnose(evidence, hops, on_fault=on_fault)


def finding(id: FindingId, evidence: ProbeEvidence, *hops: Hop) -> Finding | None:
    return next((one for one in judge(evidence, *hops).findings if one.id is id), None)


def left_open(id: FindingId, evidence: ProbeEvidence, *hops: Hop) -> NotJudgedReason | None:
    return next((one.reason for one in judge(evidence, *hops).not_judged if one.id is id), None)


def check(column: CheckColumn, evidence: ProbeEvidence, *hops: Hop) -> Check:
    return next(one for one in judge(evidence, *hops).checklist if one.column is column)


def fact(one: Finding | None, name: str) -> object:
    assert one is not None
    return next((each.value for each in one.evidence if each.name == name), None)


def case(evidence: ProbeEvidence) -> Case:
    return Case(evidence=evidence)
