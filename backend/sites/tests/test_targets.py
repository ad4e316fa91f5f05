from ipaddress import ip_network

import pytest
from pytest_django import Settings

from backend.sites.targets import check_called, check_target
from workers.measurement.target import TargetError


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("example.com", "https://example.com/"),
        ("  http://Example.COM/a b".replace(" b", "%20b"), "http://example.com/a%20b"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("https://example.com:8443", "https://example.com:8443/"),
    ],
)
def test_an_address_is_completed_and_made_canonical(text: str, url: str) -> None:
    assert check_target(text).url == url


@pytest.mark.parametrize(
    "text",
    [
        "http://127.0.0.1/",
        "localhost",
        "http://app.localhost:8080/",
        "http://[::1]/",
        "http://10.1.2.3/",
        "http://169.254.169.254/latest/meta-data",
        "http://[::ffff:192.168.0.1]/",
        "http://[64:ff9b::a00:1]/",
        "http://0.0.0.0/",
    ],
)
def test_an_inside_address_is_refused_and_the_setting_is_named(text: str) -> None:
    with pytest.raises(TargetError, match=r"inside your network; an admin must allow it.*FIRSTBYTE_PRIVATE_TARGETS"):
        check_target(text)


@pytest.mark.parametrize("text", ["http://127.0.0.1/", "http://localhost/"])
def test_an_inside_address_is_taken_where_the_operator_allows_its_range(text: str, settings: Settings) -> None:
    settings.PRIVATE_TARGETS = (ip_network("127.0.0.0/8"),)
    assert check_target(text).url == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ftp://example.com/", "must begin with"),
        ("https://me:secret@example.com/", "user name or password"),
        ("https://example.com:22/", "Port 22"),
        ("https://" + "a" * 3000 + ".example/", "at most 2048"),
        ("", "host name"),
        ("https://exa mple.com/", "spaces"),
        ("http://2130706433/", "not a host name"),
    ],
)
def test_what_cannot_be_measured_is_answered_with_a_sentence(text: str, why: str) -> None:
    with pytest.raises(TargetError, match=why):
        check_target(text)


def test_a_further_port_is_taken_where_the_operator_allows_it(settings: Settings) -> None:
    settings.EXTRA_PORTS = frozenset({9443})
    assert check_target("https://example.com:9443/").port == 9443


@pytest.mark.parametrize(
    ("text", "measured", "called"),
    [
        (
            "https://shop.example:22/",
            "Port 22 may not be measured; allowed are 80, 443, 8080, 8443. An operator adds others with "
            "FIRSTBYTE_EXTRA_PORTS, for the service and for the agents that measure it.",
            "Port 22 may not be called; allowed are 80, 443, 8080, 8443. An operator adds others with "
            "FIRSTBYTE_EXTRA_PORTS.",
        ),
        (
            "https://10.0.0.1/",
            "This address is inside your network; an admin must allow it: the setting is FIRSTBYTE_PRIVATE_TARGETS, "
            "a list of address ranges, for the service and for the agents that measure it.",
            "This address is inside your network; an admin must allow it: the setting is FIRSTBYTE_PRIVATE_TARGETS, "
            "a list of address ranges.",
        ),
        (
            "https://u:p@shop.example/",
            "The address must not hold a user name or password; set a request header for that.",
            "The address must not hold a user name or password.",
        ),
    ],
)
def test_a_refusal_says_what_helps_whoever_wants_it_measured_or_called(text: str, measured: str, called: str) -> None:
    for check, sentence in ((check_target, measured), (check_called, called)):
        with pytest.raises(TargetError) as refused:
            check(text)
        assert str(refused.value) == sentence
