"""Which addresses may be measured, with the literals that Python's own predicates get wrong."""

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.addresses import may_measure, parse_networks

PUBLIC = (
    "1.1.1.1",
    "93.184.215.14",
    "100.63.255.255",
    "100.128.0.0",
    "172.32.0.1",
    "2606:4700::1111",
    "2a00:1450:4001::1",
    "2606:4700::5efe:1.1.1.1",
    "::ffff:1.1.1.1",
    "64:ff9b::1.1.1.1",
    "2002:101:101::1",
)
# What Python 3.11.2 and 3.11.7 judge differently, or both wrongly: the interpreter must not matter.
DISPUTED = (
    "100.64.0.1",
    "192.0.0.8",
    "192.88.99.1",
    "224.0.0.1",
    "ff02::1",
    "::ffff:0:127.0.0.1",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::1",
    "2002:7f00:1::",
    "2001:20::1",
    "fec0::1",
    "3fff::1",
    "5f00::1",
)
INSIDE = (
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.255",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:0:127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:0:7f00:1::",
    "2001:20::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
    "2606:4700::5efe:10.0.0.1",
    "2606:4700::200:5efe:169.254.169.254",
    "64:ff9b:1:a00:1::",
    "fd00:ec2::254",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd12::1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_may_be_measured(address: str) -> None:
    assert may_measure(address)


@pytest.mark.parametrize("address", [*INSIDE, *DISPUTED])
def test_addresses_that_lead_inside_may_not(address: str) -> None:
    assert not may_measure(address)


@pytest.mark.parametrize("text", ["", "localhost", "127.1", "2130706433", "0x7f.1", "1.1.1.1 ", "[::1]", "1.1.1.1/32"])
def test_what_is_no_address_may_not(text: str) -> None:
    assert not may_measure(text)


def test_an_operator_may_allow_ranges_of_his_own() -> None:
    allowed = parse_networks("10.1.0.0/16, fd00:1::/32")
    assert may_measure("10.1.2.3", allowed=allowed)
    assert may_measure("fd00:1::5", allowed=allowed)
    assert not may_measure("10.2.0.1", allowed=allowed)
    assert not may_measure("::ffff:10.1.2.3", allowed=allowed)
    assert may_measure("1.1.1.1", allowed=allowed)


def test_a_zone_is_local_even_where_its_range_is_allowed() -> None:
    assert not may_measure("fe80::1%eth0", allowed=parse_networks("fe80::/10"))


def test_no_ranges_are_allowed_by_an_empty_text() -> None:
    assert parse_networks("") == ()
    assert parse_networks(" , ") == ()


def test_a_range_that_is_none_is_named() -> None:
    with pytest.raises(ValueError, match=r"10\.0\.0\.0/33"):
        parse_networks("127.0.0.0/8,10.0.0.0/33")


@given(st.ip_addresses(v=4))
def test_an_embedded_address_is_judged_like_itself(address: IPv4Address) -> None:
    plain = may_measure(str(address))
    number = int(address)
    assert may_measure(str(IPv6Address(0xFFFF << 32 | number))) == plain
    assert may_measure(str(IPv6Address(0x64FF9B << 96 | number))) == plain
    assert may_measure(str(IPv6Address(0x2002 << 112 | number << 80))) == plain


@given(st.ip_addresses(v=6))
def test_what_python_knows_as_private_is_never_public(address: IPv6Address) -> None:
    if address.is_loopback or address.is_link_local or address.is_multicast or address.is_site_local:
        assert not may_measure(str(address))


@given(st.text(max_size=60))
def test_no_text_breaks_the_judge(text: str) -> None:
    may_measure(text)
