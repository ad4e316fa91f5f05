"""Regions that fill the broker.

A region's account writes to its own queues, as workers do that put back what they cannot finish, and Redis bounds
nobody's share. Who has stolen such an account could so fill Redis, which then takes nothing for any region.
"""

import logging
from datetime import datetime

from backend.fleet.models import Region
from backend.runs import broker
from workers.measurement.messages import Kind

log = logging.getLogger(__name__)

# Of what Redis may hold, the most of one region.
_SHARE = 1 / 3
# As many queues of a region as the service itself could fill: those of the schedule, of each kind.
_QUEUES = len(Kind)


def empty_hoards(now: datetime) -> list[tuple[str, int]]:
    """Takes away all that those regions hold that hold more than their share, and more than the service puts there;
    whose, and how many bytes it was.

    Runs whose messages go with it end as those of an agent that is lost. Raises BrokerError.
    """
    memory = broker.memory()
    most = max(memory.limit_bytes * _SHARE, _QUEUES * broker.MAX_QUEUE_BYTES)
    if memory.used_bytes < most:
        return []
    held = broker.held_bytes(list(Region.objects.order_by("pk").values_list("code", flat=True)))
    hoards = [(code, size) for code, size in held.items() if size > most]
    for code, size in hoards:
        broker.empty(code)
        Region.objects.filter(code=code).update(emptied_at=now)
        log.warning("region %s held %d MB in the broker: emptied; who has its secrets?", code, size >> 20)
    return hoards
