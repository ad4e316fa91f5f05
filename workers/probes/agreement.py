"""In which protocol two servers are asked: in the one that both speak, as a browser would where it can.

What a server speaks is found out by a handshake before the first pair, over which nothing is asked: so no cache is warm
for it, and each leg is still measured over a connection of its own.
"""

import time
from collections import OrderedDict
from dataclasses import dataclass, field

from workers.measurement.failure import FailureKind
from workers.measurement.pair import DialAddress
from workers.measurement.target import Target
from workers.probes.exchange import HTTP2 as H2
from workers.probes.exchange import conversation
from workers.probes.faults import TIMEOUTS, ProbeError
from workers.probes.journey import hello_died
from workers.probes.link import Kit, Link, Manner
from workers.probes.loop import DeadlineError
from workers.probes.openssl import HTTP2, HTTP11, Offer
from workers.probes.recorder import HopRecorder

EITHER = (*HTTP2, *HTTP11)
# Finding out makes a name server's cache warm: often enough to see that a server was set up anew, and seldom.
_HOLDS_NS = 6 * 3_600 * 1_000_000_000
_MOST_KNOWN = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Speech:
    """What a server is taken to speak. That one of HTTP/2 does not speak HTTP/1.1 is seen only by asking it so.

    `classical`: nothing comes of a ClientHello with the hybrid key share.
    """

    http11: bool = True
    http2: bool = False
    classical: bool = False

    def offer(self, *, over_http2: bool) -> Offer:
        return Offer(protocols=EITHER if over_http2 else HTTP11, classical=self.classical)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A server, as far as it can be told from outside."""

    target: Target
    instead: DialAddress | None

    @property
    def key(self) -> tuple[str, int, DialAddress | None]:
        return self.target.host, self.target.port, self.instead


@dataclass(slots=True)
class Acquaintances:
    """The servers that were met in the last hours, by no more than a bounded number. For the engine's thread only."""

    _known: OrderedDict[object, tuple[int, Speech]] = field(default_factory=OrderedDict)

    def of(self, spot: Spot) -> Speech | None:
        """None for one who was not met, or too long ago. Without TLS there is nothing to agree on."""
        if not spot.target.secure:
            return Speech()
        since_ns, speech = self._known.get(spot.key, (0, None))
        return speech if time.monotonic_ns() - since_ns <= _HOLDS_NS else None

    def meet(self, spot: Spot, speech: Speech) -> None:
        self._known[spot.key] = (time.monotonic_ns(), speech)
        self._known.move_to_end(spot.key)
        while len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)

    def correct(self, spot: Spot, speech: Speech) -> None:
        """It turned out otherwise while it was measured; that it was met then counts no more than before."""
        if spot.key in self._known:
            self._known[spot.key] = (self._known[spot.key][0], speech)


def over_http2(one: Speech, other: Speech) -> tuple[bool, bool]:
    """Which of two servers are offered HTTP/2: both or neither, unless they have nothing in common."""
    if one.http2 and other.http2:
        return True, True
    if one.http11 and other.http11:
        return False, False
    return one.http2, other.http2


async def find_out(kit: Kit, spot: Spot, recorder: HopRecorder, deadline_ns: int) -> Speech:
    """By a handshake alone. Raises ProbeError; what was seen of one that came to nothing is in the recorder."""
    classical = False
    try:
        try:
            protocol = await _greet(kit, spot, recorder, Offer(protocols=EITHER), deadline_ns)
        except ProbeError as error:
            if not hello_died(recorder, error.failure):
                raise
            classical = True
            offer = Offer(protocols=EITHER, classical=True)
            protocol = await _greet(kit, spot, HopRecorder(spot.target), offer, deadline_ns)
    except ProbeError as error:
        if error.failure.kind is not FailureKind.HTTP1_NOT_SPOKEN:
            raise
        raise ProbeError(FailureKind.TLS_ALERT, "it speaks neither HTTP/1.1 nor HTTP/2") from error
    if protocol == H2:
        # What reads it is imported before anything is measured.
        conversation()
    return Speech(http2=protocol == H2, classical=classical)


async def _greet(kit: Kit, spot: Spot, recorder: HopRecorder, offer: Offer, deadline_ns: int) -> str | None:
    """The protocol that was agreed on. A server that never answers leaves half of the time for another try."""
    with Link(kit, spot.target, Manner(instead=spot.instead, offer=offer, sparing=not offer.classical)) as link:
        try:
            await link.channel(recorder, deadline_ns)
        except DeadlineError as error:
            raise ProbeError(TIMEOUTS[recorder.stage]) from error
    return None if recorder.handshake is None else recorder.handshake.protocol
