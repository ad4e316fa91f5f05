import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
import redis

from backend.runs.broker import push
from backend.runs.outgoing import Outgoing
from backend.runs.tests.factories import NOW
from backend.runs.tests.processes import ROOT
from backend.testing import wait_until
from workers.measurement.broker import acl_rules


@contextmanager
def _worker(url: str, region: str, queues: str, told_url: str) -> Iterator[None]:
    command = [sys.executable, "-m", "celery", "-A", "backend.runs.tests.worker_app", "worker", "--pool", "threads"]
    options = ["-c", "4", "-Q", queues, "--without-gossip", "--without-mingle", "--without-heartbeat"]
    environment = os.environ | {"REDIS_URL": url, "REGION": region, "TOLD_URL": told_url}
    with subprocess.Popen([*command, *options], cwd=ROOT, env=environment, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.kill()


@pytest.fixture
def region_url(broker: str, broker_client: redis.Redis) -> str:
    """The broker with the account of region eu, which may touch nothing else."""
    broker_client.execute_command("ACL", "SETUSER", "region-eu", "on", ">secret", *acl_rules("eu").split())  # type: ignore[no-untyped-call]  # redis-py leaves this one without types
    return urlsplit(broker)._replace(netloc="region-eu:secret@").geturl()


def test_a_real_celery_worker_with_its_regions_account_consumes_what_we_publish(
    region_url: str, broker: str, broker_client: redis.Redis
) -> None:
    arguments = [f'{{"n":{n},"text":"é \\" \\\\ %s"}}'.encode() for n in range(50)]
    messages = [
        Outgoing(
            run_id=uuid4(),
            queue=queue,
            expires_at=NOW + timedelta(minutes=1),
            timeout_s=10,
            config_version=1,
            message=argument,
        )
        for queue in ("eu:probe", "eu:probe.now")
        for argument in arguments
    ]
    stranger = Outgoing(
        run_id=uuid4(),
        queue="us:probe",
        expires_at=NOW + timedelta(minutes=1),
        timeout_s=10,
        config_version=1,
        message=b"{}",
    )
    push([*messages, stranger], published_at=NOW)
    with _worker(region_url, "eu", "probe.now,probe", broker):
        wait_until(lambda: broker_client.llen("told") >= 100, "the worker to take all messages")
        wait_until(lambda: not broker_client.exists("eu:unacked"), "the worker to acknowledge them")
    assert sorted(broker_client.lrange("told", 0, -1)) == sorted(arguments * 2)
    assert broker_client.llen("us:probe") == 1
