"""What a name tells besides its addresses: times to live, questions with their answers, HTTPS records."""

from collections import Counter
from threading import Event

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import pytest
from dns.message import Message

from workers.measurement.evidence import Alias, HttpsRecord, NameEvidence
from workers.tests.probes.resolver import Resolver, loose
from workers.tests.servers import Zone
from workers.tests.waiting import undisturbed


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


@undisturbed
def test_a_question_whose_answer_was_too_long_for_udp_is_not_lost_though_tcp_was_not_waited_for(
    resolver: Resolver,
) -> None:
    resolver.forget()
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


@undisturbed
def test_what_a_loose_chain_costs_is_told_apart_from_the_way_to_the_resolver(resolver: Resolver) -> None:
    resolver.forget()
    gone = Event()
    zone = Zone(a={"d.test": ["192.0.2.1"]}, aliases={"a.test": "b.test", "b.test": "c.test", "c.test": "d.test"})

    def far(query: Message) -> Message | None:
        # The server answers one after the other: only the first of two that come together waits.
        if query.question[0].rdtype != dns.rdatatype.AAAA:
            gone.wait(0.03)
        return zone.answer(query)

    resolver.serve(loose(far))
    learned = resolver.learn("a.test")
    assert learned.left_loose == 3
    assert learned.took_us is not None
    assert learned.again_us is not None
    assert learned.took_us >= 4 * 30_000
    assert 30_000 <= learned.again_us < 45_000


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


@pytest.mark.parametrize("record", ["1 other.test. alpn=h3", "1 . alpn=h3 port=8443"])
def test_an_https_record_that_leads_to_another_server_says_nothing_of_this_one(resolver: Resolver, record: str) -> None:
    zone = Zone(a={"a.test": ["192.0.2.1"]}, https={"a.test": [record]})
    resolver.serve(zone.answer)
    assert resolver.learn("a.test").https is None
    zone.https["a.test"].append("2 . alpn=h2")
    assert resolver.learn("a.test").https == HttpsRecord(protocols=("h2",), ttl_s=60)


@pytest.mark.parametrize("record", ["1 . alpn=h3 port=443", "1 b.test. alpn=h3", "1 A.test. alpn=h3"])
def test_an_https_record_may_name_the_server_that_it_leads_to(resolver: Resolver, record: str) -> None:
    zone = Zone(a={"b.test": ["192.0.2.1"]}, aliases={"a.test": "b.test"}, https={"b.test": [record]})
    resolver.serve(zone.answer)
    assert resolver.learn("a.test").https == HttpsRecord(protocols=("h3",), ttl_s=60)


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
