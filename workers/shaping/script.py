"""What a link does to single packets because it was told so: the scripted loss, and the client that delays its ACKs."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from workers.shaping.packets import ACK, FIN, RST, SYN, TCP, UDP, Packet
from workers.shaping.settings import Direction, Drop, Overtaken

End = tuple[bytes, int]
# What a link remembers of connections: far more than a test opens, far less than a page could fill.
_MAX_CONNECTIONS = 4096
_PROTOCOLS = {"tcp": TCP, "udp": UDP}
_TURN = 1 << 32


@dataclass(slots=True)
class _Connection:
    """The `number` counts from 1. `counts` is how many packets have fitted each drop; `carried` how many with
    data went the way on which some are overtaken; `segment` the largest payload.

    `open` is True once the client has sent more than its SYN: another SYN from the same port is another connection.
    """

    number: int
    open: bool = False
    counts: dict[int, int] = field(default_factory=dict)
    carried: int = 0
    acknowledged: int | None = None
    segment: int = 0
    finished: bool = False
    held: "Held | None" = None


@dataclass(slots=True, eq=False)
class Held:
    """An acknowledgement that waits. `live` is False once it was overtaken by a later one."""

    frame: bytes
    acknowledged: int
    connection: _Connection
    live: bool = True


class Script:
    """Remembers connections and says what becomes of each packet. Packets are shown to it in the order they arrive."""

    def __init__(self, drops: Sequence[Drop], overtaken: Overtaken | None = None, *, delays_acks: bool) -> None:
        self._drops = tuple(enumerate(drops))
        self._overtaken = overtaken
        self._delays_acks = delays_acks
        self._connections: dict[tuple[int, End, End], _Connection] = {}
        self._seen = 0

    def drops(self, packet: Packet, direction: Direction) -> bool:
        """Whether this packet is one that never arrives."""
        connection = self._connection(packet, direction)
        port = (packet.destination if direction is Direction.UP else packet.source)[1]
        dropped = False
        for index, drop in self._drops:
            if _fits(drop, packet, direction, connection.number, port):
                connection.counts[index] = count = connection.counts.get(index, 0) + 1
                dropped = dropped or drop.nth in (None, count)
        return dropped

    def late_us(self, packet: Packet, direction: Direction) -> int:
        """How much later than its turn this packet arrives."""
        late = self._overtaken
        if late is None or direction is not late.direction or packet.protocol != TCP or not packet.payload_bytes:
            return 0
        connection = self._connection(packet, direction)
        connection.carried += 1
        return 0 if connection.carried % late.every else late.by_us

    def hold(self, frame: bytes, packet: Packet, direction: Direction) -> Held | None:
        """The packet as an acknowledgement that a slow client would not send yet; None for one to be passed on now.

        What is passed on says all that a held acknowledgement of its connection would have said, which is forgotten.
        """
        if not self._delays_acks or packet.protocol != TCP:
            return None
        connection = self._connection(packet, direction)
        if direction is Direction.DOWN:
            connection.segment = max(connection.segment, packet.payload_bytes)
            connection.finished = connection.finished or bool(packet.flags & FIN)
            return None
        _overtake(connection)
        if self._may_wait(packet, connection):
            connection.held = Held(frame, packet.acknowledged, connection)
            return connection.held
        connection.acknowledged = packet.acknowledged if packet.flags & ACK else None
        return None

    def release(self, held: Held) -> bytes | None:
        """The frame of an acknowledgement whose time has come; None if it was overtaken."""
        if not held.live:
            return None
        _overtake(held.connection)
        held.connection.acknowledged = held.acknowledged
        return held.frame

    @staticmethod
    def _may_wait(packet: Packet, connection: _Connection) -> bool:
        """RFC 1122, 4.2.3.2 and RFC 5681, 4.2: two full segments, what is out of order and an end are told at once."""
        if not packet.pure_ack or packet.selective or connection.finished or connection.acknowledged is None:
            return False
        news = (packet.acknowledged - connection.acknowledged) % _TURN
        return 0 < news < max(1, 2 * connection.segment)

    def _connection(self, packet: Packet, direction: Direction) -> _Connection:
        ends = (packet.source, packet.destination)
        key = (packet.protocol, *(ends if direction is Direction.UP else ends[::-1]))
        known = self._connections.get(key)
        opens = packet.protocol == TCP and packet.flags & (SYN | ACK | RST) == SYN
        if known is None or (opens and known.open):
            self._seen += 1
            known = self._connections[key] = _Connection(self._seen)
            if len(self._connections) > _MAX_CONNECTIONS:
                del self._connections[next(iter(self._connections))]
        known.open = known.open or (direction is Direction.UP and not opens)
        return known


def _fits(drop: Drop, packet: Packet, direction: Direction, connection: int, port: int) -> bool:
    return (
        direction is drop.direction
        and packet.protocol == _PROTOCOLS[drop.protocol]
        and packet.payload_bytes >= drop.least_bytes
        and drop.connection in (None, connection)
        and drop.port in (None, port)
    )


def _overtake(connection: _Connection) -> None:
    if connection.held is not None:
        connection.held.live = False
        connection.held = None
