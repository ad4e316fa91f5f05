"""Which page options may be stored and obeyed, and the sentence for those that may not."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.page_options import (
    DEVICES,
    MAX_COOKIES,
    PLAIN,
    Click,
    Cookie,
    Device,
    HostMapping,
    Login,
    PageState,
    TypeText,
    Visit,
)
from workers.measurement.page_rules import PageOptionError, page_faults, parse_cookie, parse_host, parse_mapping


def test_plain_options_and_all_known_devices_keep_the_rules() -> None:
    assert page_faults(PLAIN) == {}
    assert all(page_faults(replace(PLAIN, device=device)) == {} for device in DEVICES.values())


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"device": Device(name="x", width=99, height=500)}, "from 100 to 5000"),
        ({"device": Device(name="x", width=500, height=500, scale=5)}, "at most 4"),
        ({"user_agent": "two\nlines"}, "one line"),
        ({"user_agent": ""}, "printable"),
        ({"locale": "german"}, "is not a language tag"),
        ({"cookies": (Cookie(name="a b", value=""),)}, "'a b' is not a cookie's name"),
        ({"cookies": (Cookie(name="a", value="b;c"),)}, "what cookies cannot hold"),
        ({"cookies": (Cookie(name="a", value="b"),) * (MAX_COOKIES + 1)}, "At most"),
        ({"login": Login(user="a:b", password="c")}, "must not hold a colon"),
        ({"login": Login(user="a", password="b\r\nX: c")}, "one line"),
        ({"host_map": (HostMapping(host="a.example", address="a.example"),)}, "is not an IP address"),
        ({"host_map": (HostMapping(host="a.example", address="192.0.2.1", port=0),)}, "0 is no port"),
        ({"host_map": (HostMapping(host="a.example", address="192.0.2.1"),) * 2}, "mapped twice"),
        ({"black_holes": ("a b",)}, "space"),
        ({"without": ("a b",)}, "space"),
        ({"without": tuple(f"{n}.example" for n in range(51))}, "without 50 hosts at most"),
        ({"black_holes": ("a.example", "https://b.example/")}, "'https://b.example/' is no host name"),
        ({"host_map": (HostMapping(host="http://a.example", address="192.0.2.1"),)}, "without scheme, port and path"),
        ({"loads": 10}, "1 to 9"),
        ({"repeat": PageState.COLD}, "warm"),
        ({"steps": (Visit(url="https://a.example/"), Visit(url="gopher://x"))}, "Step 2: "),
        ({"steps": (Click(selector=""),)}, "Step 1: A selector"),
        ({"steps": (Click(selector="iframe >>>#go"),)}, "Step 1: Write an element of a frame as FRAME >>> SELECTOR"),
        ({"steps": (Click(selector=" >>> #go"),)}, "Step 1: Write an element of a frame as FRAME >>> SELECTOR"),
        ({"steps": (Click(selector="iframe >>> " * 6 + "#go"),)}, "at most 5 frames deep"),
        ({"steps": (TypeText(selector="#a", text="x" * 1001),)}, "at most 1000"),
    ],
)
def test_each_fault_has_its_sentence(change: dict[str, Any], sentence: str) -> None:
    faults = page_faults(replace(PLAIN, **change))
    assert list(faults) == list(change)
    assert sentence in next(iter(faults.values()))


def test_no_secret_is_in_a_sentence() -> None:
    options = replace(
        PLAIN,
        login=Login(user="me", password="hunter2\n"),
        cookies=(Cookie(name="a", value="hunter2;"),),
        steps=(TypeText(selector="#a", text="hunter2" * 200, secret=True),),
    )
    assert len(page_faults(options)) == 3
    assert "hunter2" not in str(page_faults(options))


def test_a_host_cannot_be_both_mapped_and_blocked() -> None:
    mapped = (HostMapping(host="a.example", address="192.0.2.1"),)
    assert "both" in page_faults(replace(PLAIN, host_map=mapped, black_holes=("a.example",)))["black_holes"]


def test_a_host_that_is_left_out_is_neither_mapped_nor_blocked() -> None:
    mapped = (HostMapping(host="a.example", address="192.0.2.1"),)
    for others in ({"host_map": mapped}, {"black_holes": ("a.example",)}):
        assert "both" in page_faults(replace(PLAIN, without=("a.example",), **others))["without"]
    assert page_faults(replace(PLAIN, without=("b.example",), host_map=mapped)) == {}


@pytest.mark.parametrize(
    "text", ["https://a.example", "a.example/x", "a.example:443", "a.example?", "me@a.example", "#a", "[::1]:443"]
)
def test_a_host_is_a_name_alone_so_that_none_is_blocked_in_vain(text: str) -> None:
    with pytest.raises(PageOptionError, match="is no host name: write it without scheme, port and path"):
        parse_host(text)


@pytest.mark.parametrize("text", ["[2001:DB8:0::1]", "2001:db8::1"])
def test_an_ipv6_address_is_a_host_with_and_without_brackets(text: str) -> None:
    assert parse_host(text) == "2001:db8::1"
    mapping = parse_mapping(f"{text}=192.0.2.1")
    for options in ({"without": (parse_host(text),)}, {"black_holes": (parse_host(text),)}, {"host_map": (mapping,)}):
        assert page_faults(replace(PLAIN, **options)) == {}


def test_an_ipv6_address_of_one_network_interface_is_no_host() -> None:
    with pytest.raises(PageOptionError, match="must not name a network interface"):
        parse_host("fe80::1%eth0")


def test_names_are_read_in_the_letters_of_the_dns() -> None:
    assert parse_host(" Bücher.example") == "xn--bcher-kva.example"
    assert parse_mapping("A.example = [2001:db8::1]:8443") == HostMapping(
        host="a.example", address="2001:db8::1", port=8443
    )
    assert parse_cookie(" a = b=c ") == Cookie(name="a", value="b=c")


@given(st.text(max_size=60))
def test_any_text_is_a_mapping_that_keeps_the_rules_or_is_refused(text: str) -> None:
    try:
        mapping = parse_mapping(text)
    except PageOptionError:
        return
    is_port = mapping.port is None or 0 < mapping.port < 65536
    assert (page_faults(replace(PLAIN, host_map=(mapping,))) == {}) is is_port
