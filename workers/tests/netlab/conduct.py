"""How a server of the lab behaves. Each fault is one setting, so that a repaired twin differs in one word."""

from dataclasses import dataclass
from enum import StrEnum

from workers.measurement.evidence import CertificateCompression

HSTS = "Strict-Transport-Security: max-age=63072000; includeSubDomains"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """Silence for so long after so many bytes."""

    after_bytes: int
    pause_s: float


class Refusal(StrEnum):
    """What becomes of a ClientHello that is too long for the server."""

    RESET = "reset"
    SILENCE = "silence"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conduct:
    """The default is a faultless server of HTTP/1.1 over TLS 1.2 and 1.3.

    On the wire: `nodelay` off is Nagle's algorithm, for the answers and for the handshake; `handshake_write_bytes`
    splits the first flight of the handshake into writes of that size, as nginx before 1.5.6 did; `handshake_think_s`
    passes before that flight begins, and `signature_s` besides where a signature is in it.
    `compresses_certificates` for those who offer to take such; they get no answer beyond the handshake, and with
    `spoils_certificates` nothing that inflates to what it says.
    `hello_limit_bytes` is the longest ClientHello record that it survives.

    `protocols` are what it agrees on; with h2 alone it refuses a ClientHello without that, as RFC 7301 asks it to.
    Answers over h2 take no other setting than `think_s`, `keep_alive`, `headers` and the page's size.

    Sessions: connections go to the `nodes` in turn, and each has its own ticket keys and cache. With `breaks_sessions`
    those who continue one are refused.

    Answers: with the last of `most_requests` the connection ends, over TLS with a good-bye if it `says_goodbye`, and
    one of HTTP/2 with the first where it `closes_http2`.
    `think_s` are taken in turn by requests. With `head_flushed` the head of the answer and the first part of its page
    leave before the thinking; with `head_apart` head and page are two writes. `trickle` is a stall before each such
    part of the page.
    """

    nodelay: bool = True
    handshake_nodelay: bool = True
    handshake_write_bytes: int | None = None
    handshake_think_s: float = 0.0
    signature_s: float = 0.0
    handshake_stall: Stall | None = None
    compresses_certificates: CertificateCompression | None = None
    spoils_certificates: bool = False
    hello_limit_bytes: int | None = None
    refusal: Refusal = Refusal.RESET
    newest: str = "TLSv1.3"
    protocols: tuple[str, ...] = ("http/1.1",)
    garbage_over: str | None = None
    nodes: tuple[int, ...] = (0,)
    tickets: bool = True
    session_ids: bool = True
    breaks_sessions: bool = False
    record_bytes: int = 4096
    body_bytes: int = 4000
    keep_alive: bool = True
    closes_http2: bool = False
    most_requests: int | None = None
    says_goodbye: bool = True
    think_s: tuple[float, ...] = (0.0,)
    head_flushed: bool = False
    head_apart: bool = False
    body_stall: Stall | None = None
    trickle: Stall | None = None
    headers: tuple[str, ...] = (HSTS,)
    redirect_to: str | None = None
    # Of the page that is flushed with the head.
    flushed_bytes: int = 1000

    @property
    def speaks_http2(self) -> bool:
        return "h2" in self.protocols

    @property
    def http2_alone(self) -> bool:
        return self.protocols == ("h2",)
