"""A server's side of a QUIC handshake, from the frames that Chrome's network log writes of it. Pure.

The log tells no cipher and no certificate of a QUIC session, and its resumption only where parameters were remembered
for 0-RTT; the server's own messages (RFC 8446, 4; RFC 9001, 4) tell all of them.
"""

import base64
from collections import defaultdict

from workers.measurement.compute.probe.handshake_messages import chain_of, cipher_of, is_resumed, messages_in

# Far more than an honest server says before its handshake is over.
_MAX_BYTES = 256 * 1024
_MAX_FRAMES = 256
_LEVELS = ("ENCRYPTION_INITIAL", "ENCRYPTION_HANDSHAKE")


class QuicHandshake:
    """One session's, filled frame by frame in any order."""

    def __init__(self) -> None:
        self._frames: dict[str, dict[int, bytes]] = defaultdict(dict)
        self._size = self._count = 0

    def take(self, level: str, offset: int, text: str) -> None:
        """A CRYPTO frame of an encryption level: its place in that level's stream, its bytes in base64."""
        if level not in _LEVELS or self._count >= _MAX_FRAMES or self._size + len(text) > _MAX_BYTES:
            return
        self._size, self._count = self._size + len(text), self._count + 1
        try:
            self._frames[level][offset] = base64.b64decode(text)
        except ValueError:
            return

    @property
    def messages(self) -> tuple[bytes, ...]:
        """Those that came whole, in their order."""
        return tuple(message for level in _LEVELS for message in messages_in(_stream(self._frames[level])))

    @property
    def cipher(self) -> int | None:
        """IANA's number of the suite."""
        return cipher_of(self.messages)

    @property
    def resumed(self) -> bool | None:
        """None where the server did not say it, or the log not what it said."""
        return is_resumed(self.messages)

    @property
    def chain(self) -> tuple[bytes, ...]:
        """Certificates in DER, the server's first; none where a session is resumed or they came compressed."""
        return chain_of(self.messages)


def _stream(frames: dict[int, bytes]) -> bytes:
    """From the beginning up to the first gap; what came twice counts once."""
    stream = b""
    for offset, data in sorted(frames.items()):
        if offset > len(stream):
            break
        stream += data[len(stream) - offset :]
    return stream
