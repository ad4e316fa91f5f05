"""What an agent has found out about its own network, and for how long that counts."""

from dataclasses import dataclass, field

# An agent runs for weeks, and its network may be another by then. Whoever watches more than one site over IPv6 or
# HTTP/3 sees one of them much more often; who watches one cannot tell its silence from that of the own network.
HOLDS_NS = 3_600 * 1_000_000_000


@dataclass(slots=True)
class Passage:
    """One way out of the agent's network. `last_ns` is when somebody was last reached by it (monotonic clock)."""

    last_ns: int | None = None

    def holds(self, now_ns: int) -> bool:
        """Whether that was within the last hour: then silence is not the own network's."""
        return self.last_ns is not None and now_ns - self.last_ns <= HOLDS_NS


@dataclass(slots=True)
class Network:
    """`quic`: somebody was spoken to over QUIC. `ipv6`: somebody was reached over IPv6."""

    quic: Passage = field(default_factory=Passage)
    ipv6: Passage = field(default_factory=Passage)
