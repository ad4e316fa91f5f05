"""Lookups: what is asked, whom, how often, and what becomes of odd answers."""

import socket
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from threading import Event, Thread
from time import monotonic_ns

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import pytest
from dns.message import Message

from workers.measurement.failure import FailureKind
from workers.probes.faults import ProbeError
from workers.probes.loop import DeadlineError
from workers.tests.ports import closed_port
from workers.tests.probes.resolver import Resolver, loose, only
from workers.tests.servers import DnsServer, Zone, tcp_and_udp
from workers.tests.waiting import undisturbed, wait_for


@undisturbed
def test_both_families_are_asked_for_and_stamped_by_the_kernel(resolver: Resolver) -> None:
    resolver.forget()
    server = resolver.serve(Zone(a={"a.test": ["192.0.2.1"]}, aaaa={"a.test": ["2001:db8::1"]}).answer)
    found = resolver.resolve("a.test")
    assert sorted(found.addresses) == ["192.0.2.1", "2001:db8::1"]
    assert found.lookup is not None
    assert found.lookup.answered.kernel_ns is not None
    assert found.lookup.answered.user_ns > found.lookup.asked_ns
    assert found.lookup.min_ttl_s == 60
    assert server.questions == 2


def heard(server: DnsServer, least: int) -> int:
    """How many questions came, once it has heard so many: who has asked may be done before that."""
    wait_for(lambda: server.questions >= least, "the server to have heard all that was asked")
    return server.questions


def test_a_chain_of_aliases_is_followed_and_kept(resolver: Resolver) -> None:
    aliases = {"a.test": "b.test", "b.test": "c.test"}
    resolver.serve(Zone(a={"c.test": ["192.0.2.1"]}, aliases=aliases).answer)
    found = resolver.resolve("a.test")
    assert found.addresses == ("192.0.2.1",)
    assert found.lookup is not None
    assert [(one.name, one.target) for one in found.lookup.aliases] == [("a.test", "b.test"), ("b.test", "c.test")]


@pytest.mark.parametrize("links", [1, 5, 16])
def test_a_chain_that_the_server_leaves_loose_is_taken_up(resolver: Resolver, links: int) -> None:
    names = [f"n{number}.test" for number in range(links + 1)]
    zone = Zone(a={names[-1]: ["192.0.2.1"]}, aliases=dict(pairwise(names)))
    resolver.serve(loose(zone.answer))
    found = resolver.resolve(names[0])
    assert found.addresses == ("192.0.2.1",)
    assert found.lookup is not None
    assert [one.target for one in found.lookup.aliases] == names[1:]
    assert found.lookup.left_loose == links
    assert len(found.lookup.questions) == 2 * (links + 1)


def test_a_loose_chain_that_is_longer_than_any_honest_one_is_a_fault_of_the_server(resolver: Resolver) -> None:
    names = [f"n{number}.test" for number in range(18)]
    server = resolver.serve(loose(Zone(a={names[-1]: ["192.0.2.1"]}, aliases=dict(pairwise(names))).answer))
    with pytest.raises(ProbeError) as caught:
        resolver.resolve(names[0])
    assert caught.value.failure.kind is FailureKind.DNS_SERVER_FAILURE
    assert "more than 16 aliases" in caught.value.failure.detail
    assert heard(server, 34) == 34


def test_loose_aliases_in_a_circle_are_told_as_such(resolver: Resolver) -> None:
    links = {"a.test": "b.test", "b.test": "c.test", "c.test": "B.test"}

    def circle(query: Message) -> Message:
        reply = dns.message.make_response(query)
        name = query.question[0].name.to_text(omit_final_dot=True).lower()
        reply.answer += [dns.rrset.from_text(f"{name}.", 60, "IN", "CNAME", f"{links[name]}.")]
        return reply

    server = resolver.serve(circle)
    with pytest.raises(ProbeError) as caught:
        resolver.resolve("a.test")
    assert caught.value.failure.kind is FailureKind.DNS_SERVER_FAILURE
    assert "aliases in a circle" in caught.value.failure.detail
    assert heard(server, 6) == 6


def test_a_loose_alias_of_a_name_that_does_not_exist_leads_nowhere(resolver: Resolver) -> None:
    resolver.serve(loose(Zone(aliases={"a.test": "b.test", "b.test": "gone.test"}).answer))
    found = resolver.resolve("a.test")
    assert (found.addresses, found.exists) == ((), False)


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
    assert "aliases in a circle" in caught.value.failure.detail


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


@pytest.mark.parametrize("others", [0, 1])
@undisturbed
def test_an_answer_that_comes_after_the_question_was_asked_again_counts(resolver: Resolver, others: int) -> None:
    """As of a resolver that searches for longer than we had patience: the search took as long as that, and no more."""
    resolver.forget()
    resolver.hurry(rounds=4)
    resolver.serve(Zone(a={"a.test": ["192.0.2.1"]}).answer, slow_s=0.4)
    for _ in range(others):
        resolver.serve(Zone(silent={"a.test"}).answer)
    found = resolver.resolve("a.test")
    assert found.addresses == ("192.0.2.1",)
    assert found.lookup is not None
    assert [question.record_type for question in found.lookup.questions] == ["A", "AAAA"]
    assert found.lookup.answered.user_ns - found.lookup.asked_ns == pytest.approx(400_000_000, abs=45_000_000)


def test_a_slow_answer_of_one_family_ends_no_wait_for_the_other(resolver: Resolver) -> None:
    resolver.hurry(rounds=4)
    zone = Zone(aaaa={"a.test": ["2001:db8::1"]})
    resolver.serve(only(dns.rdatatype.AAAA, zone.answer), slow_s=0.2)
    with pytest.raises(ProbeError) as caught:
        resolver.resolve("a.test")
    assert caught.value.failure.kind is FailureKind.DNS_TIMEOUT


def test_an_error_that_comes_late_is_asked_about_again(resolver: Resolver) -> None:
    resolver.hurry(rounds=4)
    zone, failing = Zone(a={"a.test": ["192.0.2.1"]}), Zone(failing={"a.test"})
    asked: list[int] = []

    def at_first(query: Message) -> Message | None:
        asked.append(query.id)
        return (failing if len(asked) <= 2 else zone).answer(query)

    resolver.serve(at_first, slow_s=0.2)
    assert resolver.resolve("a.test").addresses == ("192.0.2.1",)


def test_servers_that_keep_silent_are_asked_so_often_and_no_more(resolver: Resolver) -> None:
    resolver.hurry()
    server = resolver.serve(Zone(silent={"a.test"}).answer)
    with pytest.raises(ProbeError) as caught:
        resolver.resolve("a.test")
    assert caught.value.failure.kind is FailureKind.DNS_TIMEOUT
    assert heard(server, 4) == 4


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


def test_a_name_of_one_label_is_looked_for_where_the_resolver_file_says(resolver: Resolver, tmp_path: Path) -> None:
    """resolv.conf(5), as browsers and curl do. The last one is the name as it stands."""
    (tmp_path / "resolv.conf").write_text("search other.test corp.test.\n")
    resolver.settings = replace(resolver.settings, resolv_conf=tmp_path / "resolv.conf")
    server = resolver.serve(Zone(a={"wiki.corp.test": ["192.0.2.1"], "bare": ["192.0.2.2"]}).answer)
    found = resolver.resolve("wiki")
    assert found.addresses == ("192.0.2.1",)
    assert found.lookup is not None
    assert found.lookup.aliases == ()
    assert heard(server, 4) == 4
    assert resolver.resolve("bare").addresses == ("192.0.2.2",)
    assert not resolver.resolve("nothing").exists
    assert not resolver.resolve("wiki.corp").exists
    evidence = resolver.learn("wiki")
    assert (evidence.host, evidence.addresses) == ("wiki", ("192.0.2.1",))


def test_what_this_machine_knows_is_not_asked_for(resolver: Resolver, tmp_path: Path) -> None:
    server = resolver.serve(Zone().answer)
    (tmp_path / "hosts").write_text("192.0.2.7 Box.test box # comment\n2001:db8::7 box.test\n")
    assert resolver.resolve("box.test").addresses == ("192.0.2.7", "2001:db8::7")
    assert resolver.resolve("192.0.2.1").addresses == ("192.0.2.1",)
    assert resolver.resolve("2001:db8::1").addresses == ("2001:db8::1",)
    assert resolver.resolve("localhost").addresses == ("127.0.0.1",)
    assert resolver.resolve("a.localhost").lookup is None
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
    listener, udp = tcp_and_udp()
    with listener, udp:
        port = listener.getsockname()[1]
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
