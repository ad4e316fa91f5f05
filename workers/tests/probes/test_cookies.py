"""Cookies of redirects, however hostile: no more of them than any server takes, and nothing but plain text."""

import pytest

from workers.measurement.connection import Header
from workers.probes.cookies import Cookies
from workers.probes.http1 import Head

URL = "https://www.shop.example/basket/"


def cookies_of(*values: str) -> Cookies:
    headers = tuple(Header(name="Set-Cookie", value=value) for value in values)
    cookies = Cookies()
    cookies.take(URL, Head(status=302, headers=headers, size_bytes=1))
    return cookies


def test_cookies_go_where_browsers_send_them() -> None:
    cookies = cookies_of("host=1; Path=/", "all=1; Domain=shop.example; Path=/", "safe=1; Secure; Path=/", "here=1")
    assert cookies.sent_to(URL) == "here=1; host=1; safe=1; all=1"
    assert cookies.sent_to("https://www.shop.example/") == "host=1; safe=1; all=1"
    assert cookies.sent_to("https://shop.example/") == "all=1"
    assert cookies.sent_to("http://www.shop.example/") == "host=1; all=1"
    assert cookies.sent_to("https://bank.example/") == ""


def test_what_is_set_again_counts_as_it_was_set_last() -> None:
    assert cookies_of("a=1", "a=2").sent_to(URL) == "a=2"
    assert cookies_of("a=1", "a=1; Max-Age=0").sent_to(URL) == ""
    assert cookies_of("a=1", "a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT").sent_to(URL) == ""


def test_a_cookie_that_is_not_sent_keeps_no_other_back() -> None:
    assert cookies_of("name=J\u00f6rg; Path=/", "check=1; Path=/").sent_to(URL) == "check=1"


@pytest.mark.parametrize(
    "attributes",
    [
        "Path=basket",
        "Path=",
        "Domain=",
        "Max-Age=",
        "Max-Age=3600.0",
        'Max-Age="60"',
        "Max-Age=" + "9" * 4_000,
        "Expires=" + " " * 5_000,
        "Port=80",
        "Version=x",
        "Path=/other; Path=/",
        "SameSite=None; Secure; HttpOnly; Partitioned",
        ";" * 5_000,
    ],
    ids=lambda value: value[:20],
)
def test_what_browsers_ignore_of_a_cookie_does_not_cost_it(attributes: str) -> None:
    assert cookies_of(f"check=1; {attributes}").sent_to(URL) == "check=1"


@pytest.mark.parametrize(
    "value",
    [
        "",
        ";",
        "=",
        "a=" + "x" * 60_000,
        "a=b" * 20_000,
        "a=1; Domain=" + "." * 5_000,
        'a="' + '\\"' * 30_000,
        "a=\u00e9",
    ],
    ids=lambda value: value[:8],
)
def test_what_no_server_would_take_is_not_sent(value: str) -> None:
    assert cookies_of(value).sent_to(URL) == ""


def test_of_a_flood_of_cookies_the_first_ones_are_read() -> None:
    sent = cookies_of(*(f"a{number}=1" for number in range(2_000))).sent_to(URL)
    assert len(sent.split("; ")) == 50


def test_of_ever_more_cookies_on_the_way_no_more_are_kept() -> None:
    cookies = Cookies()
    for hop in range(10):
        headers = tuple(Header(name="Set-Cookie", value=f"a{hop}b{number}=1") for number in range(50))
        cookies.take(URL, Head(status=302, headers=headers, size_bytes=1))
    assert len(cookies.sent_to(URL).split("; ")) == 150


def test_no_cookie_is_for_all_sites_of_a_country() -> None:
    cookies = Cookies()
    header = Header(name="Set-Cookie", value="a=1; Domain=co.uk; Path=/")
    cookies.take("https://shop.co.uk/", Head(status=302, headers=(header,), size_bytes=1))
    assert cookies.sent_to("https://bank.co.uk/") == ""


def test_a_monitors_own_cookie_is_replaced_by_what_was_set_anew() -> None:
    cookies = cookies_of("session=new; Path=/")
    assert cookies.sent_beside(["consent=yes; session=old", "lang=de"], URL) == "consent=yes; lang=de; session=new"
    assert cookies.sent_beside(["session=old"], "https://bank.example/") == "session=old"
    assert cookies.sent_beside([], URL) == "session=new"
