"""The columns of "Is TLS fast yet", in words."""

from dataclasses import dataclass

from workers.measurement.finding import CheckColumn, FindingId


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """`explanation` is one sentence; `finding` is the cause that is told where the answer is no, if there is one."""

    title: str
    explanation: str
    finding: FindingId | None = None


def column(id: CheckColumn) -> Column:
    """What to tell of a column."""
    return _COLUMNS[id]


_COLUMNS = {
    CheckColumn.SESSION_IDS: Column(
        title="Session identifiers",
        explanation="Returning visitors with TLS 1.2 continue a session that the server remembers.",
        finding=FindingId.TLS_RESUMPTION_MISSING,
    ),
    CheckColumn.SESSION_TICKETS: Column(
        title="Session tickets",
        explanation="Returning visitors continue a session from a ticket that they keep themselves.",
        finding=FindingId.TLS_RESUMPTION_MISSING,
    ),
    CheckColumn.OCSP_STAPLING: Column(
        title="OCSP stapling",
        explanation="The authority's word that the certificate is still good comes with the handshake.",
        finding=FindingId.TLS_OCSP,
    ),
    CheckColumn.RECORD_SIZING: Column(
        title="Record sizing",
        explanation="The first TLS records are small enough to be read without a further round trip.",
        finding=FindingId.TLS_RECORD_OVERFLOW,
    ),
    CheckColumn.ALPN: Column(
        title="ALPN",
        explanation="The HTTP version is agreed on within the handshake.",
        finding=FindingId.HTTP_H2_MISSING,
    ),
    CheckColumn.FORWARD_SECRECY: Column(
        title="Forward secrecy",
        explanation="Each connection has keys of its own; with TLS 1.2 browsers then save a round trip (False Start).",
        finding=FindingId.TLS_NO_FALSE_START,
    ),
    CheckColumn.HTTP2: Column(
        title="HTTP/2",
        explanation="All requests of a page share one connection.",
        finding=FindingId.HTTP_H2_MISSING,
    ),
    CheckColumn.TLS13: Column(
        title="TLS 1.3",
        explanation="A new visitor's handshake takes one round trip.",
        finding=FindingId.TLS_VERSION_OLD,
    ),
    CheckColumn.ZERO_RTT: Column(
        title="TLS 1.3 0-RTT",
        explanation="A returning visitor's request travels with the first packet of the handshake.",
        finding=FindingId.TLS_ZERO_RTT,
    ),
    CheckColumn.HTTP3: Column(
        title="HTTP/3",
        explanation="Connection and encryption are set up together, in one round trip.",
        finding=FindingId.HTTP_H3,
    ),
    CheckColumn.QUIC_ZERO_RTT: Column(
        title="QUIC 0-RTT",
        explanation="A returning visitor's request travels with the first packet of an HTTP/3 connection.",
    ),
    CheckColumn.PQ_KEY_EXCHANGE: Column(
        title="Post-quantum key exchange",
        explanation="What is recorded today stays secret from quantum computers of tomorrow (X25519MLKEM768).",
        finding=FindingId.TLS_PQ,
    ),
    CheckColumn.ECH: Column(
        title="Encrypted ClientHello",
        explanation="The name of the host is not readable on the way; its HTTPS record brings the key.",
    ),
    CheckColumn.CERTIFICATE_COMPRESSION: Column(
        title="Certificate compression",
        explanation="Certificates are sent compressed to clients that can read them.",
        finding=FindingId.TLS_CERT_COMPRESSION,
    ),
    CheckColumn.SMALL_CHAIN: Column(
        title="Small chain",
        explanation=(
            "The certificates fit into what a server may send at once, over HTTP/3 as well, and to clients whose first "
            "message is a single datagram (3,600 bytes)."
        ),
        finding=FindingId.TLS_CHAIN_LARGE,
    ),
    CheckColumn.INITIAL_WINDOW: Column(
        title="Initial window",
        explanation="A new connection begins with ten packets, and keeps its speed through a pause.",
        finding=FindingId.TCP_IW_SMALL,
    ),
    CheckColumn.EARLY_HINTS: Column(
        title="Early hints",
        explanation="While the server works on the page, it names what the browser can load meanwhile (103).",
    ),
    CheckColumn.SHORT_CERTIFICATES: Column(
        title="Short-lived certificates",
        explanation=(
            "The certificate lives no longer than what is allowed to those issued now, so its renewal runs by itself."
        ),
        finding=FindingId.TLS_CERT_EXPIRING,
    ),
    CheckColumn.HSTS: Column(
        title="HSTS",
        explanation="Browsers that know the site go to https:// by themselves, without a redirect.",
        finding=FindingId.HTTP_REDIRECT_COST,
    ),
    CheckColumn.RESUMPTION_EVERYWHERE: Column(
        title="Resumption at every address",
        explanation="A session from one of the site's addresses can be continued at the others.",
        finding=FindingId.TLS_RESUMPTION_FLAKY,
    ),
}
