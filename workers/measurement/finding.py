"""What diagnosis says: causes with what they cost, what could not be judged and why, and the checklist of a site.

Only words of closed vocabularies and numbers cross the wire; titles and advice for each id are in
`workers.diagnosis.catalogue`, so that an old finding is told in today's words.
"""

from dataclasses import dataclass
from enum import StrEnum

# What rounds to no millisecond costs nobody anything, and is not said to.
LEAST_COST_US = 500


class Severity(StrEnum):
    """`critical`: visitors fail. `high`: a round trip or 200 ms on every new visit. `medium`: on some, or 50 ms."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"


class Confidence(StrEnum):
    """`high`: seen each time, on a path whose round trip is long enough to tell causes apart."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class FindingId(StrEnum):
    """The causes that are known, by family. These names stay."""

    DNS_SLOW = "dns.slow"
    DNS_CNAME_CHAIN = "dns.cname_chain"
    TCP_RTT_HIGH = "tcp.rtt_high"
    TCP_LOSS = "tcp.loss"
    IPV6_BROKEN_OR_SLOW = "ipv6.broken_or_slow"
    HTTP_REDIRECT_COST = "http.redirect_cost"
    TLS_VERSION_OLD = "tls.version_old"
    TLS_NO_FALSE_START = "tls.no_false_start"
    TLS_HELLO_RETRY = "tls.hello_retry"
    TLS_CERT_FLUSH_STALL = "tls.cert_flush_stall"
    TLS_CHAIN_EXCEEDS_IW = "tls.chain_exceeds_iw"
    TLS_CHAIN_LARGE = "tls.chain_large"
    TLS_CHAIN_NEEDLESS = "tls.chain_needless"
    TLS_CHAIN_INCOMPLETE = "tls.chain_incomplete"
    TLS_CERT_EXPIRED = "tls.cert_expired"
    TLS_CERT_EXPIRING = "tls.cert_expiring"
    TLS_CERT_NOT_YET_VALID = "tls.cert_not_yet_valid"
    TLS_CERT_NAME_MISMATCH = "tls.cert_name_mismatch"
    TLS_CERT_SELF_SIGNED = "tls.cert_self_signed"
    TLS_CERT_UNTRUSTED = "tls.cert_untrusted"
    TLS_KEY_WEAK = "tls.key_weak"
    TLS_KEY_COST = "tls.key_cost"
    TLS_HANDSHAKE_STALL = "tls.handshake_stall"
    TLS_RESUMPTION_MISSING = "tls.resumption_missing"
    TLS_RESUMPTION_FLAKY = "tls.resumption_flaky"
    TLS_RESUMPTION_BROKEN = "tls.resumption_broken"
    TLS_ZERO_RTT = "tls.zero_rtt"
    TLS_OCSP = "tls.ocsp"
    TLS_PQ = "tls.pq"
    TLS_CERT_COMPRESSION = "tls.cert_compression"
    TLS_CERT_COMPRESSION_BROKEN = "tls.cert_compression_broken"
    TLS_RECORD_OVERFLOW = "tls.record_overflow"
    TLS_RECORD_TINY = "tls.record_tiny"
    TCP_IW_SMALL = "tcp.iw_small"
    TCP_IDLE_RESTART = "tcp.idle_restart"
    TCP_NAGLE_DELAYED_ACK = "tcp.nagle_delayed_ack"
    HTTP_KEEPALIVE_OFF = "http.keepalive_off"
    HTTP_H2_MISSING = "http.h2_missing"
    HTTP_H3 = "http.h3"
    HTTP_THINK_TIME = "http.think_time"
    HTTP_BODY_STALL = "http.body_stall"
    HTTP_NO_TLS = "http.no_tls"
    HTTP_BUFFERED_RESPONSE = "http.buffered_response"
    PAGE_EXTRA_HOSTS_AND_LOST_MUX = "page.extra_hosts_and_lost_mux"
    PAGE_CDN_SLOWER_THAN_ORIGIN = "page.cdn_slower_than_origin"
    PAGE_CSS_IMPORT = "page.css_import"
    PAGE_RENDER_BLOCKING = "page.render_blocking"
    PAGE_THIRD_PARTY_BLOCKING = "page.third_party_blocking"
    PAGE_CLIENT_RENDERED = "page.client_rendered"
    PAGE_LCP_LATE = "page.lcp_late"
    PAGE_LCP_HELD = "page.lcp_held"
    PAGE_LCP_BEHIND = "page.lcp_behind"
    PAGE_FONT_LATE = "page.font_late"
    PAGE_TEXT_HIDDEN = "page.text_hidden"
    PAGE_PRECONNECT_MISSING = "page.preconnect_missing"
    PAGE_PRELOAD_UNUSED = "page.preload_unused"
    PAGE_UNCOMPRESSED = "page.uncompressed"
    PAGE_UNCACHED = "page.uncached"
    PAGE_IMAGE_OVERSIZED = "page.image_oversized"


# A number carries its unit in its name (`gap_ms`), as everything that reaches a person.
FactValue = bool | int | float | str | tuple[str, ...] | tuple[float, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One thing that was seen, by name."""

    name: str
    value: FactValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """A finding as others name it."""

    id: FindingId
    host: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """What is saved by mending a cause and all `others`, beyond what each of them saves by itself."""

    saving_us: int
    others: tuple[Cause, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One cause. `saving_us` is what its repair saves a new visitor (a returning one where the catalogue says so) by
    itself; None where the cost is a failure or cannot be told in time. `together` is what it saves with others beyond
    that, which each of those tells too. `host` is set where it speaks of one host of a page, `rows` are the numbers of
    the page's requests that it speaks of.
    """

    id: FindingId
    severity: Severity
    confidence: Confidence
    saving_us: int | None = None
    evidence: tuple[Fact, ...] = ()
    host: str | None = None
    rows: tuple[int, ...] = ()
    together: Together | None = None

    @property
    def share_us(self) -> int | None:
        """What it saves with its part of what it saves together with others: added up, each saving counts once."""
        if self.together is None:
            return self.saving_us
        return (self.saving_us or 0) + self.together.saving_us // (1 + len(self.together.others))


class NotJudgedReason(StrEnum):
    """Why nothing is said, neither that a cause is there nor that it is not."""

    RTT_SHORT = "rtt_short"
    LOSS = "loss"
    PACED = "paced"
    LATE_CLOCK = "late_clock"
    TOO_FEW_SAMPLES = "too_few_samples"
    NEEDS_DEEP_PROBE = "needs_deep_probe"
    RESPONSE_SMALL = "response_small"
    NOT_MEASURED = "not_measured"
    NOT_REPEATED = "not_repeated"
    HIDDEN = "hidden"
    PAINT_ELSEWHERE = "paint_elsewhere"
    CLOCKS_APART = "clocks_apart"
    UNSTEADY = "unsteady"
    PADDED = "padded"
    SHAPED = "shaped"
    WITHOUT_TLS_TOO = "without_tls_too"
    ONLY_WITH_TLS = "only_with_tls"
    MADE_LATER = "made_later"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotJudged:
    """A cause that this evidence cannot decide. `hidden_by` is the finding that must be mended first."""

    id: FindingId
    reason: NotJudgedReason
    hidden_by: FindingId | None = None


class CheckColumn(StrEnum):
    """The columns of "Is TLS fast yet", in their order."""

    SESSION_IDS = "session_ids"
    SESSION_TICKETS = "session_tickets"
    OCSP_STAPLING = "ocsp_stapling"
    RECORD_SIZING = "record_sizing"
    ALPN = "alpn"
    FORWARD_SECRECY = "forward_secrecy"
    HTTP2 = "http2"
    TLS13 = "tls13"
    ZERO_RTT = "zero_rtt"
    HTTP3 = "http3"
    QUIC_ZERO_RTT = "quic_zero_rtt"
    PQ_KEY_EXCHANGE = "pq_key_exchange"
    ECH = "ech"
    CERTIFICATE_COMPRESSION = "certificate_compression"
    SMALL_CHAIN = "small_chain"
    INITIAL_WINDOW = "initial_window"
    EARLY_HINTS = "early_hints"
    SHORT_CERTIFICATES = "short_certificates"
    HSTS = "hsts"
    RESUMPTION_EVERYWHERE = "resumption_everywhere"


class Answer(StrEnum):
    YES = "yes"
    NO = "no"
    NOT_APPLICABLE = "not_applicable"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One column of the checklist; `detail` is the evidence in a few words ("16 KB, static", "3 of 5 resumed")."""

    column: CheckColumn
    answer: Answer
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Findings in the order in which to mend them, what was left open, and the checklist (all 20 columns, in order)."""

    findings: tuple[Finding, ...] = ()
    not_judged: tuple[NotJudged, ...] = ()
    checklist: tuple[Check, ...] = ()
