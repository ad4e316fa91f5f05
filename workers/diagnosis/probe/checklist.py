""" "Is TLS fast yet" for one site: all columns in their order, each with its answer and the evidence in words."""

from collections.abc import Mapping

from workers.diagnosis.asking import OnFault
from workers.diagnosis.probe import checks_http, checks_tls
from workers.diagnosis.probe.checks import Check as Ask
from workers.diagnosis.probe.checks import Judged, Told, not_applicable, unknown
from workers.measurement.finding import Answer, Check, CheckColumn

_ASKED: Mapping[CheckColumn, Ask] = {
    CheckColumn.SESSION_IDS: checks_tls.session_ids,
    CheckColumn.SESSION_TICKETS: checks_tls.session_tickets,
    CheckColumn.OCSP_STAPLING: checks_tls.ocsp_stapling,
    CheckColumn.RECORD_SIZING: checks_http.record_sizing,
    CheckColumn.ALPN: checks_tls.alpn,
    CheckColumn.FORWARD_SECRECY: checks_tls.forward_secrecy,
    CheckColumn.HTTP2: checks_http.http2,
    CheckColumn.TLS13: checks_tls.tls13,
    CheckColumn.ZERO_RTT: checks_tls.zero_rtt,
    CheckColumn.HTTP3: checks_http.http3,
    CheckColumn.QUIC_ZERO_RTT: checks_http.quic_zero_rtt,
    CheckColumn.PQ_KEY_EXCHANGE: checks_tls.pq_key_exchange,
    CheckColumn.ECH: checks_http.ech,
    CheckColumn.CERTIFICATE_COMPRESSION: checks_tls.certificate_compression,
    CheckColumn.SMALL_CHAIN: checks_tls.small_chain,
    CheckColumn.INITIAL_WINDOW: checks_http.initial_window,
    CheckColumn.EARLY_HINTS: checks_http.early_hints,
    CheckColumn.SHORT_CERTIFICATES: checks_tls.short_certificates,
    CheckColumn.HSTS: checks_http.hsts,
    CheckColumn.RESUMPTION_EVERYWHERE: checks_tls.resumption_everywhere,
}
# What a site without TLS has all the same.
_WITHOUT_TLS = frozenset({CheckColumn.INITIAL_WINDOW, CheckColumn.EARLY_HINTS})


def checklist(judged: Judged, on_fault: OnFault) -> tuple[Check, ...]:
    """One check for each column, whatever the evidence lacks. A column whose question fails is unknown."""
    return tuple(_check(column, judged, on_fault) for column in CheckColumn)


def _check(column: CheckColumn, judged: Judged, on_fault: OnFault) -> Check:
    if not judged.case.evidence.secure and column not in _WITHOUT_TLS:
        reached = judged.case.is_reached
        return _worded(column, not_applicable("served without TLS") if reached else unknown(judged))
    ask = _ASKED[column]
    try:
        return _worded(column, ask(judged))
    except Exception as error:
        on_fault(ask, error)
        return Check(column=column, answer=Answer.UNKNOWN)


def _worded(column: CheckColumn, told: Told) -> Check:
    return Check(column=column, answer=told.answer, detail=told.detail)
