"""A process lets go of a message also where nobody hears that it is done with it.

kombu counts what a process holds, asks for nothing more while that is all it may hold, and counts down only what the
broker has acknowledged. A page that ended while the broker was away would count for ever, and its process, which also
finds out only by asking that the broker was away, would load no other.
"""

from kombu.transport import redis, virtual


class Held(redis.QoS):
    """What a process holds."""

    def ack(self, delivery_tag: str) -> None:
        """The broker gives out again what it still has of it; ledger and service know that it was carried out."""
        try:
            super().ack(delivery_tag)
        except Exception:
            virtual.QoS.ack(self, delivery_tag)
            raise


def let_go() -> None:
    """Makes kombu do so in this process."""
    redis.Channel.QoS = Held
