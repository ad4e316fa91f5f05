"""Which settings fit a finding: those of its cause, unless the evidence shows a case that needs others, or none."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from workers.diagnosis.catalogue.entry import Setting
from workers.diagnosis.catalogue.settings import COMPRESSION, SETTINGS
from workers.measurement.finding import FactValue, Finding, FindingId, Severity
from workers.measurement.tls_records import TLS13

_LARGEST_USUAL_RSA_BITS = 2048


class _Case(NamedTuple):
    """Findings that this holds of, and what to set for those."""

    holds: Callable[[Finding], bool]
    settings: tuple[Setting, ...] = ()


def settings_of(finding: Finding) -> tuple[Setting, ...]:
    """None where what the cause's settings switch on is on already, is not what lacks, or cannot be there."""
    case = _CASES.get(finding.id)
    told = case.settings if case is not None and case.holds(finding) else SETTINGS.get(finding.id, ())
    return tuple(one for one in told if one not in COMPRESSION) if _is_old(finding) else told


def _fact(finding: Finding, name: str) -> FactValue:
    return next((one.value for one in finding.evidence if one.name == name), None)


def _is_old(finding: Finding) -> bool:
    """Without TLS 1.3, which alone has compressed certificates (RFC 8879, 4)."""
    return _fact(finding, "version") not in (None, TLS13)


def _is_broken(finding: Finding) -> bool:
    """It is spoken, and visitors fail by it."""
    return finding.severity is Severity.CRITICAL


def _is_there(finding: Finding) -> bool:
    """More than a remark on what is not offered: it is, and costs time or visitors."""
    return finding.severity is not Severity.INFO


def _is_not_for_hsts(finding: Finding) -> bool:
    """HSTS spares the step of a host to its own https:// alone, and is sent there already or is not."""
    return _fact(finding, "hsts") not in ("absent", "short")


def _does_not_refuse(finding: Finding) -> bool:
    """What a server that listens does not mend: a way that is long, or that swallows packets."""
    return _fact(finding, "failure") != "connect_refused"


def _staples(finding: Finding) -> bool:
    """A staple comes along and says something else, or no longer holds."""
    return _fact(finding, "staple_says") is not None or _fact(finding, "staple_ended") is not None


def _is_ecdsa(finding: Finding) -> bool:
    return _fact(finding, "key_type") == "EC"


def _has_quick_key(finding: Finding) -> bool:
    """No smaller one would make it quicker."""
    bits = _fact(finding, "key_bits")
    return _fact(finding, "key_type") != "RSA" or (isinstance(bits, int) and bits <= _LARGEST_USUAL_RSA_BITS)


_CASES: Mapping[FindingId, _Case] = {
    FindingId.IPV6_BROKEN_OR_SLOW: _Case(_does_not_refuse),
    FindingId.HTTP_REDIRECT_COST: _Case(_is_not_for_hsts),
    FindingId.HTTP_H2_MISSING: _Case(_is_broken),
    FindingId.HTTP_H3: _Case(_is_there),
    FindingId.TLS_PQ: _Case(_is_there),
    FindingId.TLS_KEY_COST: _Case(_has_quick_key),
    FindingId.TLS_CHAIN_LARGE: _Case(_is_ecdsa),
    FindingId.TLS_CHAIN_EXCEEDS_IW: _Case(_is_ecdsa, COMPRESSION),
    FindingId.TLS_OCSP: _Case(_staples),
}
