"""A real Celery worker of a region, which only writes down what it was told: for a process of its own.

REDIS_URL is the broker with the region's account, REGION its code. What comes in is pushed to `told` of TOLD_URL.
"""

import os

import redis
from celery import Celery

from workers.measurement.broker import broker_options, broker_url
from workers.measurement.routes import EXECUTE_TASK
from workers.turns import take_turns

_URL, _REGION = os.environ["REDIS_URL"], os.environ["REGION"]
take_turns()
app = Celery("recorder", broker=broker_url(_URL))
app.conf.update(
    broker_transport_options=broker_options(_REGION),
    accept_content=["json"],
    task_acks_late=True,
    task_ignore_result=True,
    worker_prefetch_multiplier=1,
    worker_enable_remote_control=False,
    broker_connection_retry_on_startup=True,
)


@app.task(name=EXECUTE_TASK)
def execute(envelope: str) -> None:
    client = redis.Redis.from_url(os.environ["TOLD_URL"])
    client.lpush("told", envelope)
    client.close()
