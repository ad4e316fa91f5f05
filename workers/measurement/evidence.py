"""What a raw probe saw on the wire, kept so that a better rule can be run again over an old run.

Every `_us` of a trial counts from the instant at which its connection was begun (the SYN; for QUIC the first datagram).
What was not seen is None. Lists are bounded by who captures them; a cut one says so.
"""

from datetime import datetime
from enum import StrEnum

from workers.measurement.connection import Header
from workers.measurement.failure import Failure
from workers.measurement.nouns import noun

# Of one connection no more are kept.
MAX_TRANSFERS, MAX_RECORDS = 256, 256


class Depth(StrEnum):
    """How much of a target a probe looks at: one connection, or about sixteen, each asking something else."""

    LIGHT = "light"
    DEEP = "deep"


class Trial(StrEnum):
    """What one connection of a probe is for. Those of a deep probe go to the address that the first one used, but for
    two kinds that say so."""

    # All that a browser offers, the hybrid key share too, for HTTP/1.1; for h2 alone where the server speaks nothing
    # else, and then all others do so too. The first, which is the run itself, asks once; the next ask twice in a row,
    # and one of them once more after a pause.
    FULL = "full"
    # With the session of an earlier one, or without any where servers gave none: as a visitor who comes back.
    RESUMED = "resumed"
    # With such a session at another address of the name and family, as far as the handshake. Not made where none is
    # ever continued at the address that gave it.
    RESUMED_ELSEWHERE = "resumed_elsewhere"
    # The same, the request sent as early data. Only made where a ticket allows it; the request is a GET.
    EARLY_DATA = "early_data"
    # TLS 1.2 at most, the second one without offering tickets; its resumption by ticket, and by session id.
    TLS12 = "tls12"
    TLS12_TICKET = "tls12_ticket"
    TLS12_SESSION_ID = "tls12_session_id"
    # As `full`, with our own acknowledgements delayed as most clients delay them.
    DELAYED_ACK = "delayed_ack"
    # As `full`, without the hybrid key share: X25519 and P-256 alone.
    CLASSICAL = "classical"
    # As `full`, offering h2 before http/1.1 and asking over it, twice in a row.
    HTTP2 = "http2"
    # TLS 1.3 alone, offering to take compressed certificates (RFC 8879: zlib, brotli, zstd), as far as the server's
    # last word of the handshake. Only made where the chain is long enough to gain from it.
    COMPRESSED = "compressed"
    # Only where the server or its name announces it.
    HTTP3 = "http3"
    # http:// on port 80, for an https:// target.
    PLAIN = "plain"
    # The other address family, as far as the handshake. Not made where this machine has no way there.
    OTHER_FAMILY = "other_family"


class Direction(StrEnum):
    SENT = "sent"
    RECEIVED = "received"


@noun(frozen=True, slots=True, kw_only=True)
class Transfer:
    """Bytes that went one way at one instant: a write of ours, or a read with the kernel's stamp of its last packet."""

    at_us: int
    direction: Direction
    size_bytes: int


@noun(frozen=True, slots=True, kw_only=True)
class TlsRecord:
    """A TLS record received: when its header and when its last byte came in. `length_bytes` is without the header.

    `content_type` is the one on the wire. `application` tells, once decrypted, whether it carried data of the
    application: in TLS 1.3 tickets and the handshake look the same from outside. What HTTP/2 says of the connection
    before an answer counts as little as they do.
    """

    at_us: int
    content_type: int
    length_bytes: int
    end_us: int | None = None
    application: bool | None = None


@noun(frozen=True, slots=True, kw_only=True)
class TcpState:
    """What the kernel knows of a connection (TCP_INFO). Absent where an old kernel does not say."""

    rtt_us: int | None = None
    min_rtt_us: int | None = None
    rttvar_us: int | None = None
    rcv_rtt_us: int | None = None
    snd_cwnd: int | None = None
    snd_mss_bytes: int | None = None
    rcv_mss_bytes: int | None = None
    adv_mss_bytes: int | None = None
    pmtu_bytes: int | None = None
    total_retransmits: int | None = None
    out_of_order_packets: int | None = None
    reorderings: int | None = None
    dsack_dups: int | None = None
    data_segments_in: int | None = None
    received_bytes: int | None = None
    delivery_rate_bytes_s: int | None = None


@noun(frozen=True, slots=True, kw_only=True)
class CertificateFault:
    """What OpenSSL held against a certificate of the chain: its error number and words, and how far from the leaf."""

    code: int
    depth: int
    text: str


@noun(frozen=True, slots=True, kw_only=True)
class ChainCertificate:
    """One certificate as it was sent. `issued_by` is the index in `ProbeEvidence.certificates` of the one that
    signed it, itself for a self-signed one, None when that one was not sent. Times are aware UTC."""

    subject: str
    issuer: str
    names: tuple[str, ...]
    name_count: int
    not_before: datetime
    not_after: datetime
    sha256: str
    der_bytes: int
    authority: bool
    issued_by: int | None = None
    key_type: str | None = None
    key_bits: int | None = None
    signature_algorithm: str | None = None
    must_staple: bool = False
    ocsp_urls: tuple[str, ...] = ()
    issuer_urls: tuple[str, ...] = ()


class EarlyData(StrEnum):
    """What became of a request sent as early data (RFC 8446, 4.2.10)."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"


class CertificateCompression(StrEnum):
    """How a server made its certificates smaller (RFC 8879, 7.3)."""

    ZLIB = "zlib"
    BROTLI = "brotli"
    ZSTD = "zstd"


class StapleWord(StrEnum):
    """What the OCSP answer that came along says of the leaf (RFC 6960, 2.2)."""

    GOOD = "good"
    REVOKED = "revoked"
    UNKNOWN = "unknown"
    # Nothing: it speaks of other certificates, or puts us off until later. Browsers take that for no answer.
    NOTHING = "nothing"
    # By nobody who may speak for the leaf's issuer (4.2.2.2), whatever it says. Browsers take that for no answer.
    UNSIGNED = "unsigned"
    # It cannot be told who signed it: the leaf's issuer was not sent, or signs in a way that is not known here.
    UNVERIFIED = "unverified"
    # No answer at all, the authority's error, or a signature that is not that of the signer it names.
    INVALID = "invalid"


@noun(frozen=True, slots=True, kw_only=True)
class Handshake:
    """A TLS handshake, as far as it came. `chain` are indices into `ProbeEvidence.certificates`, in the order sent.

    `started_us` is when the ClientHello left, `ended_us` the server's last handshake byte. `network_us` is the time
    that lay with the network and the server, `own_us` the processor time of our own cryptography. `group` is the key
    exchange. `tickets` counts NewSessionTicket messages seen until the end of the connection; `max_early_data_bytes`
    is what they allow. `certificate_message_bytes` is the size of the message as it came; where it was compressed,
    `certificate_compression` says how and `certificate_inflated_bytes` from what size: only a trial that offers to take
    such can see it. `verified_with_fetched_issuer` tells, for an incomplete chain, whether it is trusted once the
    issuer that the certificate itself points to is added, or what was sent is read in another order; None when neither
    was tried. `staple_word` is what the OCSP answer that came along says of the leaf, from `staple_begins` to
    `staple_ends`.
    """

    started_us: int
    hello_bytes: int
    ended_us: int | None = None
    network_us: int | None = None
    own_us: int | None = None
    version: str | None = None
    cipher: str | None = None
    group: str | None = None
    protocol: str | None = None
    resumed: bool | None = None
    hello_retry: bool | None = None
    certificate_message_bytes: int | None = None
    certificate_compression: CertificateCompression | None = None
    certificate_inflated_bytes: int | None = None
    tickets: int | None = None
    ticket_lifetime_s: int | None = None
    max_early_data_bytes: int | None = None
    early_data: EarlyData | None = None
    stapled: bool | None = None
    staple_word: StapleWord | None = None
    staple_begins: datetime | None = None
    staple_ends: datetime | None = None
    chain: tuple[int, ...] = ()
    chain_zlib_bytes: int | None = None
    faults: tuple[CertificateFault, ...] = ()
    verified_with_fetched_issuer: bool | None = None
    in_other_order: bool | None = None


@noun(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request over the connection, and its answer.

    `asked_us` is when it was to be sent, `sent_us` when its last byte left; `idle_us` the pause before it on a
    connection that had been used. `first_raw_us`: the first byte of anything after it (a ticket counts).
    `first_application_us`: the first byte of the first record that carries the answer. `first_readable_us`: that
    record was whole, so the answer could be read; without TLS the three are one. `head_us`: the whole head of the final
    answer, `first_body_us`: the first byte of the body that could be read, `ended_us`: the last.
    `kept` tells whether the server left the connection open for the next request; None when nobody looked.
    """

    asked_us: int
    idle_us: int | None = None
    sent_us: int | None = None
    first_raw_us: int | None = None
    first_application_us: int | None = None
    first_readable_us: int | None = None
    head_us: int | None = None
    first_body_us: int | None = None
    ended_us: int | None = None
    status: int | None = None
    interim: tuple[int, ...] = ()
    headers: tuple[Header, ...] = ()
    head_bytes: int | None = None
    body_bytes: int | None = None
    kept: bool | None = None


@noun(frozen=True, slots=True, kw_only=True)
class TrialEvidence:
    """One connection. `started_us` is when it began on the run's clock; trials of one kind come in order.

    `failure` is why it ended early. `syn_rtt_us` is the round trip of SYN and SYN-ACK, None after a lost SYN.
    `tcp_connected`, `tcp_secured`, `tcp_ended` are taken at the three ends. `scheduling_lag_us` is the longest that
    data lay in the kernel before our process looked. `truncated` says that transfers or records were dropped.
    """

    trial: Trial
    started_us: int
    address: str | None = None
    connect_us: int | None = None
    syn_rtt_us: int | None = None
    syn_retransmits: int | None = None
    handshake: Handshake | None = None
    exchanges: tuple[Exchange, ...] = ()
    transfers: tuple[Transfer, ...] = ()
    records: tuple[TlsRecord, ...] = ()
    tcp_connected: TcpState | None = None
    tcp_secured: TcpState | None = None
    tcp_ended: TcpState | None = None
    ended_us: int | None = None
    kernel_clock: bool = True
    scheduling_lag_us: int | None = None
    truncated: bool = False
    failure: Failure | None = None


@noun(frozen=True, slots=True, kw_only=True)
class Alias:
    """One CNAME on the way from the name that was asked for to its addresses."""

    name: str
    target: str
    ttl_s: int


@noun(frozen=True, slots=True, kw_only=True)
class Question:
    """One question to a name server. `took_us` is None without a whole answer, `code` (NOERROR …) without any; an
    answer that was too long for UDP, and did not come by TCP in time, has its `code` alone."""

    record_type: str
    took_us: int | None = None
    code: str | None = None


@noun(frozen=True, slots=True, kw_only=True)
class HttpsRecord:
    """What the name's HTTPS record says (RFC 9460). `ech`: it brings a key for an encrypted ClientHello."""

    protocols: tuple[str, ...] = ()
    ech: bool = False
    ttl_s: int | None = None


@noun(frozen=True, slots=True, kw_only=True)
class NameEvidence:
    """One host name looked up. `resolver` is the server that answered.

    `took_us` is the lookup that the first connection waited for. `again_us` is the same question asked at once again:
    the way to the resolver and nothing else, since now it knows the answer. `left_loose` is how often the resolver
    named an alias without what it leads to, so that the first connection waited for that way once more: in `took_us`,
    not in `again_us`. `https` is None when there is no record.
    A name that this machine knows by itself has `resolver` None and no questions.
    """

    host: str
    resolver: str | None = None
    took_us: int | None = None
    again_us: int | None = None
    questions: tuple[Question, ...] = ()
    aliases: tuple[Alias, ...] = ()
    addresses: tuple[str, ...] = ()
    min_ttl_s: int | None = None
    https: HttpsRecord | None = None
    left_loose: int = 0


@noun(frozen=True, slots=True, kw_only=True)
class ProbeEvidence:
    """All that a probe saw of its last hop's host, and the lookups of all hosts on the way.

    `certificates` holds each one that any server sent once. `measured_at` is the agent's wall clock, against which
    certificates are judged. `profile_verified` tells of a shaped run whether the link kept its numbers; None when
    nothing was shaped. `quic_passes` tells whether this agent has spoken HTTP/3 with anybody in the last hour:
    otherwise silence over UDP may be that of its own network; `ipv6_passes` whether it has reached anybody over IPv6 in
    that time. Both are None for a light probe.
    """

    depth: Depth
    host: str
    port: int
    secure: bool
    measured_at: datetime
    names: tuple[NameEvidence, ...] = ()
    certificates: tuple[ChainCertificate, ...] = ()
    trials: tuple[TrialEvidence, ...] = ()
    profile_verified: bool | None = None
    quic_passes: bool | None = None
    ipv6_passes: bool | None = None

    def of(self, *kinds: Trial) -> tuple[TrialEvidence, ...]:
        """The connections of these kinds, in the order they were made."""
        return tuple(one for one in self.trials if one.trial in kinds)
