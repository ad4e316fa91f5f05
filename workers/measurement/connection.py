"""One transport connection that a run opened, and the headers that travel over it."""

from workers.measurement.certificate import Certificate
from workers.measurement.nouns import noun
from workers.measurement.timing import Span


@noun(frozen=True, slots=True, kw_only=True)
class Header:
    """One header line; names keep the case that was on the wire."""

    name: str
    value: str


@noun(frozen=True, slots=True, kw_only=True)
class Pause:
    """When nothing came. `behind_bytes` came at once when it was over: they had been on their way, held back by a lost
    packet or by a full window."""

    span: Span
    behind_bytes: int


@noun(frozen=True, slots=True, kw_only=True)
class Connection:
    """`number` counts from 1 in the order of opening within the run. `protocol` is the ALPN name: http/1.1, h2, h3.

    For QUIC, `connect` is absent and `tls` is the whole handshake, since the two cannot be told apart.
    `tls_round_trips` counts the server's handshake flights; `resumed` is None when the log does not say.
    `certificate_error` is told of a certificate that was accepted all the same, too. `pauses` are when nothing came
    while an answer was on its way, the longest ones in order of time, each at least four times as long as what lies
    between two packets; None where nobody looked.
    """

    number: int
    host: str
    port: int
    address: str | None = None
    protocol: str | None = None
    dns: Span | None = None
    connect: Span | None = None
    tls: Span | None = None
    rtt_us: int | None = None
    tls_round_trips: int | None = None
    tls_version: str | None = None
    cipher: str | None = None
    resumed: bool | None = None
    certificate: Certificate | None = None
    certificate_error: str | None = None
    received_bytes: int | None = None
    requests: int = 0
    preconnected: bool = False
    pauses: tuple[Pause, ...] | None = None
