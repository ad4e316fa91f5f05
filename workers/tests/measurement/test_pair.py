"""What a pair is asked with, and how its exchanges look as hops."""

import pytest

from workers.measurement.compute.probe.pair_hops import as_probe
from workers.measurement.messages import ProbeMeasurement
from workers.measurement.pair import DialAddress, parse_dial_address
from workers.measurement.target import TargetError
from workers.tests.builders import build_page, build_pair, build_probe


@pytest.mark.parametrize(
    ("text", "address", "port"),
    [
        ("192.0.2.1", "192.0.2.1", None),
        (" 192.0.2.1:8443 ", "192.0.2.1", 8443),
        ("2001:DB8::1", "2001:db8::1", None),
        ("[2001:db8::1]", "2001:db8::1", None),
        ("[2001:db8::1]:443", "2001:db8::1", 443),
    ],
)
def test_an_address_to_dial_may_have_a_port(text: str, address: str, port: int | None) -> None:
    assert parse_dial_address(text) == DialAddress(address=address, port=port)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "origin.example.org",
        "127.1",
        "0x7f000001",
        "2130706433",
        "010.0.0.1",
        "fe80::1%eth0",
        "[fe80::1%eth0]:443",
        "192.0.2.1:",
        "192.0.2.1:22",
        "192.0.2.1:-1",
        "192.0.2.1:\u0664\u0664\u0663",
        "192.0.2.1:99999999999999",
        "192.0.2.1:443:443",
        "[2001:db8::1]x443",
        "[2001:db8::1",
    ],
)
def test_what_is_no_plain_address_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(TargetError) as caught:
        parse_dial_address(text)
    assert str(caught.value).endswith((".", ")."))


def test_an_operator_may_allow_other_ports() -> None:
    assert parse_dial_address("192.0.2.1:9000", extra_ports=frozenset({9000})).port == 9000


def test_a_pair_can_be_drawn_as_four_hops_over_two_connections() -> None:
    pair = build_pair()
    probe = as_probe(pair)
    assert isinstance(probe, ProbeMeasurement)
    assert [hop.timing for hop in probe.hops] == [exchange.timing for exchange in pair.exchanges]
    assert [hop.connection for hop in probe.hops] == [1, 2, 2, 1]
    assert probe.connections == pair.connections
    assert as_probe(build_probe()) == build_probe()
    assert as_probe(build_page()) == build_page()
