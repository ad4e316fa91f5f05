"""Lookups: what is asked, whom, how often, and what becomes of odd answers."""

import socket
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from time import monotonic_ns

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import pytest
from dns.message import Message

from workers.measurement.captures_probe import NameCapture
from workers.measurement.compute.hop import RunClock
from workers.measurement.compute.name import name_evidence
from workers.measurement.evidence import Alias, HttpsRecord, NameEvidence
from workers.measurement.failure import FailureKind
from workers.probes.dns import Resolution, look_deeper, resolve
from workers.probes.faults import ProbeError
from workers.probes.loop import DeadlineError, Loop
from workers.probes.names import LocalNames
from workers.probes.settings import NameServer, NameSettings
from workers.probes.stamps import read_clocks, stamping_socket
from workers.tests.ports import closed_port
from workers.tests.servers import Answer, DnsServer, Zone
from workers.tests.waiting import undisturbed, wait_for

Resolve = Callable[..., Resolution]


class Resolver:
    """Resolves in a loop of its own, with the servers that a test gives it."""

    def __init__(self, stack: ExitStack, directory: Path) -> None:
        self._stack = stack
        self._loop = Loop("dns")
        self._loop.start()
        stack.callback(self._loop.close)
        stack.enter_context(stamping_socket())
        self.settings = NameSettings(hosts=directory / "hosts", patience_s=20.0, rounds=2)

    def hurry(self, *, rounds: int = 2) -> None:
        """For a server that keeps silent: patience of 150 ms, twice as much in each further round."""
        self.settings = replace(self.settings, patience_s=0.15, rounds=rounds)

    def forget(self) -> None:
        """No server is known any more."""
        self.settings = replace(self.settings, servers=())

    def serve(self, answer: Answer, *, truncating: bool = False) -> DnsServer:
        server = self._stack.enter_context(DnsServer(answer, truncating=truncating))
        self.add(server.port)
        return server

    def add(self, port: int) -> None:
        servers = (*self.settings.servers, NameServer(address="127.0.0.1", port=port))
        self.settings = replace(self.settings, servers=servers)

    def resolve(self, host: str, *, within_s: float = 60) -> Resolution:
        deadline_ns = monotonic_ns() + int(within_s * 1e9)
        return self._loop.submit(resolve(host, LocalNames(self.settings), self.settings, deadline_ns)).result(120)

    def look_deeper(self, host: str, found: Resolution, port: int = 443) -> NameCapture:
        local, deadline_ns = LocalNames(self.settings), monotonic_ns() + 60_000_000_000
        coroutine = look_deeper(host, port, found, local, self.settings, deadline_ns=deadline_ns)
        return self._loop.submit(coroutine).result(120)

    def learn(self, host: str, port: int = 443) -> NameEvidence:
        """All that a deep probe learns of a name."""
        before = read_clocks()
        capture = self.look_deeper(host, self.resolve(host), port)
        return name_evidence(capture, RunClock.of(before, read_clocks(), ()))


@pytest.fixture
def resolver(tmp_path: Path) -> Iterator[Resolver]:
    with ExitStack() as stack:
        yield Resolver(stack, tmp_path)


def only(kind: dns.rdatatype.RdataType, answer: Answer) -> Answer:
    """Answers questions of one type and keeps silent on others."""
    return lambda query: answer(query) if query.question[0].rdtype == kind else None


def test_both_families_are_asked_for_and_stamped_by_the_kernel(resolver: Resolver) -> None:
    server = resolver.serve(Zone(a={"a.test": ["192.0.2.1"]}, aaaa={"a.test": ["2001:db8::1"]}).answer)
    found = resolver.resolve("a.test")
    assert sorted(found.addresses) == ["192.0.2.1", "2001:db8::1"]
    assert found.lookup is not None
    assert found.lookup.answered.kernel_ns is not None
    assert found.lookup.answered.user_ns > found.lookup.asked_ns
    assert found.lookup.min_ttl_s == 60
    assert server.questions == 2


def test_a_chain_of_aliases_is_followed_and_kept(resolver: Resolver) -> None:
    aliases = {"a.test": "b.test", "b.test": "c.test"}
    resolver.serve(Zone(a={"c.test": ["192.0.2.1"]}, aliases=aliases).answer)
    found = resolver.resolve("a.test")
    assert found.addresses == ("192.0.2.1",)
    assert found.lookup is not None
    assert [(one.name, one.target) for one in found.lookup.aliases] == [("a.test", "b.test"), ("b.test", "c.test")]


def test_a_chain_that_the_server_leaves_loose_is_taken_up(resolver: Resolver) -> None:
    zone = Zone(a={"b.test": ["192.0.2.1"]}, aliases={"a.test": "b.test"})

    def lazy(query: Message) -> Message | None:
        reply = zone.answer(query)
        if reply is not None and len(reply.answer) > 1:
            reply.answer = reply.answer[:1]
        return reply

    resolver.serve(lazy)
    assert resolver.resolve("a.test").addresses == ("192.0.2.1",)


def test_aliases_in_a_circle_are_a_fault_of_the_server(resolver: Resolver) -> None:
    def circle(query: Message) -> Message:
        reply = dns.message.make_response(query)
        reply.answer += [dns.rrset.from_text("a.test.", 60, "IN", "CNAME", "b.test.")]
        reply.answer += [dns.rrset.from_text("b.test.", 60, "IN", "CNAME", "a.test.")]
        return reply

    resolver.serve(circle)
    with pytest.raises(ProbeError) as caught:
        resolver.resolve("a.test")
    assert caught.value.failure.kind is FailureKind.DNS_SERVER_FAILURE


def test_a_name_that_does_not_exist_and_one_without_address_are_told_apart(resolver: Resolver) -> None:
    resolver.serve(Zone(a={"mail.test": []}).answer)
    missing, bare = resolver.resolve("nowhere.test"), resolver.resolve("mail.test")
    assert (missing.addresses, missing.exists) == ((), False)
    assert (bare.addresses, bare.exists) == ((), True)
    assert bare.lookup is not None


def test_a_missing_answer_for_ipv6_holds_nobody_up_for_long(resolver: Resolver) -> None:
    resolver.serve(only(dns.rdatatype.A, Zone(a={"a.test": ["192.0.2.1"]}).answer))
    before_ns = monotonic_ns()
    found = resolver.resolve("a.test")
    assert found.addresses == ("192.0.2.1",)
    assert monotonic_ns() - before_ns < 20e9
    assert found.lookup is not None
    assert found.lookup.answered.user_ns - found.lookup.asked_ns < 50_000_000 or found.lookup.answered.kernel_ns


def test_a_missing_answer_for_ipv4_is_asked_for_again(resolver: Resolver) -> None:
    resolver.hurry()
    resolver.serve(only(dns.rdatatype.AAAA, Zone(aaaa={"a.test": ["2001:db8::1"]}).answer))
    with pytest.raises(ProbeError) as caught:
        resolver.resolve("a.test")
    assert caught.value.failure.kind is FailureKind.DNS_TIMEOUT


def test_an_error_for_ipv6_does_not_spoil_ipv4(resolver: Resolver) -> None:
    zone = Zone(a={"a.test": ["192.0.2.1"]})

    def half(query: Message) -> Message | None:
        reply = zone.answer(query)
        if reply is not None and query.question[0].rdtype == dns.rdatatype.AAAA:
            reply.set_rcode(dns.rcode.SERVFAIL)
        return reply

    resolver.serve(half)
    assert resolver.resolve("a.test").addresses == ("192.0.2.1",)


@pytest.mark.parametrize("first", ["silent", "failing", "closed"])
def test_the_next_server_is_asked_when_one_is_no_help(resolver: Resolver, first: str) -> None:
    resolver.hurry(rounds=8)
    if first == "closed":
        resolver.add(closed_port())
    else:
        zone = Zone(silent={"a.test"}) if first == "silent" else Zone(failing={"a.test"})
        resolver.serve(zone.answer)
    resolver.serve(Zone(a={"a.test": ["192.0.2.1"]}).answer)
    assert resolver.resolve("a.test").addresses == ("192.0.2.1",)


def test_an_error_said_once_is_asked_about_again(resolver: Resolver) -> None:
    zone, failing = Zone(a={"a.test": ["192.0.2.1"]}), Zone(failing={"a.test"})
    asked: list[dns.rdatatype.RdataType] = []

    def at_first(query: Message) -> Message | None:
        kind = query.question[0].rdtype
        asked.append(kind)
        return (failing if asked.count(kind) == 1 else zone).answer(query)

    resolver.serve(at_first)
    assert resolver.resolve("a.test").addresses == ("192.0.2.1",)


def test_servers_in_error_are_asked_twice_and_no_more(resolver: Resolver) -> None:
    server = resolver.serve(Zone(failing={"a.test"}).answer)
    with pytest.raises(ProbeError) as caught:
        resolver.resolve("a.test")
    assert caught.value.failure.kind is FailureKind.DNS_SERVER_FAILURE
    assert server.questions == 4


def test_a_lost_packet_is_sent_again(resolver: Resolver) -> None:
    resolver.hurry(rounds=8)
    zone, lost = Zone(a={"a.test": ["192.0.2.1"]}), [True, True]
    resolver.serve(lambda query: None if lost and lost.pop() else zone.answer(query))
    found = resolver.resolve("a.test")
    assert found.addresses == ("192.0.2.1",)
    assert found.lookup is not None
    assert found.lookup.answered.user_ns - found.lookup.asked_ns >= 149_000_000


def test_servers_that_keep_silent_are_asked_so_often_and_no_more(resolver: Resolver) -> None:
    resolver.hurry()
    server = resolver.serve(Zone(silent={"a.test"}).answer)
    with pytest.raises(ProbeError) as caught:
        resolver.resolve("a.test")
    assert caught.value.failure.kind is FailureKind.DNS_TIMEOUT
    wait_for(lambda: server.questions >= 4, "the server to have heard all that was asked")
    assert server.questions == 4


def test_the_deadline_of_the_run_comes_before_all_patience(resolver: Resolver) -> None:
    resolver.serve(Zone(silent={"a.test"}).answer)
    with pytest.raises(DeadlineError):
        resolver.resolve("a.test", within_s=0.05)


def test_an_answer_too_long_for_udp_is_fetched_by_tcp(resolver: Resolver) -> None:
    addresses = [f"192.0.2.{number}" for number in range(1, 21)]
    resolver.serve(Zone(a={"a.test": addresses}).answer, truncating=True)
    found = resolver.resolve("a.test")
    assert sorted(found.addresses) == sorted(addresses)
    assert found.lookup is not None
    assert found.lookup.answered.kernel_ns is not None


def test_answers_to_other_questions_are_passed_over(resolver: Resolver) -> None:
    zone = Zone(a={"a.test": ["192.0.2.1"], "b.test": ["192.0.2.66"]})

    def forge(query: Message) -> Message | None:
        other = dns.message.make_query("b.test", query.question[0].rdtype)
        other.id = query.id
        return zone.answer(other)

    resolver.hurry()
    resolver.serve(forge)
    with pytest.raises(ProbeError) as caught:
        resolver.resolve("a.test")
    assert caught.value.failure.kind is FailureKind.DNS_TIMEOUT


def test_a_flood_of_addresses_is_cut(resolver: Resolver) -> None:
    resolver.serve(Zone(a={"a.test": [f"192.0.2.{number}" for number in range(1, 61)]}).answer)
    assert len(resolver.resolve("a.test").addresses) == 32


def test_what_this_machine_knows_is_not_asked_for(resolver: Resolver, tmp_path: Path) -> None:
    server = resolver.serve(Zone().answer)
    (tmp_path / "hosts").write_text("192.0.2.7 Box.test box # comment\n2001:db8::7 box.test\n")
    assert resolver.resolve("box.test").addresses == ("192.0.2.7", "2001:db8::7")
    assert resolver.resolve("192.0.2.1").addresses == ("192.0.2.1",)
    assert resolver.resolve("2001:db8::1").addresses == ("2001:db8::1",)
    assert resolver.resolve("localhost").addresses == ("127.0.0.1",)
    assert resolver.resolve("a.localhost").lookup is None
    assert server.questions == 0


def test_each_alias_keeps_its_own_time_to_live_and_the_shortest_is_told(resolver: Resolver) -> None:
    zone = Zone(a={"c.test": ["192.0.2.1"]}, aliases={"a.test": "b.test", "b.test": "c.test"})
    zone.ttls = {"a.test": 300, "b.test": 20, "c.test": 3600}
    resolver.serve(zone.answer)
    found = resolver.resolve("a.test").lookup
    assert found is not None
    assert found.aliases == (
        Alias(name="a.test", target="b.test", ttl_s=300),
        Alias(name="b.test", target="c.test", ttl_s=20),
    )
    assert found.min_ttl_s == 20


def test_how_long_the_lack_of_ipv6_may_be_kept_says_nothing_of_the_address(resolver: Resolver) -> None:
    zone = Zone(a={"a.test": ["192.0.2.1"]}, ttls={"a.test": 7200})
    resolver.serve(zone.answer)
    found = resolver.resolve("a.test").lookup
    assert found is not None
    assert found.min_ttl_s == 7200


@undisturbed
def test_each_question_is_kept_with_its_answer_and_the_server_that_gave_it(resolver: Resolver) -> None:
    resolver.forget()
    resolver.hurry()
    zone = Zone(a={"a.test": ["192.0.2.1"]}, silent={"a.test"})
    resolver.serve(zone.answer)
    resolver.serve(Zone(a={"a.test": ["192.0.2.1"]}).answer)
    learned = resolver.learn("a.test")
    assert learned.resolver == "127.0.0.1"
    assert [(one.record_type, one.code) for one in learned.questions[:4]] == [
        ("A", None),
        ("AAAA", None),
        ("A", "NOERROR"),
        ("AAAA", "NOERROR"),
    ]
    assert all((one.took_us is None) == (one.code is None) for one in learned.questions)
    assert learned.took_us is not None
    assert learned.took_us >= 149_000


def test_an_answer_by_tcp_counts_though_another_was_read_after_it(resolver: Resolver) -> None:
    zone = Zone(a={"a.test": ["192.0.2.1"]}, aaaa={"a.test": ["2001:db8::1"]})
    resolver.serve(zone.answer, truncating=True)
    found = resolver.resolve("a.test").lookup
    assert found is not None
    stamps = [one.answered.kernel_ns for one in found.questions if one.answered is not None]
    assert found.answered.kernel_ns == max(stamp or 0 for stamp in stamps)


def test_a_question_whose_answer_was_too_long_for_udp_is_not_lost_though_tcp_was_not_waited_for(
    resolver: Resolver,
) -> None:
    zone, asked, over = Zone(a={"a.test": ["192.0.2.1"]}), Counter[int](), Event()

    def answer(query: Message) -> Message | None:
        kind = query.question[0].rdtype
        asked[kind] += 1
        if kind == dns.rdatatype.AAAA and asked[kind] > 1:
            over.wait(60)
        return zone.answer(query)

    resolver.serve(answer, truncating=True)
    found = resolver.resolve("a.test").lookup
    over.set()
    assert found is not None
    assert [(one.record_type, one.code, one.answered is not None) for one in found.questions] == [
        ("A", "NOERROR", True),
        ("AAAA", "NOERROR", False),
    ]


@undisturbed
def test_a_name_is_asked_for_again_to_see_the_way_to_the_resolver(resolver: Resolver) -> None:
    resolver.forget()
    zone, pauses = Zone(a={"a.test": ["192.0.2.1"]}), [0.1]
    gone = Event()

    def cold(query: Message) -> Message | None:
        if pauses:
            gone.wait(pauses.pop())
        return zone.answer(query)

    resolver.serve(cold)
    learned = resolver.learn("a.test")
    assert learned.took_us is not None
    assert learned.again_us is not None
    assert learned.took_us >= 99_000
    assert learned.again_us < learned.took_us
    assert learned.addresses == ("192.0.2.1",)


def test_an_https_record_is_read(resolver: Resolver) -> None:
    zone = Zone(a={"b.test": ["192.0.2.1"]}, aliases={"a.test": "b.test"}, ttls={"b.test": 300})
    zone.https["b.test"] = [
        "2 other.test. alpn=h2",
        '1 . alpn="h3,h2" ipv4hint=192.0.2.1 ech="ABD+DQAMAAAAAAAAAAAAAAAA"',
    ]
    resolver.serve(zone.answer)
    learned = resolver.learn("a.test")
    assert learned.https == HttpsRecord(protocols=("h3", "h2"), ech=True, ttl_s=300)
    assert [one.record_type for one in learned.questions[-3:]] == ["HTTPS", "CAA", "TXT"]
    assert learned.questions[-1].took_us is not None


def test_the_https_record_of_another_port_has_a_name_of_its_own(resolver: Resolver) -> None:
    zone = Zone(a={"a.test": ["192.0.2.1"]}, https={"_8443._https.a.test": ["1 a.test. alpn=h3"]})
    resolver.serve(zone.answer)
    usual, other = resolver.learn("a.test"), resolver.learn("a.test", 8443)
    assert usual.https is None
    assert other.https == HttpsRecord(protocols=("h3",), ttl_s=60)


@pytest.mark.parametrize("record", ["0 other.test.", "1 . mandatory=key9999 key9999=x alpn=h3"])
def test_an_https_record_that_a_client_may_not_use_is_none(resolver: Resolver, record: str) -> None:
    resolver.serve(Zone(a={"a.test": ["192.0.2.1"]}, https={"a.test": [record]}).answer)
    assert resolver.learn("a.test").https is None


@undisturbed
def test_a_resolver_that_knows_no_https_records_costs_the_lookup_nothing(resolver: Resolver) -> None:
    resolver.forget()
    resolver.hurry()
    zone = Zone(a={"a.test": ["192.0.2.1"]})
    resolver.serve(lambda query: None if query.question[0].rdtype == dns.rdatatype.HTTPS else zone.answer(query))
    learned = resolver.learn("a.test")
    assert learned.https is None
    assert [one.took_us for one in learned.questions if one.record_type == "HTTPS"] == [None, None]
    assert learned.took_us is not None
    assert learned.took_us < 149_000
    assert learned.again_us is not None


def test_what_this_machine_knows_is_not_asked_for_by_a_deep_probe_either(resolver: Resolver) -> None:
    server = resolver.serve(Zone().answer)
    learned = resolver.learn("localhost")
    assert learned == NameEvidence(host="localhost", addresses=("127.0.0.1",))
    assert server.questions == 0


def test_a_flood_of_packets_that_answer_nothing_is_left(resolver: Resolver) -> None:
    rounds, types = 2, 2
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as flooding:
        flooding.bind(("127.0.0.1", 0))
        flooding.settimeout(60)

        def flood() -> None:
            for _ in range(rounds * types):
                _, address = flooding.recvfrom(4096)
                for _ in range(100):
                    flooding.sendto(b"nonsense" * 100, address)

        resolver.add(flooding.getsockname()[1])
        thread = Thread(target=flood)
        thread.start()
        with pytest.raises(ProbeError) as caught:
            resolver.resolve("a.test")
        thread.join()
    assert caught.value.failure.kind is FailureKind.DNS_SERVER_FAILURE
    assert "flood" in caught.value.failure.detail


def test_an_answer_by_tcp_that_never_ends_is_waited_for_no_longer_than_others(resolver: Resolver) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        port = listener.getsockname()[1]
        udp.bind(("127.0.0.1", port))
        udp.settimeout(0.2)
        listener.settimeout(0.2)
        gone = Event()

        def cut() -> None:
            while not gone.is_set():
                with suppress(TimeoutError):
                    data, address = udp.recvfrom(4096)
                    reply = dns.message.make_response(dns.message.from_wire(data))
                    reply.flags |= dns.flags.TC
                    udp.sendto(reply.to_wire(), address)

        def drip() -> None:
            while not gone.is_set():
                with suppress(OSError):
                    sock, _ = listener.accept()
                    with sock:
                        sock.sendall(b"\xff\xff")
                        while not gone.wait(0.02):
                            sock.sendall(b"x")

        threads = [Thread(target=cut), Thread(target=drip)]
        for thread in threads:
            thread.start()
        resolver.hurry()
        resolver.add(port)
        with pytest.raises(ProbeError) as caught:
            resolver.resolve("a.test")
        gone.set()
        for thread in threads:
            thread.join()
    assert caught.value.failure.kind is FailureKind.DNS_TIMEOUT
