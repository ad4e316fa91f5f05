"""Whose fault a silence is, by what real name servers say of a name that is nobody's."""

import errno
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import dns.message
import dns.rcode
import pytest
from dns.message import Message

from workers.measurement.failure import Blame, Failure, FailureKind, Stage, failure
from workers.measurement.messages import Failed, Measured, PageMeasurement, ProbeMeasurement
from workers.probes.settings import NameServer
from workers.tests.builders import build_page, build_probe
from workers.tests.servers import Answer, DnsServer, Zone
from workers.witness import Witness, ask

LOOPBACK = "127.0.0.1"
SILENCE = Failed(failure=failure(FailureKind.CONNECT_TIMEOUT, "shop.example"))
UNHEARD = failure(FailureKind.PROTOCOL_NOT_SPOKEN, "nobody answered over QUIC", stage=Stage.CONNECT)
MEASURED = Measured(measurement=build_probe())


class World:
    """A network with name servers, which may be cut off, and an agent's clock."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.zone = Zone(domains={"com"})
        self.questions: list[str] = []
        self.cut = False
        self.now_s = 1_000.0
        self.mark = folder / "mark"
        self._stack = stack
        self.servers = [self.serve(self._answer)]

    def serve(self, answer: Answer) -> NameServer:
        return NameServer(address=LOOPBACK, port=self._stack.enter_context(DnsServer(answer)).port)

    def _answer(self, query: Message) -> Message | None:
        self.questions.append(query.question[0].name.to_text())
        return None if self.cut else self.zone.answer(query)

    def witness(self) -> Witness:
        """That of an agent which starts now."""
        return Witness(self.mark, lambda: self.servers, lambda: self.now_s)

    def blame(self, witness: Witness, outcome: Failed = SILENCE, *, took_s: float = 0) -> Blame:
        """Who is blamed for a run that ended now."""
        heard = witness.heard(outcome, self.now_s - took_s)
        assert isinstance(heard, Failed)
        return heard.failure.blame


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with ExitStack() as stack:
        yield World(tmp_path, stack)


@pytest.fixture
def agent(world: World) -> Witness:
    """One that reached somebody a minute ago."""
    witness = world.witness()
    assert witness.heard(MEASURED, world.now_s) == MEASURED
    world.now_s += 60
    return witness


def test_a_silent_site_is_blamed_while_other_names_are_answered(world: World, agent: Witness) -> None:
    assert agent.heard(SILENCE, world.now_s) == SILENCE
    assert len(world.questions) == len(set(world.questions)) == 2


def test_nobody_is_blamed_while_the_agent_is_cut_off(world: World, agent: Witness) -> None:
    world.cut = True
    heard = agent.heard(SILENCE, world.now_s)
    assert isinstance(heard, Failed)
    assert (heard.failure.kind, heard.failure.blame) == (FailureKind.CONNECT_TIMEOUT, Blame.MONITOR)
    assert heard.failure.detail.startswith(SILENCE.failure.detail.removesuffix("."))
    assert heard.failure.detail.endswith("The agent's name servers answer for no other name either.")
    world.cut, world.now_s = False, world.now_s + 60
    assert agent.heard(SILENCE, world.now_s) == SILENCE


def test_an_agent_that_starts_before_its_network_knows_it_too(world: World, agent: Witness) -> None:
    world.cut = True
    assert world.blame(world.witness()) is Blame.MONITOR


def test_where_names_were_never_answered_their_silence_says_nothing(world: World) -> None:
    world.cut = True
    assert world.blame(world.witness()) is Blame.NETWORK
    assert world.questions == []


def test_where_sites_are_reached_and_names_are_not_the_names_say_nothing(world: World, agent: Witness) -> None:
    world.cut = True
    world.now_s += 3_600
    for _ in range(2):
        agent.heard(MEASURED, world.now_s)
        world.now_s += 60
    assert world.blame(agent) is Blame.NETWORK
    world.cut = False
    world.now_s += 3_600
    agent.heard(MEASURED, world.now_s)
    world.cut = True
    world.now_s += 60
    assert world.blame(agent) is Blame.MONITOR


def test_who_reached_somebody_meanwhile_is_not_cut_off(world: World, agent: Witness) -> None:
    agent.heard(MEASURED, world.now_s)
    world.cut = True
    world.now_s += 5
    assert world.blame(agent, took_s=10) is Blame.NETWORK
    assert world.blame(agent, took_s=4) is Blame.MONITOR


def test_a_network_that_goes_right_behind_an_answer_is_no_sign_that_names_tell_nothing(
    world: World, agent: Witness
) -> None:
    """The hour's look at the names falls into the first moment of an outage."""
    world.now_s += 3_600
    world.cut = True
    agent.heard(MEASURED, world.now_s - 0.2)
    world.now_s += 60
    assert world.blame(agent) is Blame.MONITOR


def test_who_was_reached_long_before_the_end_of_a_run_says_nothing_of_its_end(world: World, agent: Witness) -> None:
    agent.heard(MEASURED, world.now_s)
    world.cut = True
    world.now_s += 30
    assert world.blame(agent, took_s=40) is Blame.MONITOR


def test_a_network_that_comes_back_before_a_run_ends_blames_no_site_for_what_was_before(
    world: World, agent: Witness
) -> None:
    world.cut = True
    assert world.blame(agent) is Blame.MONITOR
    world.cut = False
    world.now_s += 10
    agent.heard(MEASURED, world.now_s)
    assert world.blame(agent, took_s=11) is Blame.MONITOR
    assert world.blame(agent, took_s=9) is Blame.NETWORK


def test_a_moment_without_names_excuses_no_silence_that_lasts_for_long_after_it(world: World, agent: Witness) -> None:
    world.cut = True
    assert world.blame(agent) is Blame.MONITOR
    world.cut = False
    world.now_s += 50
    assert world.blame(agent, took_s=60) is Blame.NETWORK


@pytest.mark.parametrize("error", [errno.EMFILE, errno.ENFILE])
def test_who_cannot_ask_leaves_the_failure_as_it_is(
    world: World, agent: Witness, error: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(error, "no socket")

    monkeypatch.setattr(socket, "socket", refuse)
    assert agent.heard(SILENCE, world.now_s) == SILENCE


def test_a_name_server_of_a_family_that_the_machine_does_not_speak_is_left_out(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Old(socket.socket):
        def __init__(self, family: int, *more: int) -> None:
            if family == socket.AF_INET6:
                raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")
            super().__init__(family, *more)

    monkeypatch.setattr(socket, "socket", Old)
    assert ask([NameServer(address="::1"), *world.servers]) is not None


@pytest.mark.parametrize(
    "silent",
    [failure(FailureKind.STEP_FAILED, "step 1, visit https://shop.example/: ERR_NAME_NOT_RESOLVED"), UNHEARD],
)
def test_a_script_or_a_protocol_that_meets_a_silence_blames_no_site_either(
    world: World, agent: Witness, silent: Failure
) -> None:
    world.cut = True
    assert world.blame(agent, Failed(failure=silent)) is Blame.MONITOR


def test_who_answered_in_another_protocol_is_blamed(world: World, agent: Witness) -> None:
    world.cut = True
    spoken = failure(FailureKind.PROTOCOL_NOT_SPOKEN, "h2 instead of h3")
    assert world.blame(agent, Failed(failure=spoken)) is Blame.TARGET


@pytest.mark.parametrize("kind", [FailureKind.CONNECT_REFUSED, FailureKind.STATUS_UNEXPECTED, FailureKind.TLS_ALERT])
def test_who_answered_is_blamed_whoever_else_is_silent(world: World, agent: Witness, kind: FailureKind) -> None:
    world.cut = True
    assert world.blame(agent, Failed(failure=failure(kind))) is Blame.TARGET


def test_our_own_faults_stay_ours_and_need_no_witness(world: World, agent: Witness) -> None:
    asked = len(world.questions)
    assert world.blame(agent, Failed(failure=failure(FailureKind.INTERNAL_ERROR))) is Blame.MONITOR
    assert len(world.questions) == asked


def test_runs_that_fail_together_share_an_answer(world: World, agent: Witness) -> None:
    asked = len(world.questions)
    for _ in range(5):
        world.blame(agent)
        world.now_s += 0.9
    assert len(world.questions) == asked + 1
    world.now_s += 1
    world.blame(agent)
    assert len(world.questions) == asked + 2


def test_sites_that_are_reached_cost_a_question_an_hour(world: World) -> None:
    witness = world.witness()
    for _ in range(120):
        witness.heard(MEASURED, world.now_s)
        world.now_s += 60
    assert len(world.questions) == 2


def test_one_name_server_that_answers_is_enough(world: World) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mute:
        mute.bind((LOOPBACK, 0))
        silent, nowhere = NameServer(address=LOOPBACK, port=mute.getsockname()[1]), NameServer(address="::ffff:0:1")
        assert ask([silent, nowhere, *world.servers]) is not None
        assert ask([silent, nowhere]) is None
    assert ask([]) is None


@pytest.mark.parametrize("code", [dns.rcode.SERVFAIL, dns.rcode.REFUSED, dns.rcode.NXDOMAIN, dns.rcode.NOERROR])
def test_what_a_router_says_by_itself_is_no_answer(world: World, code: dns.rcode.Rcode) -> None:
    def answer(query: Message) -> Message:
        reply = dns.message.make_response(query)
        reply.set_rcode(code)
        return reply

    assert ask([world.serve(answer)]) is None


def test_nor_is_what_was_not_asked_for(world: World) -> None:
    def answer(query: Message) -> Message | None:
        other = dns.message.make_query("other.com.", "A")
        other.id = query.id
        return world.zone.answer(other)

    assert ask([world.serve(answer)]) is None


def lead_to(address: str) -> Answer:
    """A name server that knows all names, and one address."""

    def answer(query: Message) -> Message:
        reply = dns.message.make_response(query)
        name = query.question[0].name
        reply.answer.append(dns.rrset.from_text(name, 60, "IN", "A", address))
        return reply

    return answer


def test_an_address_for_a_name_that_is_nobodys_is_an_answer(world: World) -> None:
    """Some providers lead who mistypes a name to a page of their own."""
    assert ask([world.serve(lead_to("198.51.100.7"))]) == frozenset({"198.51.100.7"})


@pytest.mark.parametrize("seen", [build_probe(), build_page()])
@pytest.mark.parametrize("there", [True, False])
def test_where_all_names_lead_to_one_address_no_site_is_to_blame_for_what_is_there(
    world: World, agent: Witness, seen: ProbeMeasurement | PageMeasurement, there: bool
) -> None:
    """As in a network that wants a login first, whose certificate is for none of the sites."""
    connections = seen.waterfall.connections[:1] if isinstance(seen, PageMeasurement) else seen.connections[-1:]
    failed = Failed(failure=failure(FailureKind.CERTIFICATE_WRONG_HOST), measurement=seen)
    assert world.blame(agent, failed) is Blame.TARGET
    world.servers = [world.serve(lead_to(str(connections[0].address) if there else "198.51.100.99"))]
    world.now_s += 60
    assert world.blame(agent, failed) is (Blame.MONITOR if there else Blame.TARGET)


@pytest.mark.parametrize("failed", [FailureKind.CERTIFICATE_WRONG_HOST, FailureKind.BLOCKED_DESTINATION])
def test_a_name_that_went_away_is_the_sites_where_only_such_names_lead_elsewhere(
    world: World, agent: Witness, failed: FailureKind
) -> None:
    """Resolvers of some providers lead whatever does not exist to a page of theirs, and what exists to where it is."""
    seen = build_probe()
    mistyped = lead_to("10.0.0.1" if failed is FailureKind.BLOCKED_DESTINATION else str(seen.connections[-1].address))

    def answer(query: Message) -> Message | None:
        reply = world.zone.answer(query)
        return reply if reply is not None and reply.answer else mistyped(query)

    world.zone.a["a.gtld-servers.net"] = ["192.5.6.30"]
    world.servers = [world.serve(answer)]
    assert world.blame(agent, Failed(failure=failure(failed), measurement=seen)) is Blame.TARGET


@pytest.mark.parametrize(("address", "blame"), [("10.0.0.1", Blame.MONITOR), ("8.8.8.8", Blame.TARGET)])
def test_where_that_may_not_be_measured_it_is_the_agents_network_too(
    world: World, agent: Witness, address: str, blame: Blame
) -> None:
    world.servers = [world.serve(lead_to(address))]
    assert world.blame(agent, Failed(failure=failure(FailureKind.BLOCKED_DESTINATION, "shop.example"))) is blame


def test_a_mark_that_cannot_be_kept_ends_no_run(world: World) -> None:
    world.mark = world.mark / "of a folder that is not there"
    witness = world.witness()
    assert witness.heard(MEASURED, world.now_s) == MEASURED
    world.cut = True
    world.now_s += 60
    assert world.blame(witness) is Blame.NETWORK
