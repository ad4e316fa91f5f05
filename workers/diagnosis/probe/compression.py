"""What a server makes of the offer to take its certificates compressed (RFC 8879), and which browsers gain by it."""

from workers.diagnosis.case import Case
from workers.diagnosis.probe.tls_visits import completed
from workers.measurement.evidence import CertificateCompression, Handshake, Trial

# Who asks for it in their hello, as captured from each.
OFFERED_BY = {
    CertificateCompression.ZLIB: ("Safari", "Firefox"),
    CertificateCompression.BROTLI: ("Chrome", "Firefox"),
    CertificateCompression.ZSTD: ("Firefox",),
}
# What most visitors come with, so that who spares it spares most.
MOST_VISITORS = "Chrome"


def compression_offers(case: Case) -> tuple[Handshake, ...]:
    """Handshakes in which the server could have compressed its certificates, and sent some."""
    made = completed(case.evidence.of(Trial.COMPRESSED))
    return tuple(one for one in made if one.certificate_message_bytes is not None)


def spared_browsers(case: Case, late_bytes: int) -> tuple[str, ...]:
    """Who is sent certificates that are smaller by as much at least, each time it was looked at: for them nothing of
    the handshake comes late. A server that knows several ways may spare others, too, which nobody saw."""
    ways = {_way_that_spares(one, late_bytes) for one in compression_offers(case)}
    way = ways.pop() if len(ways) == 1 else None
    return () if way is None else OFFERED_BY[way]


def _way_that_spares(shaken: Handshake, late_bytes: int) -> CertificateCompression | None:
    before, after = shaken.certificate_inflated_bytes, shaken.certificate_message_bytes
    is_enough = before is not None and after is not None and before - after >= late_bytes
    return shaken.certificate_compression if is_enough else None
