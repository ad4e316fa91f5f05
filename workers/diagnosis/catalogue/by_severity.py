"""What a finding is called and what to do: its severity says which of two things a cause's own words leave open."""

from collections.abc import Mapping

from workers.measurement.finding import FindingId, Severity

TITLES: Mapping[FindingId, Mapping[str, str]] = {
    FindingId.IPV6_BROKEN_OR_SLOW: {
        Severity.HIGH: "IPv6 is broken",
        Severity.MEDIUM: "IPv6 is slower than IPv4",
    },
    FindingId.TLS_CHAIN_EXCEEDS_IW: {
        Severity.HIGH: "The certificate chain does not fit into the first window",
        Severity.LOW: "The chain fits into the first window compressed only",
    },
    FindingId.TLS_RECORD_OVERFLOW: {
        Severity.HIGH: "The first record is too large to be read in time",
        Severity.LOW: "The first record over HTTP/1.1 is too large to be read in time",
    },
    FindingId.HTTP_KEEPALIVE_OFF: {
        Severity.HIGH: "The server closes the connection after each answer",
        Severity.LOW: "HTTP/1.1 connections are closed after each answer",
    },
    FindingId.HTTP_H2_MISSING: {
        Severity.CRITICAL: "HTTP/2 is agreed on, and no answer comes over it",
        Severity.HIGH: "HTTP/2 is missing",
        Severity.MEDIUM: "HTTP/2 is missing",
    },
    FindingId.HTTP_H3: {
        Severity.MEDIUM: "HTTP/3 is announced and cannot be used",
        Severity.INFO: "HTTP/3 is not in use",
    },
    FindingId.TLS_PQ: {
        Severity.CRITICAL: "Post-quantum key exchange breaks the handshake",
        Severity.HIGH: "Post-quantum key exchange makes the handshake wait",
        Severity.MEDIUM: "Post-quantum key exchange makes the handshake wait",
        Severity.INFO: "Post-quantum key exchange is not supported",
    },
}

_SWITCH_HTTP2_ON = "Switch HTTP/2 on; browsers use it over TLS only, where ALPN agrees on it."
_LET_HELLO_PASS = (
    "Update or remove the firewall or load balancer that cannot read a ClientHello of two packets. Where the evidence "
    "says that full packets vanish, let ICMP pass or clamp the MSS to what the path carries."
)

ADVICE: Mapping[FindingId, Mapping[str, str]] = {
    FindingId.TLS_RECORD_OVERFLOW: {
        Severity.LOW: (
            "Browsers are spared, since they speak HTTP/2 here, whose records fit. For those who do not, such as a CDN "
            "before this server, and programs, let the server write records of 4 KB, or records that begin small and "
            "grow."
        ),
    },
    FindingId.HTTP_KEEPALIVE_OFF: {
        Severity.LOW: (
            "Browsers are spared, since they speak HTTP/2 here, whose connections stay. For those who do not, such as "
            "a CDN before this server, and programs, keep connections open for 15 to 75 seconds."
        ),
    },
    FindingId.HTTP_H2_MISSING: {
        Severity.CRITICAL: "Mend what speaks HTTP/2, or switch it off until it answers.",
        Severity.HIGH: _SWITCH_HTTP2_ON,
        Severity.MEDIUM: _SWITCH_HTTP2_ON,
    },
    FindingId.HTTP_H3: {
        Severity.MEDIUM: (
            "Let UDP port 443 through the firewall and serve it with the certificate of the site, or stop announcing "
            "HTTP/3 by Alt-Svc and HTTPS records."
        ),
        Severity.INFO: "Offer it and announce it by the Alt-Svc header or an HTTPS record.",
    },
    FindingId.TLS_PQ: {
        Severity.CRITICAL: _LET_HELLO_PASS,
        Severity.HIGH: _LET_HELLO_PASS,
        Severity.MEDIUM: _LET_HELLO_PASS,
        Severity.INFO: "OpenSSL 3.5 or later brings it, switched on by default.",
    },
}
