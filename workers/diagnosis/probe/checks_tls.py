"""The checklist's columns that speak of TLS, in the order of the checklist."""

from datetime import UTC, datetime, timedelta

from workers.diagnosis.facts import seen
from workers.diagnosis.probe.chain_sizes import worth_compressing_bytes
from workers.diagnosis.probe.chains import total_bytes
from workers.diagnosis.probe.checks import Judged, Told, no, not_applicable, unknown, yes
from workers.diagnosis.probe.compression import compression_offers
from workers.diagnosis.probe.key_exchange import is_hybrid
from workers.diagnosis.probe.resumption import (
    MIN_ATTEMPTS,
    Attempts,
    attempts_12,
    attempts_13,
    attempts_elsewhere,
    unshared_addresses,
)
from workers.diagnosis.probe.stapling import refused_staples, staples, useless_staple
from workers.diagnosis.probe.tls_visits import (
    completed,
    first_visits,
    judged_chain,
    negotiated_protocol,
    speaks_tls13,
)
from workers.diagnosis.units import counted, size
from workers.measurement.evidence import Handshake, Trial
from workers.measurement.finding import FindingId, Severity
from workers.measurement.thresholds import QUIC_FIRST_FLIGHT_BYTES
from workers.measurement.tls_records import TLS13

# The longest life of a certificate by the day it is issued on (CA/Browser Forum, ballot SC-081v3).
_LIFETIMES = (
    (datetime(2029, 3, 15, tzinfo=UTC), timedelta(days=47)),
    (datetime(2027, 3, 15, tzinfo=UTC), timedelta(days=100)),
    (datetime(2026, 3, 15, tzinfo=UTC), timedelta(days=200)),
)
_LONGEST = timedelta(days=398)
_NEEDS_13 = "needs TLS 1.3"


def session_ids(judged: Judged) -> Told:
    if _only_13(judged):
        return not_applicable("TLS 1.3 only")
    return _by_attempts(judged, attempts_12(judged.case).get("session_id", Attempts()))


def session_tickets(judged: Judged) -> Told:
    psk, ticket = attempts_13(judged.case), attempts_12(judged.case).get("ticket", Attempts())
    both = Attempts(tried=psk.tried + ticket.tried, resumed=psk.resumed + ticket.resumed)
    if both.resumed:
        told = (("TLS 1.3", psk), ("TLS 1.2", ticket))
        return yes(", ".join(f"{name}: {seen(one.resumed, one.tried)}" for name, one in told if one.tried))
    given = [one.tickets for one in first_visits(judged.case) if one.tickets is not None]
    if given and not any(given) and not both.tried:
        return no("none given")
    return _by_attempts(judged, both)


def _by_attempts(judged: Judged, made: Attempts) -> Told:
    if not made.tried:
        return unknown(judged)
    detail = f"{seen(made.resumed, made.tried)} resumed"
    if made.resumed:
        return yes(detail)
    return no(detail) if made.tried >= MIN_ATTEMPTS else unknown(judged, detail)


def ocsp_stapling(judged: Judged) -> Told:
    _, chain = judged_chain(judged.case) or (None, ())
    told, refused = staples(judged.case), refused_staples(judged.case)
    if refused:
        return no(f"stapled, but {refused[0]}")
    if any(told):
        return yes("stapled")
    if not chain:
        return unknown(judged)
    if not chain[0].must_staple and not chain[0].ocsp_urls:
        return not_applicable("the certificate names no OCSP responder")
    if not told:
        return unknown(judged)
    missing = _missing_staple(judged)
    return no(f"demanded, {missing}" if chain[0].must_staple else missing)


def _missing_staple(judged: Judged) -> str:
    if not any(one.stapled for one in first_visits(judged.case)):
        return "not stapled"
    useless = useless_staple(judged.case)
    return "stapled too long ago" if useless is None else f"stapled, but {useless}"


def alpn(judged: Judged) -> Told:
    protocol = negotiated_protocol(judged.case)
    if protocol is not None:
        return yes(protocol)
    # Some servers agree on HTTP/2 or on nothing, and that is offered by a deep probe.
    offered = completed(judged.case.evidence.of(Trial.HTTP2))
    return no("none agreed on") if offered else unknown(judged)


def forward_secrecy(judged: Judged) -> Told:
    full = first_visits(judged.case)
    if not full:
        return unknown(judged)
    without = [one for one in full if not _secret_forward(one)]
    if without:
        return no(without[0].cipher or "unknown cipher")
    old = [one for one in completed(judged.case.evidence.of(Trial.TLS12)) if not _secret_forward(one)]
    detail = f"{full[0].version}, {full[0].cipher}" if full[0].cipher else str(full[0].version)
    return yes(f"{detail}; not with TLS 1.2 ({old[0].cipher})" if old else detail)


def _secret_forward(shaken: Handshake) -> bool:
    return shaken.version == TLS13 or (shaken.cipher or "").startswith(("ECDHE-", "DHE-"))


def tls13(judged: Judged) -> Told:
    modern = speaks_tls13(judged.case)
    if modern is None:
        return unknown(judged)
    return yes(TLS13) if modern else no(f"{first_visits(judged.case)[0].version} at most")


def zero_rtt(judged: Judged) -> Told:
    if speaks_tls13(judged.case) is False:
        return no(_NEEDS_13)
    full = first_visits(judged.case)
    allowed = [one.max_early_data_bytes for one in full if one.tickets and one.max_early_data_bytes is not None]
    finding = judged.found.get(FindingId.TLS_ZERO_RTT)
    if finding is not None:
        return no("allowed, but always rejected" if any(allowed) else "tickets allow no early data")
    if any(allowed):
        asked = [one.exchanges[0] for one in judged.case.evidence.of(Trial.EARLY_DATA) if one.exchanges]
        if asked and all(one.status is None for one in asked):
            return unknown(judged, "taken, but not answered")
        return yes(f"up to {size(max(allowed))}")
    return no("no tickets") if any(one.tickets == 0 for one in full) else unknown(judged)


def pq_key_exchange(judged: Judged) -> Told:
    finding = judged.found.get(FindingId.TLS_PQ)
    if finding is not None and finding.severity is Severity.CRITICAL:
        return no("the handshake breaks")
    if speaks_tls13(judged.case) is False:
        return no(_NEEDS_13)
    groups = sorted({one.group for one in first_visits(judged.case) if one.version == TLS13 and one.group})
    hybrid = [group for group in groups if is_hybrid(group)]
    if hybrid:
        return yes(hybrid[0])
    return unknown(judged) if finding is None else no(groups[0] if groups else "")


def certificate_compression(judged: Judged) -> Told:
    shaken, chain = judged_chain(judged.case) or (None, ())
    if shaken is not None and shaken.version != TLS13:
        return no(_NEEDS_13)
    offered = compression_offers(judged.case)
    taken = [one for one in offered if one.certificate_compression is not None]
    if taken:
        first = taken[0]
        gain = f"{size(first.certificate_inflated_bytes or 0)} sent as {size(first.certificate_message_bytes or 0)}"
        return yes(f"{first.certificate_compression}: {gain}")
    zlib_bytes = None if shaken is None else shaken.chain_zlib_bytes
    gain = "" if zlib_bytes is None else f"zlib would make {size(total_bytes(chain))} {size(zlib_bytes)}"
    if offered:
        return no(gain)
    if chain and total_bytes(chain) <= worth_compressing_bytes(judged.case):
        return not_applicable(f"{size(total_bytes(chain))} need no compression")
    return unknown(judged, f"not measured; {gain}" if gain else "not measured")


def small_chain(judged: Judged) -> Told:
    _, chain = judged_chain(judged.case) or (None, ())
    if not chain:
        return unknown(judged)
    detail = f"{size(total_bytes(chain))} in {counted(len(chain), 'certificate')}"
    return yes(detail) if total_bytes(chain) <= QUIC_FIRST_FLIGHT_BYTES else no(detail)


def short_certificates(judged: Judged) -> Told:
    _, chain = judged_chain(judged.case) or (None, ())
    if not chain:
        return unknown(judged)
    lifetime = chain[0].not_after - chain[0].not_before
    now = judged.case.evidence.measured_at
    longest = next((most for since, most in _LIFETIMES if now >= since), _LONGEST)
    # Authorities count the last second as part of the life, and some the last day.
    if lifetime <= longest + timedelta(days=1):
        return yes(counted(lifetime.days, "day"))
    return no(f"{counted(lifetime.days, 'day')}; issued today it may have {longest.days}")


def resumption_everywhere(judged: Judged) -> Told:
    case = judged.case
    if not case.is_reached:
        return unknown(judged)
    apart = unshared_addresses(case)
    if apart:
        return no(f"not at {', '.join(apart)}")
    if FindingId.TLS_RESUMPTION_FLAKY in judged.found:
        return no("only sometimes, at one address")
    addresses = {
        address for name in case.evidence.names if name.host == case.evidence.host for address in name.addresses
    }
    if len(addresses) == 1:
        return not_applicable("one address")
    there = attempts_elsewhere(case)
    if there and all(one.resumed for one in there.values()):
        return yes(f"at {', '.join(there)} as well")
    return unknown(judged, "sessions were continued at one address only")


def _only_13(judged: Judged) -> bool:
    """Whether the server refused TLS 1.2."""
    tried = judged.case.evidence.of(Trial.TLS12)
    return bool(tried) and not completed(tried) and speaks_tls13(judged.case) is True
