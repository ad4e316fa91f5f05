"""What a finding is called: its severity says which of two things a cause's own title leaves open."""

from collections.abc import Mapping

from workers.measurement.finding import FindingId, Severity

TITLES: Mapping[FindingId, Mapping[str, str]] = {
    FindingId.IPV6_BROKEN_OR_SLOW: {
        Severity.HIGH: "IPv6 is broken",
        Severity.MEDIUM: "IPv6 is slower than IPv4",
    },
    FindingId.HTTP_H2_MISSING: {
        Severity.CRITICAL: "HTTP/2 is agreed on, and no answer comes over it",
        Severity.HIGH: "HTTP/2 is missing",
        Severity.MEDIUM: "HTTP/2 is missing",
    },
    FindingId.TLS_PQ: {
        Severity.CRITICAL: "Post-quantum key exchange breaks the handshake",
        Severity.HIGH: "Post-quantum key exchange makes the handshake wait",
        Severity.MEDIUM: "Post-quantum key exchange makes the handshake wait",
        Severity.INFO: "Post-quantum key exchange is not supported",
    },
}
