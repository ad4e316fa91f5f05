"""The lab's name server answers as its entries say."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import dns.message
import dns.query
import dns.rcode
import pytest
from dns.message import Message

from workers.tests.netlab.names import Entry, NameServer, Naming
from workers.tests.waiting import undisturbed

pytestmark = pytest.mark.usefixtures("ahead")

NAME = "www.lab.test"


@contextmanager
def serving(entry: Entry) -> Iterator[int]:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 0))
    with NameServer(sock, {NAME: entry}):
        yield sock.getsockname()[1]


def ask(port: int, kind: str = "A", name: str = NAME) -> tuple[Message, float]:
    """The answer, and how long it took in seconds."""
    began = time.monotonic()
    answer = dns.query.udp(dns.message.make_query(name, kind), "127.0.0.1", port=port, timeout=60)
    return answer, time.monotonic() - began


def lines(answer: Message) -> list[str]:
    return [line for rrset in answer.answer for line in rrset.to_text().splitlines()]


def test_each_family_has_its_own_answer() -> None:
    with serving(Entry(a="192.0.2.1", https='1 . alpn="h3,h2"')) as port:
        assert lines(ask(port)[0]) == ["www.lab.test. 3600 IN A 192.0.2.1"]
        assert lines(ask(port, "AAAA")[0]) == []
        assert lines(ask(port, "HTTPS")[0]) == ['www.lab.test. 3600 IN HTTPS 1 . alpn="h3,h2"']
        assert ask(port, name="other.lab.test")[0].rcode() == dns.rcode.NXDOMAIN


def test_aliases_come_before_addresses() -> None:
    with serving(Entry(a="192.0.2.1", naming=Naming(aliases=2, ttl_s=30))) as port:
        assert lines(ask(port)[0]) == [
            "www.lab.test. 30 IN CNAME hop1.www.lab.test.",
            "hop1.www.lab.test. 30 IN CNAME hop2.www.lab.test.",
            "hop2.www.lab.test. 30 IN A 192.0.2.1",
        ]


@undisturbed
def test_a_name_is_searched_once() -> None:
    with serving(Entry(a="192.0.2.1", naming=Naming(search_ms=200))) as port:
        first, again = ask(port)[1], ask(port)[1]
    assert 0.2 <= first < 0.4
    assert again < 0.1
