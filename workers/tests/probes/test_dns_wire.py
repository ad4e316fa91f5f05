"""DNS messages: ours say what dnspython reads, and of its answers we read what it reads."""

from typing import Any

import dns.exception
import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset
import pytest
from dns.message import Message, QueryMessage
from dns.rdatatype import RdataType
from hypothesis import given
from hypothesis import strategies as st

from workers.probes.dns_wire import ContradictionError, Query, Reply, make_query, read_reply
from workers.tests.servers import Zone

KINDS = (RdataType.A, RdataType.AAAA, RdataType.HTTPS)
SERVICE = '1 . alpn="h3,h2" ech="ABD+DQAMAAAAAAAAAAAAAAAA" mandatory="alpn"'
ZONE = Zone(
    a={"c.test": ["192.0.2.1", "192.0.2.2"], "big.test": [f"192.0.2.{number}" for number in range(100)]},
    aaaa={"c.test": ["2001:db8::1", "::ffff:192.0.2.1"]},
    aliases={"a.test": "b.test", "b.test": "c.test"},
    https={"c.test": [SERVICE]},
    ttls={"b.test": 7},
)


def answer(query: Query, zone: Zone = ZONE) -> Message:
    reply = zone.answer(dns.message.from_wire(query.wire))
    assert reply is not None
    return reply


def read(name: str, kind: RdataType = RdataType.A, **changes: Any) -> Reply | None:
    """The answer of the zone, with other fields."""
    query = make_query(name, kind)
    message = answer(query)
    for field, value in changes.items():
        setattr(message, field, value)
    return read_reply(message.to_wire(), query)


@pytest.mark.parametrize("kind", KINDS)
def test_a_question_is_what_dnspython_would_ask(kind: RdataType) -> None:
    query = make_query("WWW.Example.test", kind)
    message = dns.message.from_wire(query.wire)
    assert isinstance(message, QueryMessage)
    assert message.flags == dns.flags.RD
    assert (message.edns, message.payload) == (0, 1232)
    assert message.question[0].to_text() == f"WWW.Example.test. IN {kind.name}"
    assert message.id == query.id


def test_ids_are_not_to_be_guessed() -> None:
    assert len({make_query("a.test", RdataType.A).id for _ in range(50)}) > 40


@pytest.mark.parametrize("name", ["a..test", "x" * 64 + ".test", "a." * 130])
def test_what_cannot_be_a_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="not a host name"):
        make_query(name, RdataType.A)


def test_aliases_and_addresses_are_read() -> None:
    reply = read("A.test")
    assert reply is not None
    assert [(one.name, one.target, one.ttl_s) for one in reply.aliases] == [
        ("a.test", "b.test", 60),
        ("b.test", "c.test", 7),
    ]
    assert (reply.code, sorted(reply.addresses), reply.ttl_s) == (0, ["192.0.2.1", "192.0.2.2"], 60)


def test_a_name_that_does_not_exist_is_told_by_its_code() -> None:
    reply = read("nowhere.test")
    assert reply is not None
    assert (reply.code, reply.addresses) == (3, ())


def test_how_long_nothing_may_be_kept_is_said_by_the_zone() -> None:
    soa = dns.rrset.from_text("test.", 900, "IN", "SOA", "ns.test. admin.test. 1 2 3 4 60")
    other = dns.rrset.from_text("other.", 5, "IN", "SOA", "ns.other. admin.other. 1 2 3 4 5")
    assert [
        getattr(read("nowhere.test", authority=section), "ttl_s", None)
        for section in ([], [soa], [other], [other, soa])
    ] == [300, 60, 300, 60]


def test_errors_are_read_with_the_bits_that_lie_elsewhere() -> None:
    query = make_query("a.test", RdataType.A)
    message = answer(query)
    message.set_rcode(dns.rcode.BADVERS)
    reply = read_reply(message.to_wire(), query)
    assert reply is not None
    assert reply.code == dns.rcode.BADVERS


def test_of_a_cut_answer_nothing_is_read() -> None:
    query = make_query("big.test", RdataType.A)
    message = answer(query)
    message.flags |= dns.flags.TC
    cut = message.to_wire(max_size=65535)[:200]
    reply = read_reply(cut, query)
    assert reply is not None
    assert (reply.truncated, reply.addresses) == (True, ())


def test_other_questions_and_other_ids_are_none_of_ours() -> None:
    query = make_query("a.test", RdataType.A)
    for stranger in (make_query("b.test", RdataType.A), make_query("a.test", RdataType.AAAA)):
        message = answer(stranger)
        message.id = query.id
        assert read_reply(message.to_wire(), query) is None
    message = answer(query)
    message.id ^= 1
    assert read_reply(message.to_wire(), query) is None
    assert read_reply(query.wire, query) is None


def test_aliases_in_a_circle_and_records_of_nothing_contradict_themselves() -> None:
    query = make_query("a.test", RdataType.A)
    circle = dns.message.make_response(dns.message.from_wire(query.wire))
    circle.answer += [dns.rrset.from_text("a.test.", 60, "IN", "CNAME", "b.test.")]
    circle.answer += [dns.rrset.from_text("b.test.", 60, "IN", "CNAME", "a.test.")]
    with pytest.raises(ContradictionError):
        read_reply(circle.to_wire(), query)
    missing = answer(query)
    missing.set_rcode(dns.rcode.NXDOMAIN)
    with pytest.raises(ContradictionError):
        read_reply(missing.to_wire(), query)


def test_odd_labels_are_shown_as_text() -> None:
    query = make_query("a.test", RdataType.A)
    odd = dns.message.make_response(dns.message.from_wire(query.wire))
    odd.answer += [dns.rrset.from_text("a.test.", 60, "IN", "CNAME", r"\000\010\032x\.y.test.")]
    reply = read_reply(odd.to_wire(), query)
    assert reply is not None
    assert reply.aliases[0].target == r"\000\010\032x\.y.test"


def header(query: Query, answers: int) -> bytes:
    return query.id.to_bytes(2) + b"\x81\x80\x00\x01" + answers.to_bytes(2) + bytes(4)


def test_pointers_in_a_circle_have_an_end() -> None:
    query = make_query("a.test", RdataType.A)
    question = query.wire[12:-11]
    for pointer in (12 + len(question), 12 + len(question) + 1, 0x3FFF):
        loop = (0xC000 | pointer).to_bytes(2) + bytes(10)
        assert read_reply(header(query, 1) + question + loop, query) is None


def test_a_flood_of_records_is_not_read() -> None:
    query = make_query("a.test", RdataType.A)
    record = b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\xc0\x00\x02\x01"
    assert read_reply(header(query, 600) + query.wire[12:-11] + record * 600, query) is None


@given(st.binary(max_size=120))
def test_no_packet_breaks_the_reader(data: bytes) -> None:
    query = make_query("a.test", RdataType.A)
    assert read_reply(data, query) is None or data[:2] == query.id.to_bytes(2)


@given(st.sampled_from(["a.test", "b.test", "c.test", "d.test"]), st.sampled_from(KINDS), st.booleans())
def test_of_a_good_answer_the_same_is_read_as_by_dnspython(name: str, kind: RdataType, mixed: bool) -> None:
    query = make_query(name.upper() if mixed else name, kind)
    agree(answer(query).to_wire(), query)


@given(st.integers(0, 250), st.binary(min_size=1, max_size=4), st.sampled_from(KINDS))
def test_no_damage_to_an_answer_makes_us_read_more_than_dnspython(at: int, damage: bytes, kind: RdataType) -> None:
    query = make_query("a.test", kind)
    wire = answer(query).to_wire()
    agree(wire[:at] + damage + wire[at + len(damage) :], query)


def agree(wire: bytes, query: Query) -> None:
    """Where dnspython reads an answer and we do, it is the same."""
    try:
        ours = read_reply(wire, query)
        theirs = dns.message.from_wire(wire)
        assert isinstance(theirs, QueryMessage)
        chain = theirs.resolve_chaining()
    except (dns.exception.DNSException, ValueError, AssertionError):
        return
    if ours is None or ours.truncated:
        return
    assert ours.code == theirs.rcode()
    records = tuple(chain.answer or ())
    if query.kind == RdataType.HTTPS:
        assert ours.services == records
    else:
        assert ours.addresses == tuple(record.address for record in records)
    targets = [rrset[0].target.to_text(omit_final_dot=True) for rrset in chain.cnames]
    assert [alias.target for alias in ours.aliases] == targets
    assert [alias.ttl_s for alias in ours.aliases] == [rrset.ttl for rrset in chain.cnames]
    assert chain.answer is None or ours.ttl_s == chain.answer.ttl
