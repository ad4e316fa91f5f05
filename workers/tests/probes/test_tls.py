"""TLS: what is measured of a handshake, and every way in which one can go wrong."""

import os
import socket
import ssl
from datetime import UTC, datetime, timedelta

import pytest

from workers.measurement.connection import Header
from workers.measurement.failure import Blame, Failure, FailureKind, Stage
from workers.measurement.messages import ProbeMeasurement
from workers.tests.probes.conftest import Lab
from workers.tests.servers import Authority, Peer, Server, answering, finish, response, self_signed_context
from workers.tests.waiting import undisturbed

NAME = "www.example.test"


def fail_with(lab: Lab, context: ssl.SSLContext) -> tuple[Failure, ProbeMeasurement]:
    """The failure on a server of that context, measured to the end all the same and without the monitor's secrets."""
    asked: list[bytes] = []

    def script(peer: Peer) -> None:
        asked.append(peer.read_request())
        peer.send(response(b"for anybody"))
        finish(peer)

    with Server(script, context=context) as server:
        failed, measurement = lab.fail(server.url(host=NAME), headers=(Header(name="Authorization", value="secret"),))
    assert failed.failure.stage is Stage.TLS
    connection, hop = measurement.connections[0], measurement.hops[0]
    assert connection.tls_version == "TLSv1.3"
    assert connection.certificate is not None
    assert connection.certificate_error
    assert connection.requests == 1
    assert hop.body_bytes == len(b"for anybody")
    assert None not in (hop.timing.connect, hop.timing.tls, hop.timing.wait, hop.timing.download)
    assert asked[0].startswith(b"GET / HTTP/1.1")
    assert b"secret" not in asked[0]
    return failed.failure, measurement


@pytest.mark.parametrize(("version", "round_trips"), [("TLSv1_2", 2), ("TLSv1_3", 1)])
def test_a_handshake_is_described(named: Lab, version: str, round_trips: int) -> None:
    context = named.authority.context(NAME)
    context.maximum_version = ssl.TLSVersion[version]
    context.set_alpn_protocols(["h2", "http/1.1"])
    with Server(answering(response()), context=context) as server:
        measurement = named.measure(server.url(host=NAME))
    connection = measurement.connections[0]
    assert connection.tls_version == version.replace("_", ".")
    assert connection.cipher
    assert connection.protocol == "http/1.1"
    assert connection.resumed is False
    assert connection.tls_round_trips == round_trips
    assert connection.certificate_error is None
    assert connection.tls is not None
    assert measurement.tls_network_us is not None
    assert 0 < measurement.tls_network_us < connection.tls.duration_us


def test_a_group_that_has_to_be_agreed_on_first_costs_a_round_trip(named: Lab) -> None:
    context = named.authority.context(NAME)
    context.set_ecdh_curve("secp384r1")
    with Server(answering(response()), context=context) as server:
        connection = named.measure(server.url(host=NAME)).connections[0]
    assert connection.tls_version == "TLSv1.3"
    assert connection.tls_round_trips == 2


def test_a_certificate_is_kept_in_our_words(named: Lab) -> None:
    with Server(answering(response()), context=named.authority.context(NAME, "127.0.0.1")) as server:
        certificate = named.measure(server.url(host=NAME)).connections[0].certificate
    assert certificate is not None
    assert certificate.names == (NAME, "127.0.0.1")
    assert "trustme" in certificate.issuer
    assert certificate.not_before < datetime.now(UTC) < certificate.not_after
    assert len(certificate.sha256) == 64
    assert (certificate.key_type, certificate.key_bits) == ("EC", 256)
    assert certificate.chain_length == 1
    assert certificate.chain_bytes is not None
    assert 300 < certificate.chain_bytes < 2000


def test_an_address_can_have_a_certificate_too(lab: Lab) -> None:
    with Server(answering(response()), context=lab.authority.context("127.0.0.1")) as server:
        assert lab.measure(server.url()).connections[0].certificate_error is None


def test_a_server_sees_the_name_that_is_asked_for(named: Lab) -> None:
    seen: list[str | None] = []
    context = named.authority.context(NAME, "127.0.0.1")
    context.sni_callback = lambda _, name, __: seen.append(name)
    with Server(answering(response()), context=context) as server:
        named.measure(server.url(host=NAME))
        named.measure(server.url())
    assert seen == [NAME, None]


def test_an_expired_certificate(named: Lab) -> None:
    context = named.authority.context(NAME, starts_in=timedelta(days=-9), ends_in=timedelta(days=-1))
    failure, measurement = fail_with(named, context)
    assert failure.kind is FailureKind.CERTIFICATE_EXPIRED
    certificate = measurement.connections[0].certificate
    assert certificate is not None
    assert certificate.not_after < datetime.now(UTC)


def test_a_certificate_that_is_not_valid_yet(named: Lab) -> None:
    context = named.authority.context(NAME, starts_in=timedelta(days=1), ends_in=timedelta(days=9))
    assert fail_with(named, context)[0].kind is FailureKind.CERTIFICATE_NOT_YET_VALID


def test_a_certificate_for_another_host(named: Lab) -> None:
    failure, _ = fail_with(named, named.authority.context("other.example.test"))
    assert failure.kind is FailureKind.CERTIFICATE_WRONG_HOST


@pytest.mark.parametrize("name", ["*.test", "*.www.example.test", "example.test"])
def test_a_name_that_only_resembles_the_host_is_another(named: Lab, name: str) -> None:
    assert fail_with(named, named.authority.context(name))[0].kind is FailureKind.CERTIFICATE_WRONG_HOST


def test_a_wildcard_covers_one_label(named: Lab) -> None:
    with Server(answering(response()), context=named.authority.context("*.example.test")) as server:
        named.measure(server.url(host=NAME))


def test_a_certificate_that_vouches_for_itself(named: Lab) -> None:
    failure, _ = fail_with(named, self_signed_context(named.directory, NAME))
    assert failure.kind is FailureKind.CERTIFICATE_SELF_SIGNED


def test_a_certificate_of_an_unknown_authority(named: Lab) -> None:
    stranger = named.directory / "stranger"
    stranger.mkdir()
    failure, _ = fail_with(named, Authority.make(stranger).context(NAME))
    assert failure.kind is FailureKind.CERTIFICATE_UNTRUSTED


def test_a_missing_intermediate_is_untrusted(named: Lab) -> None:
    leaf = named.authority.ca.create_child_ca().issue_cert(NAME)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    path = named.directory / "leaf.pem"
    path.write_bytes(leaf.private_key_pem.bytes() + leaf.cert_chain_pems[0].bytes())
    context.load_cert_chain(path)
    assert fail_with(named, context)[0].kind is FailureKind.CERTIFICATE_UNTRUSTED


def test_every_fault_of_a_certificate_is_told_and_the_most_telling_counts(named: Lab) -> None:
    context = named.authority.context("other.test", starts_in=timedelta(days=-9), ends_in=timedelta(days=-1))
    failure, measurement = fail_with(named, context)
    assert failure.kind is FailureKind.CERTIFICATE_EXPIRED
    assert "certificate has expired" in failure.detail
    assert "hostname mismatch" in failure.detail
    assert (measurement.connections[0].certificate_error or "-") in failure.detail


def test_a_bad_certificate_can_be_measured_all_the_same(named: Lab) -> None:
    with Server(answering(response()), context=named.authority.context("other.test")) as server:
        measurement = named.measure(server.url(host=NAME), ignore_certificate_errors=True)
        named.fail(server.url(host=NAME))
    assert measurement.hops[0].status == 200
    assert measurement.connections[0].certificate_error == "the server's certificate: hostname mismatch"


def test_a_server_that_does_not_speak_tls_is_found_out_at_once(lab: Lab) -> None:
    def script(peer: Peer) -> None:
        peer.sock.recv(65536)
        peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with Server(script) as server:
        failed, measurement = lab.fail(server.url().replace("http:", "https:"))
    assert failed.failure.kind is FailureKind.TLS_NOT_SPOKEN
    assert measurement.connections[0].connect is not None
    assert measurement.connections[0].tls is None


@undisturbed
def test_a_server_that_keeps_silent_in_the_handshake_ends_in_time(lab: Lab) -> None:
    with Server(lambda peer: peer.pause(20)) as server:
        failed, _ = lab.fail(server.url().replace("http:", "https:"), timeout_us=300_000)
    assert failed.failure.kind is FailureKind.TLS_TIMEOUT
    assert failed.failure.stage is Stage.TLS


def test_an_alert_is_told_in_its_own_words(lab: Lab) -> None:
    def script(peer: Peer) -> None:
        peer.sock.recv(65536)
        peer.send(bytes.fromhex("15030300020228"))
        peer.sock.recv(1)

    with Server(script) as server:
        failed, _ = lab.fail(server.url().replace("http:", "https:"))
    assert failed.failure.kind is FailureKind.TLS_ALERT
    assert "handshake failure" in failed.failure.detail


def test_a_server_that_speaks_none_of_a_browsers_protocols_is_broken(lab: Lab) -> None:
    """RFC 7301 3.2: alert 120, to an offer of http/1.1 and to one of h2. Browsers offer nothing else over TCP."""

    def script(peer: Peer) -> None:
        peer.sock.recv(65536)
        peer.send(bytes.fromhex("15030300020278"))
        peer.sock.recv(1)

    with Server(script) as server:
        failed, measurement = lab.fail(server.url().replace("http:", "https:"))
    assert failed.failure.kind is FailureKind.TLS_ALERT
    assert (failed.failure.stage, failed.failure.blame) == (Stage.TLS, Blame.TARGET)
    assert "neither HTTP/1.1 nor HTTP/2" in failed.failure.detail
    assert server.connections == 2
    assert len(measurement.connections) == 1


def test_records_of_rubbish_are_a_handshake_that_failed(lab: Lab) -> None:
    def script(peer: Peer) -> None:
        peer.sock.recv(65536)
        peer.send(bytes.fromhex("160303000a") + b"x" * 10)
        peer.sock.recv(1)

    with Server(script) as server:
        failed, _ = lab.fail(server.url().replace("http:", "https:"))
    assert failed.failure.kind is FailureKind.TLS_FAILED


def test_an_answer_that_cannot_be_decrypted_is_no_quarrel_about_ciphers(named: Lab) -> None:
    def script(peer: Peer) -> None:
        peer.read_request()
        os.write(peer.sock.fileno(), bytes.fromhex("1703030020") + b"x" * 32)
        peer.sock.recv(1)

    with Server(script, context=named.authority.context(NAME)) as server:
        failed, _ = named.fail(server.url(host=NAME))
    assert (failed.failure.kind, failed.failure.stage) == (FailureKind.TLS_FAILED, Stage.WAIT)
    assert "data from it that cannot be right" in failed.failure.detail
    assert "bad record mac" in failed.failure.detail


@pytest.mark.parametrize("reset", [False, True])
def test_a_server_that_hangs_up_in_the_handshake(lab: Lab, reset: bool) -> None:
    def script(peer: Peer) -> None:
        peer.sock.recv(65536)
        if reset:
            peer.reset()

    with Server(script) as server:
        failed, _ = lab.fail(server.url().replace("http:", "https:"))
    assert failed.failure.kind is FailureKind.CONNECTION_RESET
    assert failed.failure.stage is Stage.TLS


def test_a_client_certificate_that_is_asked_for_is_an_alert(named: Lab) -> None:
    context = named.authority.context(NAME)
    context.verify_mode = ssl.CERT_REQUIRED
    named.authority.ca.configure_trust(context)
    with Server(answering(response()), context=context) as server:
        failed, measurement = named.fail(server.url(host=NAME))
    assert failed.failure.kind is FailureKind.TLS_ALERT
    assert "certificate required" in failed.failure.detail
    assert measurement.connections[0].tls is not None


@undisturbed
def test_a_flight_that_comes_in_pieces_with_pauses_is_counted_by_the_pauses_only_on_a_long_way(named: Lab) -> None:
    """On loopback a pause cannot be told from a busy server, so one answer stays one round trip."""
    context = named.authority.context(NAME)

    def script(peer: Peer) -> None:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing, server_side=True)
        incoming.write(peer.sock.recv(65536))
        try:
            tls.do_handshake()
        except ssl.SSLWantReadError:
            flight = outgoing.read()
        peer.send(flight[:200])
        peer.pause(0.05)
        peer.send(flight[200:])
        incoming.write(peer.sock.recv(65536))
        tls.do_handshake()
        tls.read(65536)
        tls.write(response())
        peer.send(outgoing.read())
        peer.sock.shutdown(socket.SHUT_WR)
        peer.sock.recv(1)

    with Server(script) as server:
        measurement = named.measure(server.url(host=NAME).replace("http:", "https:"))
    assert measurement.connections[0].tls_round_trips == 1
    assert measurement.tls_network_us is not None
    assert measurement.tls_network_us >= 49_000


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
def test_a_request_of_many_records_is_sent_to_its_end(named: Lab, version: str) -> None:
    own = tuple(Header(name=f"x-{number}", value=f"{number}" * 4000) for number in range(9))
    context = named.authority.context(NAME)
    context.maximum_version = ssl.TLSVersion[version]
    heard: list[bytes] = []

    def script(peer: Peer) -> None:
        heard.append(peer.read_request())
        peer.send(response())
        finish(peer)

    with Server(script, context=context) as server:
        named.measure(server.url(host=NAME), headers=own)
    assert all(f"\r\n{one.name}: {one.value}\r\n".encode() in heard[0] for one in own)
