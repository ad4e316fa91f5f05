"""The only module with private parts of aioquic: what a probe wants to see of a QUIC connection, and bounds it needs.

`missing_parts()` tells what a new aioquic has dropped; no connection begins without them, and a test fails first.
Import this and `http3` only where a probe speaks HTTP/3: aioquic is memory that other processes can spare.
"""

import ssl

import pylsqpack
from aioquic._buffer import Buffer
from aioquic.h3.connection import H3Connection
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated
from aioquic.quic.packet import QuicProtocolVersion
from aioquic.tls import Context, Epoch, SessionTicket
from cryptography.hazmat.primitives.serialization import Encoding

from workers.probes.request_fields import CONNECTION_WINDOW_BYTES, STREAM_WINDOW_BYTES

# As long as the key share of X25519MLKEM768, which is the most of what browsers say first: with it their hello takes
# two datagrams, and a server may answer with three times as much (RFC 9000, 8.1). Said here as padding (RFC 7685).
_PADDING = 21
_PADDING_BYTES = 1216
# As in `bindings`: what is kept of handshake messages; of a certificate its type and length.
_CERTIFICATE = 11
_HEADER_BYTES = 4
_MESSAGE_BYTES = 4096
_MAX_MESSAGES = 32
_MAX_CHAIN = 16
_IDLE_S = 30.0
# What a connection believes of the way there before it has seen it: Chrome's default, at least a timer's grain.
_USUAL_RTT_S = 0.1
_MIN_RTT_S = 0.01
_PRIVATE: dict[type, tuple[str, ...]] = {
    QuicConnection: ("_close_event", "_initialize"),
    Context: ("_handle_reassembled_message", "_peer_certificate", "_peer_certificate_chain", "handshake_extensions"),
    H3Connection: (
        "_blocked_streams",
        "_decoder",
        "_init_connection",
        "_is_done",
        "_max_push_id",
        "_max_table_capacity",
    ),
}


def missing_parts() -> tuple[str, ...]:
    """Private parts that the installed aioquic lacks; nothing is asked over QUIC unless this is empty."""
    connection = QuicConnection(configuration=QuicConfiguration(alpn_protocols=["h3"], is_client=True))
    samples = (connection, Context(is_client=True), H3Connection(connection))
    return tuple(
        f"{kind.__name__}.{name}"
        for (kind, names), sample in zip(_PRIVATE.items(), samples, strict=True)
        for name in names
        if not hasattr(sample, name)
    )


class Quic(QuicConnection):
    """A client's QUIC connection that keeps the handshake messages it received. It verifies no certificate. Its hello
    is as long as a browser's."""

    def __init__(self, host: str, rtt_us: int | None) -> None:
        """Raises RuntimeError when the installed aioquic does not fit."""
        if missing := missing_parts():
            raise RuntimeError(f"this aioquic lacks {', '.join(missing)}: install the version of requirements.txt")
        self.messages: list[bytes] = []
        super().__init__(
            configuration=QuicConfiguration(
                alpn_protocols=["h3"],
                idle_timeout=_IDLE_S,
                initial_rtt=_USUAL_RTT_S if rtt_us is None else max(_MIN_RTT_S, rtt_us / 1_000_000),
                is_client=True,
                max_data=CONNECTION_WINDOW_BYTES,
                max_stream_data=STREAM_WINDOW_BYTES,
                server_name=host,
                supported_versions=[QuicProtocolVersion.VERSION_1],
                verify_mode=ssl.CERT_NONE,
            ),
            # Who takes no tickets is given none.
            session_ticket_handler=_look_away,
        )

    @property
    def ending(self) -> ConnectionTerminated | None:
        """Why the connection is over, whoever ended it, as soon as that is clear."""
        return self._close_event

    @property
    def chain(self) -> tuple[bytes, ...]:
        """The certificates as the server sent them, DER; none before they came."""
        leaf = self.tls._peer_certificate
        if leaf is None:
            return ()
        return tuple(one.public_bytes(Encoding.DER) for one in (leaf, *self.tls._peer_certificate_chain)[:_MAX_CHAIN])

    @property
    def cipher(self) -> str | None:
        schedule = self.tls.key_schedule
        return None if schedule is None else f"TLS_{schedule.cipher_suite.name}"

    def _initialize(self, peer_cid: bytes) -> None:
        """Called anew after a Retry, with another TLS context."""
        super()._initialize(peer_cid)
        self.tls.handshake_extensions.append((_PADDING, bytes(_PADDING_BYTES)))
        handle = self.tls._handle_reassembled_message

        def hear(message_type: int, input_buf: Buffer, output_buf: dict[Epoch, Buffer]) -> None:
            if len(self.messages) < _MAX_MESSAGES:
                whole = _HEADER_BYTES if message_type == _CERTIFICATE else _MESSAGE_BYTES
                self.messages.append(input_buf.data_slice(0, min(whole, input_buf.capacity)))
            handle(message_type, input_buf, output_buf)

        # It is called by its name on the instance and has no hook of its own.
        self.tls._handle_reassembled_message = hear  # type: ignore[method-assign]


class Http3(H3Connection):
    """HTTP/3 without pushes, and without a table of headers that a server fills: a byte of a head stands for no more
    than an entry of the fixed table then."""

    @property
    def broken(self) -> bool:
        """Whether the server broke the rules of HTTP/3."""
        return self._is_done

    def _init_connection(self) -> None:
        self._max_push_id = None
        self._max_table_capacity = self._blocked_streams = 0
        self._decoder = pylsqpack.Decoder(0, 0)
        super()._init_connection()


def _look_away(_: SessionTicket) -> None:
    """What a ticket allows is in the message that brought it."""
