"""A message for a Celery worker, in the form that kombu's Redis transport stores.

Written by hand, because kombu's own producer publishes 550 to 930 messages a second on two cores, one round trip each,
where the scheduler must publish thousands. The form is Celery's task protocol 2 in the envelope of kombu's virtual
transports; a test lets a real worker consume it, so that an upgrade that changes the form cannot pass unseen.
"""

import base64
import json
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

from backend.instants import to_us
from workers.measurement.routes import EXECUTE_TASK

_BODY = '[[%s], {}, {"callbacks": null, "errbacks": null, "chain": null, "chord": null}]'
_ENVELOPE = (
    '{"body": "%(body)s", "content-encoding": "utf-8", "content-type": "application/json", "headers": {'
    '"lang": "py", "task": "' + EXECUTE_TASK + '", "id": "%(id)s", "root_id": "%(id)s", "parent_id": null, '
    '"group": null, "group_index": null, "shadow": null, "eta": null, "expires": null, "retries": 0, '
    '"timelimit": [null, null], "argsrepr": "", "kwargsrepr": "", "origin": "scheduler", "ignore_result": true, '
    '"published_us": %(published_us)d, "expires_us": %(expires_us)d}, '
    '"properties": {"correlation_id": "%(id)s", "reply_to": "", "delivery_mode": 2, "delivery_info": '
    '{"exchange": "", "routing_key": "%(queue)s"}, "priority": 0, "body_encoding": "base64", '
    '"delivery_tag": "%(tag)s"}}'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """When a message was published and until when it is worth taking; the sweeper reads both from the queue's head."""

    published_at: datetime
    expires_at: datetime


def celery_message(run_id: UUID, argument: bytes, queue: str, stamp: Stamp) -> bytes:
    """The message that makes a worker call the task with `argument` (UTF-8) as its only argument.

    Celery's own `expires` stays empty: a worker would judge it by its own wall clock and drop the run without a word.
    """
    body = _BODY % json.dumps(argument.decode())
    fields = {
        "body": base64.b64encode(body.encode()).decode(),
        "id": run_id,
        "queue": queue,
        "tag": uuid4(),
        "published_us": to_us(stamp.published_at),
        "expires_us": to_us(stamp.expires_at),
    }
    return (_ENVELOPE % fields).encode()
