"""Deep probes of real servers: what each connection learns, and that none can harm us."""

import socket
import ssl
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from workers.measurement.addresses import parse_networks
from workers.measurement.connection import Header
from workers.measurement.evidence import Depth, EarlyData, ProbeEvidence, Trial
from workers.measurement.failure import FailureKind
from workers.measurement.finding import Answer, CheckColumn, FindingId, Severity
from workers.measurement.messages import Early, Failed, Measured, ProbeMeasurement, ProgressStage
from workers.measurement.profile import PROFILES
from workers.measurement.timing import Phases, answer_phases
from workers.tests.netlab.chains import Recipe, Vault
from workers.tests.netlab.conduct import Conduct, Refusal
from workers.tests.netlab.misbehaving import MisbehavingServer
from workers.tests.netlab.nginx import NginxConduct
from workers.tests.nginx import ORIGIN, running_nginx
from workers.tests.ports import closed_port
from workers.tests.probes.conftest import NAME, Lab
from workers.tests.probes.deep_probes import counted, deep, evidence_of
from workers.tests.probes.real_nginx import serving
from workers.tests.servers import BROWSERS_GROUP, Peer, Server, answering, keeping, redirect, response
from workers.tests.waiting import undisturbed, wait_for


def test_a_deep_probe_that_fails_at_once_was_deep_all_the_same(lab: Lab) -> None:
    failed, _ = lab.fail(f"https://127.0.0.1:{closed_port()}/", depth=Depth.DEEP)
    assert failed.failure.kind is FailureKind.CONNECT_REFUSED
    assert evidence_of(failed).depth is Depth.DEEP


def test_a_server_that_leads_to_one_that_is_down_is_not_taken_for_that_one(named: Lab) -> None:
    with Server(keeping(redirect(f"https://{NAME}:{closed_port()}/")), context=named.authority.context(NAME)) as server:
        failed, _ = named.fail(server.url(host=NAME), depth=Depth.DEEP)
        assert server.connections == 1
    assert failed.failure.kind is FailureKind.CONNECT_REFUSED
    (only,) = evidence_of(failed).trials
    assert only.handshake is None


def told_of(lab: Lab, url: str, **changes: Any) -> tuple[Measured | Failed, list[object]]:
    """A deep probe, and what its listener was told besides the stages."""
    told: list[object] = []
    return lab.probe(url, lambda _, known: told.append(known), depth=Depth.DEEP, **changes), told


def phases_in(told: list[object]) -> set[Phases | None]:
    """What was told of phases on the way; how far a probe is says nothing of the site."""
    return {one.phases if isinstance(one, Early) else None for one in told}


def test_the_phases_are_told_after_the_first_connection_and_are_those_of_the_result(named: Lab) -> None:
    """A redirect is measured too: its answer is a hop of its own, and the last one's phases are told as at the end."""
    at_that_time: list[int] = []
    with (
        Server(keeping(response()), context=named.authority.context(NAME)) as server,
        Server(keeping(redirect(server.url(host=NAME))), context=named.authority.context(NAME)) as first,
    ):

        def listen(_: ProgressStage, known: object) -> None:
            if isinstance(known, Early):
                told.append(known)
                at_that_time.append(server.connections)

        told: list[Early] = []
        outcome = named.probe(first.url(host=NAME), listen, depth=Depth.DEEP)
        assert at_that_time[0] == 1
        assert server.connections > 5
    assert isinstance(outcome.measurement, ProbeMeasurement)
    assert len(outcome.measurement.hops) == 2
    hops, connection = outcome.measurement.hops, outcome.measurement.connections[-1]
    assert told[0] == Early(
        phases=answer_phases([hop.timing for hop in hops]),
        tls_round_trips=connection.tls_round_trips,
        rtt_us=connection.rtt_us,
    )
    assert {one.phases for one in told} == {told[0].phases}


def test_each_connection_is_told_with_how_many_there_will_be_as_far_as_is_known(named: Lab) -> None:
    with Server(keeping(response()), context=named.authority.context(NAME)) as server:
        outcome, told = told_of(named, server.url(host=NAME))
    counted = [(one.connections, one.planned) for one in told if isinstance(one, Early) and one.connections is not None]
    made = [connections for connections, _ in counted]
    assert made == list(range(1, len(evidence_of(outcome).trials) + 1))
    assert all(connections <= (planned or 0) for connections, planned in counted)
    assert counted[-1] == (made[-1], made[-1])


def test_phases_of_a_probe_that_failed_are_not_told_ahead(named: Lab) -> None:
    with Server(keeping(response(status="500 Oops")), context=named.authority.context(NAME)) as server:
        outcome, told = told_of(named, server.url(host=NAME))
    assert isinstance(outcome, Failed)
    assert phases_in(told) == {None}


def test_speed_through_a_profile_is_not_told_before_it_is_known_whether_its_network_kept_it(named: Lab) -> None:
    with Server(keeping(response()), context=named.authority.context(NAME)) as server:
        outcome, told = told_of(named, server.url(host=NAME), profile=PROFILES["cable"])
    assert isinstance(outcome, Measured)
    assert phases_in(told) == {None}


def resumptions(evidence: ProbeEvidence, kind: Trial) -> list[bool | None]:
    return [one.handshake.resumed for one in evidence.of(kind) if one.handshake is not None]


def test_a_server_that_breaks_over_http2_shuts_browsers_out(named: Lab, tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    named.configure(ca_file=vault.ca_file)
    conduct = Conduct(protocols=("h2", "http/1.1"), garbage_over="h2")
    with MisbehavingServer(
        socket.create_server(("127.0.0.1", 0)), conduct, vault.chain(Recipe(names=(NAME,)))
    ) as server:
        measured = named.measure(f"https://{NAME}:{server.port}/", depth=Depth.DEEP)
    assert measured.diagnosis is not None
    (finding,) = [one for one in measured.diagnosis.findings if one.severity is Severity.CRITICAL]
    assert finding.id is FindingId.HTTP_H2_MISSING


def test_a_real_server_is_asked_in_every_way(named: Lab, tmp_path: Path) -> None:
    folder = tmp_path / "nginx"
    folder.mkdir()
    with running_nginx(folder) as nginx:
        named.configure(ca_file=nginx.ca_file)
        _is_asked_in_every_way(named, nginx.url(of=ORIGIN))


@undisturbed
def _is_asked_in_every_way(named: Lab, url: str) -> None:
    """What a busy machine makes look suspicious is asked more than once."""
    evidence = deep(named, url)
    assert evidence.depth is Depth.DEEP
    made = counted(evidence)
    assert made[Trial.FULL] == 3
    assert made[Trial.PLAIN] == made[Trial.HTTP2] == made[Trial.CLASSICAL] == 1
    assert {one.address for one in evidence.trials} == {"127.0.0.1"}
    twice = evidence.of(Trial.FULL)[1]
    assert [one.status for one in twice.exchanges] == [200] * 3
    assert [one.kept for one in twice.exchanges] == [True, True, None]
    assert (twice.exchanges[2].idle_us or 0) >= 99_000
    (over_h2,) = evidence.of(Trial.HTTP2)
    assert over_h2.handshake is not None
    assert over_h2.handshake.protocol == "h2"
    assert over_h2.exchanges[0].status == 200
    assert over_h2.exchanges[0].ended_us is not None
    assert all(resumptions(evidence, Trial.TLS12_TICKET))
    begun = [one.started_us for one in evidence.trials]
    assert begun == sorted(begun)


@undisturbed
def test_each_way_of_tls_is_what_it_says(named: Lab) -> None:
    with Server(keeping(response(b"x" * 5000)), context=named.authority.context(NAME)) as server:
        evidence = deep(named, server.url(host=NAME))
    assert resumptions(evidence, Trial.RESUMED) == [True] * 3
    assert resumptions(evidence, Trial.TLS12_TICKET) == [True]
    for kind, version, group in (
        (Trial.FULL, "TLSv1.3", BROWSERS_GROUP),
        (Trial.CLASSICAL, "TLSv1.3", "x25519"),
        (Trial.TLS12, "TLSv1.2", "x25519"),
    ):
        for one in evidence.of(kind):
            assert one.handshake is not None
            assert (one.handshake.version, one.handshake.group) == (version, group)
    (classical,) = evidence.of(Trial.CLASSICAL)
    full = evidence.of(Trial.FULL)[0]
    assert classical.handshake is not None
    assert full.handshake is not None
    assert classical.handshake.hello_bytes < full.handshake.hello_bytes - 1000
    with_ticket, without = evidence.of(Trial.TLS12)
    assert with_ticket.handshake is not None
    assert without.handshake is not None
    assert (with_ticket.handshake.tickets, without.handshake.tickets) == (1, 0)
    resumed = evidence.of(Trial.RESUMED)[0].handshake
    assert resumed is not None
    assert resumed.certificate_message_bytes is None
    assert resumed.chain == ()
    assert len(evidence.certificates) == 1


def test_a_server_that_remembers_sessions_and_gives_no_tickets_is_told_to_have_none(named: Lab, tmp_path: Path) -> None:
    """HAProxy as Debian sets it up (no-tls-tickets), where TLS 1.2 is all there is."""
    vault = Vault(tmp_path)
    named.configure(ca_file=vault.ca_file)
    conduct = Conduct(newest="TLSv1.2", tickets=False)
    with MisbehavingServer(
        socket.create_server(("127.0.0.1", 0)), conduct, vault.chain(Recipe(names=(NAME,)))
    ) as server:
        measured = named.measure(f"https://{NAME}:{server.port}/", depth=Depth.DEEP)
    assert set(resumptions(evidence_of(Measured(measurement=measured)), Trial.TLS12_TICKET)) == {False}
    assert measured.diagnosis is not None
    told = {one.column: one.answer for one in measured.diagnosis.checklist}
    assert (told[CheckColumn.SESSION_IDS], told[CheckColumn.SESSION_TICKETS]) == (Answer.YES, Answer.NO)
    assert FindingId.TLS_RESUMPTION_MISSING not in {one.id for one in measured.diagnosis.findings}


@undisturbed
def test_servers_are_told_of_the_end_of_a_connection_whose_session_is_to_be_continued(named: Lab) -> None:
    """To OpenSSL 3 an end without a word is a fatal error, after which it forgets the session that it keeps itself."""
    context, ends = named.authority.context(NAME), list[bool]()
    context.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF

    def script(peer: Peer) -> None:
        with context.wrap_socket(peer.sock, server_side=True, suppress_ragged_eofs=False) as secured:
            try:
                while secured.recv(65536):
                    secured.sendall(response())
                ends.append(True)
            except OSError:
                ends.append(False)

    with Server(script) as server:
        evidence = deep(named, f"https://{NAME}:{server.port}/")
        wait_for(lambda: len(ends) == server.connections, "all connections to end")
    assert ends.count(False) == len(evidence.of(Trial.CLASSICAL)) == 1


def test_a_request_goes_along_with_the_hello_where_tickets_allow_it(named: Lab, tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    named.configure(ca_file=vault.ca_file)
    with serving(NginxConduct(), vault.chain(Recipe(names=(NAME,))), tmp_path) as port:
        evidence = deep(named, f"https://{NAME}:{port}/")
    (early,) = evidence.of(Trial.EARLY_DATA)
    assert early.handshake is not None
    assert early.handshake.early_data is EarlyData.ACCEPTED
    assert early.handshake.resumed
    (exchange,) = early.exchanges
    assert exchange.status == 200
    assert exchange.ended_us is not None
    assert exchange.sent_us is not None
    assert exchange.sent_us <= (early.handshake.ended_us or 0)
    assert early.transfers[0].size_bytes > early.handshake.hello_bytes
    assert resumptions(evidence, Trial.RESUMED) == [True] * 3
    assert resumptions(evidence, Trial.TLS12_SESSION_ID) == [True]


def test_a_request_that_is_too_long_for_it_does_not_go_along_with_the_hello(named: Lab, tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    named.configure(ca_file=vault.ca_file)
    own = tuple(Header(name=f"x-{number}", value="y" * 4000) for number in range(5))
    with serving(NginxConduct(), vault.chain(Recipe(names=(NAME,))), tmp_path) as port:
        evidence = deep(named, f"https://{NAME}:{port}/", headers=own)
    assert not evidence.of(Trial.EARLY_DATA)
    assert {one.exchanges[0].status for one in evidence.trials if one.exchanges} == {200}


@undisturbed
def test_the_other_family_is_shaken_hands_with(named: Lab, tmp_path: Path) -> None:
    folder = Path(mkdtemp(dir=tmp_path))
    vault = Vault(folder)
    named.configure(ca_file=vault.ca_file, allowed=parse_networks("127.0.0.0/8, ::1/128"))
    named.zone.aaaa[NAME] = ["::1"]
    with serving(NginxConduct(), vault.chain(Recipe(names=(NAME,))), folder, also=("::1",)) as port:
        evidence = deep(named, f"https://{NAME}:{port}/")
    (other,) = evidence.of(Trial.OTHER_FAMILY)
    assert (other.address, other.failure, other.exchanges) == ("::1", None, ())
    assert other.handshake is not None
    assert other.handshake.version == "TLSv1.3"
    assert evidence.ipv6_passes is True


class ToldLater(dict[str, list[str]]):
    """Nothing, when it is asked for the first time."""

    asked = 0

    def get(self, name: str, default: Any = None) -> Any:
        self.asked += 1
        return super().get(name, default) if self.asked > 1 else default


def test_a_family_that_the_name_server_tells_of_too_late_is_tried_all_the_same(named: Lab) -> None:
    named.configure(allowed=parse_networks("127.0.0.0/8, ::1/128"))
    named.zone.aaaa = ToldLater({NAME: ["::1"]})
    with Server(keeping(response())) as server:
        evidence = deep(named, server.url(host=NAME))
    assert [one.address for one in evidence.of(Trial.OTHER_FAMILY)] == ["::1"] * 3
    assert evidence.names[-1].addresses == ("127.0.0.1", "::1")


def test_one_family_alone_is_measured_when_so_it_is_set(named: Lab) -> None:
    named.configure(allowed=parse_networks("127.0.0.0/8, ::1/128"), family=6)
    named.zone.aaaa[NAME] = ["::1"]
    with Server(keeping(response()), host="::1") as server:
        evidence = deep(named, server.url(host=NAME))
    assert {one.address for one in evidence.trials} == {"::1"}
    del named.zone.aaaa[NAME]
    failed, _ = named.fail("http://www.example.test:8080/")
    assert failed.failure.kind is FailureKind.DNS_NOT_FOUND
    assert "IPv6" in failed.failure.detail


@undisturbed
def test_a_plain_target_is_asked_what_applies(named: Lab) -> None:
    with Server(keeping(response(b"x" * 30_000))) as server:
        evidence = deep(named, server.url(host=NAME))
    assert counted(evidence) == {Trial.FULL: 3, Trial.DELAYED_ACK: 1}
    assert evidence.secure is False
    assert evidence.ipv6_passes is False
    assert all(one.handshake is None for one in evidence.trials)


def test_a_server_that_closes_after_each_answer_is_seen_to(named: Lab) -> None:
    with Server(answering(response()), context=named.authority.context(NAME)) as server:
        evidence = deep(named, server.url(host=NAME))
    asked_twice = evidence.of(Trial.FULL)[1:]
    assert len(asked_twice) == 3
    assert [[one.kept for one in trial.exchanges] for trial in asked_twice] == [[False]] * 3
    assert all(trial.failure is None for trial in asked_twice)


def test_servers_that_take_turns_without_knowing_each_others_sessions_are_found_out(named: Lab, tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    named.configure(ca_file=vault.ca_file)
    chain = vault.chain(Recipe(names=(NAME,)))
    listener = socket.create_server(("127.0.0.1", 0))
    with MisbehavingServer(listener, Conduct(nodes=(0, 1)), chain) as server:
        evidence = deep(named, f"https://{NAME}:{server.port}/")
    answers = resumptions(evidence, Trial.RESUMED)
    assert len(answers) == 10
    assert 2 <= sum(map(bool, answers)) <= 8


@pytest.mark.parametrize("refusal", list(Refusal))
@undisturbed
def test_a_hybrid_hello_that_does_not_get_through_is_told_three_times(
    named: Lab, tmp_path: Path, refusal: Refusal
) -> None:
    vault = Vault(Path(mkdtemp(dir=tmp_path)))
    named.configure(ca_file=vault.ca_file)
    conduct = Conduct(hello_limit_bytes=1000, refusal=refusal)
    listener = socket.create_server(("127.0.0.1", 0))
    with MisbehavingServer(listener, conduct, vault.chain(Recipe(names=(NAME,)))) as server:
        evidence = deep(named, f"https://{NAME}:{server.port}/", timeout_us=1_000_000)
    kind = FailureKind.CONNECTION_RESET if refusal is Refusal.RESET else FailureKind.TLS_TIMEOUT
    assert [one.failure.kind for one in evidence.of(Trial.FULL) if one.failure is not None] == [kind] * 3
    assert all(one.failure is None for one in evidence.of(Trial.CLASSICAL, Trial.RESUMED, Trial.TLS12))
    assert resumptions(evidence, Trial.RESUMED) == [True] * 3


def test_what_a_monitor_keeps_secret_is_said_only_over_tls_to_whom_it_trusts(named: Lab) -> None:
    heard: list[bytes] = []

    def script(peer: Peer) -> None:
        while request := peer.read_request():
            heard.append(request)
            peer.send(response())

    secret = (Header(name="Authorization", value="Bearer secret"),)
    with Server(script, context=named.authority.context(NAME)) as server:
        deep(named, server.url(host=NAME), headers=secret)
    assert len(heard) > 8
    assert all(b"secret" in one for one in heard)
    heard.clear()
    with Server(script, context=named.authority.context("other.test")) as server:
        outcome = named.probe(server.url(host=NAME), headers=secret, depth=Depth.DEEP)
    assert isinstance(outcome, Failed)
    assert outcome.failure.kind is FailureKind.CERTIFICATE_WRONG_HOST
    assert len(evidence_of(outcome).trials) > 8
    assert len(heard) > 8
    assert not any(b"secret" in one for one in heard)
