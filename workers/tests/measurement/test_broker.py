"""The broker's URL as kombu takes it, and the rights of a region's account, both tried on a real Redis."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
import trustme
from kombu import Connection
from kombu.exceptions import OperationalError

from workers.measurement.broker import BrokerUrlError, broker_options, broker_url
from workers.tests.ports import free_port
from workers.tests.rig import PASSWORD, URL_PASSWORD, Broker, command
from workers.tests.waiting import wait_for


def ping(url: str) -> bool:
    with Connection(url, transport_options=broker_options("eu")) as connection:
        connection.ensure_connection(max_retries=1, timeout=3)
        channel: Any = connection.default_channel
        return bool(channel.client.ping())


@pytest.fixture
def account(broker: Broker) -> Iterator[redis.Redis]:
    """Redis as the account of region eu."""
    with redis.Redis(unix_socket_path=str(broker.socket), username="eu", password=PASSWORD) as client:
        yield client


def test_a_unix_socket_with_an_awkward_password_is_reached(broker: Broker) -> None:
    assert ping(broker_url(f"unix://eu:{URL_PASSWORD}@{broker.socket}"))


def test_a_wrong_password_is_refused(broker: Broker) -> None:
    with pytest.raises(OperationalError, match="invalid username-password pair"):
        ping(broker_url(f"unix://eu:wrong@{broker.socket}"))


def test_a_unix_socket_may_name_a_database() -> None:
    assert broker_url("unix:///run/redis.sock?db=3") == "redis+socket:///run/redis.sock?virtual_host=3"
    assert broker_url("unix://u:p%2F@/run/redis.sock") == "redis+socket://u:p%2F@/run/redis.sock?virtual_host=0"


def test_what_kombu_knows_already_stays_as_it_is() -> None:
    for url in ("redis://u:p@host:6379/0", "redis+socket://u:p@/run/redis.sock?virtual_host=0"):
        assert broker_url(url) == url


def test_tls_checks_the_server_unless_the_operator_says_otherwise() -> None:
    assert broker_url("rediss://u:p@host:6380/0") == "rediss://u:p@host:6380/0?ssl_cert_reqs=required"
    assert broker_url("rediss://host/0?ssl_cert_reqs=none") == "rediss://host/0?ssl_cert_reqs=none"


def test_tls_is_spoken_with_the_given_authority_only(tmp_path: Path) -> None:
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    certificate.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    certificate.private_key_pem.write_to_path(tmp_path / "key.pem")
    port = free_port()
    files = (
        f"--tls-cert-file {tmp_path}/cert.pem --tls-key-file {tmp_path}/key.pem --tls-ca-cert-file {tmp_path}/ca.pem"
    )
    arguments = f"--port 0 --tls-port {port} --bind 127.0.0.1 --tls-auth-clients no --requirepass pw {files}"
    with subprocess.Popen(["redis-server", *arguments.split(), "--save", ""], stdout=subprocess.DEVNULL) as process:
        try:
            url = f"rediss://:pw@127.0.0.1:{port}/0"
            wait_for(lambda: _answers(broker_url(url, ca_file=str(tmp_path / "ca.pem"))), "redis with TLS")
            with pytest.raises(OperationalError, match="CERTIFICATE_VERIFY_FAILED"):
                ping(broker_url(url))
        finally:
            process.kill()


def _answers(url: str) -> bool:
    try:
        return ping(url)
    except (redis.ConnectionError, OperationalError):
        return False


@pytest.mark.parametrize("url", ["amqp://u:secret@host/", "", "http://host", "secret"])
def test_another_broker_is_refused_without_telling_the_password(url: str) -> None:
    with pytest.raises(BrokerUrlError, match="must begin with unix://, redis:// or rediss://") as caught:
        broker_url(url)
    assert "secret" not in str(caught.value)


def test_a_region_may_do_what_a_worker_does(account: redis.Redis) -> None:
    account.lpush("eu:probe", "message")
    assert account.brpop(["eu:probe"], timeout=1) is not None
    with account.pipeline() as pipeline:
        pipeline.hset("eu:unacked", "tag", "message")
        pipeline.zadd("eu:unacked_index", {"tag": 1})
        pipeline.execute()


@pytest.mark.parametrize(
    "words",
    [
        "LLEN us:probe",
        "LPUSH us:probe forged",
        "HGETALL us:unacked",
        "GET other",
        "KEYS *",
        "SCAN 0",
        "RANDOMKEY",
        "FLUSHALL",
        "CONFIG GET *",
        "ACL LIST",
        "CLIENT LIST",
        "CLIENT TRACKING ON BCAST",
        "CLIENT REPLY OFF",
        "SUBSCRIBE us:x",
        "PUBLISH us:x y",
        "EVAL return(redis.call('GET','us:secret')) 0",
        "COPY eu:probe us:probe",
        "RENAME eu:probe us:probe",
        "SHUTDOWN",
        "SCRIPT FLUSH",
        "FUNCTION LIST",
        "FCALL f 0",
    ],
)
def test_a_region_may_do_nothing_else(account: redis.Redis, words: str) -> None:
    with pytest.raises(redis.ResponseError, match=r"(?i)no permissions|NOPERM|can't (run|access)"):
        command(account, *words.split())
