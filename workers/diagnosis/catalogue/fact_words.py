"""What a fact of the evidence is called, and in what it counts: its name is made for programs."""

from collections.abc import Mapping

# How the end of a name is written behind the value.
_UNITS: Mapping[str, str] = {"_kbit_s": "kbit/s", "_s": "s", "_days": "days", "_rtt": "RTT", "_pct": "%"}
_WORDS: Mapping[str, str] = {
    "alpn": "agreed on",
    "answers": "answered",
    "bytes_after": "sent after the gap",
    "bytes_before": "sent before the gap",
    "cdn_ms": "CDN",
    "cdn_tls_per_connect": "CDN's TLS to TCP",
    "classical": "without post-quantum key",
    "classical_hello_bytes": "ClientHello without post-quantum key",
    "classical_ms": "wait without post-quantum key",
    "cname_hops": "aliases",
    "dns_ms": "lookup",
    "false_start_possible": "browsers can send early (False Start)",
    "first_connection_ms": "opening the first connection",
    "all_connections_ms": "all openings added up",
    "gap_delayed_ack_ms": "gap with late acknowledgements",
    "gap_quick_ack_ms": "gap with quick acknowledgements",
    "group": "key exchange",
    "hello_bytes": "ClientHello",
    "hsts": "HSTS",
    "hsts_max_age_s": "HSTS max-age",
    "http3_first_flight_bytes": "first flight over HTTP/3",
    "http3_late_bytes": "late over HTTP/3",
    "hybrid": "with post-quantum key",
    "hybrid_ms": "wait with post-quantum key",
    "initial_window_segments": "segments in the initial window",
    "ipv4_rtt_ms": "IPv4 round trip",
    "ipv6_rtt_ms": "IPv6 round trip",
    "issuer_url": "issuer's URL",
    "key_type": "key",
    "late_bytes": "late",
    "lcp_ms": "largest paint",
    "max_early_data_bytes": "early data at most",
    "min_ttl_s": "shortest TTL",
    "mss_bytes": "segment (MSS)",
    "must_staple": "demands a staple",
    "openssl": "OpenSSL says",
    "needless_bytes": "needless in all",
    "opening_ms": "opening a connection",
    "origin_tls_per_connect": "origin's TLS to TCP",
    "plain_ms": "http:// took",
    "plain_status": "http:// answered",
    "psk": "resumed by PSK",
    "resolver_rtt_ms": "round trip to the resolver",
    "rtt_ms": "round trip",
    "seen": "seen in",
    "server_stall_ms": "server's pause",
    "session_id": "resumed by session identifier",
    "slow_ms": "median of the slow answers",
    "spread": "95th percentile to median",
    "syn_retransmits": "SYN sent again",
    "tcp_chain_bytes": "chain over TCP",
    "think_ms": "server's time, median",
    "think_p95_ms": "server's time, 95th percentile",
    "ticket": "resumed by ticket",
    "ticket_lifetime_s": "tickets live",
    "trusted_with_fetched_issuer": "trusted once its issuer is fetched",
    "ttfb_ms": "first byte",
    "url": "URL",
    "urls": "URLs",
    "version": "TLS version",
    "without_false_start_ms": "cost without False Start",
    "zlib_bytes": "with zlib",
}


def fact_words(name: str) -> str:
    """In the words of people; those without any here are their names, less the unit."""
    if name in _WORDS:
        return _WORDS[name]
    ending = next((one for one in ("_ms", "_bytes", *_UNITS) if name.endswith(one)), "")
    return name.removesuffix(ending).replace("_", " ")


def unit_of(name: str) -> str | None:
    """What is written behind its numbers as they are. Milliseconds and bytes are told by their size."""
    return next((text for ending, text in _UNITS.items() if name.endswith(ending)), None)
