"""The twins of what a server does when a client offers more than it must: to take less, or to come back elsewhere."""

from dataclasses import replace

from workers.measurement.evidence import CertificateCompression
from workers.measurement.finding import FindingId as Id
from workers.tests.netlab.conduct import Conduct
from workers.tests.netlab.served import ChainWish, Served, Sibling
from workers.tests.netlab.twin import Twin

_OWN = Served(conduct=Conduct())
_LONG = replace(_OWN, chain=ChainWish(size_bytes=5500))

OFFER_TWINS = (
    Twin(
        id=Id.TLS_CERT_COMPRESSION,
        name="uncompressed-chain",
        positive=_LONG,
        repaired=_LONG.but(compresses_certificates=CertificateCompression.ZLIB),
        both=frozenset({Id.TLS_CHAIN_LARGE}),
    ),
    Twin(
        id=Id.TLS_CERT_COMPRESSION_BROKEN,
        name="spoilt-chain",
        positive=_LONG.but(compresses_certificates=CertificateCompression.BROTLI, spoils_certificates=True),
        repaired=_LONG.but(compresses_certificates=CertificateCompression.BROTLI),
        both=frozenset({Id.TLS_CHAIN_LARGE}),
    ),
    Twin(
        id=Id.TLS_RESUMPTION_FLAKY,
        name="two-addresses",
        positive=replace(_OWN, sibling=Sibling(shares_keys=False)),
        repaired=replace(_OWN, sibling=Sibling()),
    ),
)
