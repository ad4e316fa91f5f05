"""Which URLs can be measured, and what becomes of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.target import MAX_URL_CHARS, TargetError, parse_target


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("https://example.org", "https://example.org/"),
        ("HTTPS://Example.ORG:443/Path?b=1#frag", "https://example.org/Path?b=1"),
        ("http://example.org:8080", "http://example.org:8080/"),
        ("http://example.org.", "http://example.org/"),
        ("  https://example.org/  ", "https://example.org/"),
        ("https://bücher.example/ä?ö=ü", "https://xn--bcher-kva.example/%C3%A4?%C3%B6=%C3%BC"),
        ("https://例え。テスト/", "https://xn--r8jz45g.xn--zckzah/"),
        ("https://my_host.example/", "https://my_host.example/"),
        ("https://_acme.example/", "https://_acme.example/"),
        ("https://r3---sn-4g5e6nsk.example/", "https://r3---sn-4g5e6nsk.example/"),
        ("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/"),
        ("https://example.org/a%20b/%zz", "https://example.org/a%20b/%zz"),
        ("https://example.org/?", "https://example.org/"),
        ("https://example.org/a/../b", "https://example.org/b"),
        ("https://example.org/../../a?b=/../c", "https://example.org/a?b=/../c"),
        ("https://example.org/a/./b/..", "https://example.org/a/"),
        ("https://example.org/a/%2E/b/.%2e/", "https://example.org/a/"),
        ("https://example.org/a//../b/.", "https://example.org/a/b/"),
        ("https://example.org/a../.b/...", "https://example.org/a../.b/..."),
        ("https://[2606:4700::1111]:8443/", "https://[2606:4700::1111]:8443/"),
        ("https://[2606:4700:0:0::1111]/", "https://[2606:4700::1111]/"),
        ("http://1.1.1.1/", "http://1.1.1.1/"),
        ("http://localhost/", "http://localhost/"),
    ],
)
def test_a_url_is_brought_into_one_form(url: str, canonical: str) -> None:
    assert parse_target(url).url == canonical


@pytest.mark.parametrize(
    ("url", "page_url"),
    [
        ("https://example.org/app#/prices?of=ä", "https://example.org/app#/prices?of=%C3%A4"),
        ("HTTPS://Example.org#top", "https://example.org/#top"),
        ("https://example.org/#a#b[1]{2}|^", "https://example.org/#a#b[1]{2}|^"),
        ('https://example.org/#"<`>%20', "https://example.org/#%22%3C%60%3E%20"),
        ("https://example.org/#", "https://example.org/"),
    ],
)
def test_a_browser_is_sent_to_the_fragment_too(url: str, page_url: str) -> None:
    assert parse_target(url).page_url == page_url


def test_a_fragment_counts_where_an_address_is_too_long() -> None:
    with pytest.raises(TargetError, match=f"at most {MAX_URL_CHARS}"):
        parse_target("https://example.org/#" + "ä" * (MAX_URL_CHARS // 2))


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "must begin with http"),
        ("example.org", "must begin with http"),
        ("ftp://example.org/", "not ftp"),
        ("file:///etc/passwd", "not file"),
        ("javascript:alert(1)", "not javascript"),
        ("https://", "lacks a host"),
        ("https:///path", "lacks a host"),
        ("https://./", "not a valid host"),
        ("https://example..org/", "not a valid host"),
        ("https://example.org../", "not a valid host"),
        ("https://-example.org/", "not a valid host"),
        ("https://exa mple.org/", "spaces or control"),
        ("https://example.org/\r\nHost: evil", "spaces or control"),
        ("https://example.org/\x00", "spaces or control"),
        ("https://user@example.org/", "user name or password"),
        ("https://user:secret@example.org/", "user name or password"),
        ("https://example.org\\@evil.example/", "user name or password"),
        ("https://example.org\\evil/", "not a valid host"),
        ("https://exa%6dple.org/", "not a valid host"),
        ("https://example.org:22/", "Port 22"),
        ("https://example.org:0/", "Port 0"),
        ("https://example.org:65536/", "1 to 65535"),
        ("https://example.org:http/", "1 to 65535"),
        ("http://127.1/", "usual form"),
        ("http://2130706433/", "usual form"),
        ("http://0x7f.1/", "usual form"),
        ("http://0x7f000001/", "usual form"),
        ("http://0177.0.0.1/", "usual form"),
        ("http://1.2.3.4.5/", "usual form"),
        ("http://\uff11\uff12\uff17.1/", "usual form"),
        ("http://[fe80::1%25eth0]/", "network interface"),
        ("http://[::1/", "cannot be read"),
        ("http://[v1.x]/", "IPv6"),
        ("http://[::1]evil/", "IPv6"),
        ("http://[g::1]/", "IPv6"),
        ("https://" + "a" * 64 + ".example/", "not a valid host"),
        ("https://" + "a." * 127 + "example/", "not a valid host"),
        ("https://example.org/" + "a" * MAX_URL_CHARS, "at most 2048"),
        ("https://example.org/" + "ä" * 600, "at most 2048"),
        ("https://example.org/\ud800", "half a character"),
    ],
)
def test_a_url_that_cannot_be_measured_is_refused_with_a_sentence(url: str, words: str) -> None:
    with pytest.raises(TargetError) as caught:
        parse_target(url)
    assert words in str(caught.value)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    "url", ["http://\uff11\uff12\uff17.\uff10.\uff10.\uff11/", "http://127。0。0。1/", "http://127.0.0.1./"]
)
def test_look_alike_digits_and_dots_are_the_address_that_they_look_like(url: str) -> None:
    assert parse_target(url).host == "127.0.0.1"


def test_an_operator_may_open_other_ports() -> None:
    assert parse_target("http://example.org:9000/", extra_ports=frozenset({9000})).port == 9000


def test_the_authority_names_only_an_unusual_port() -> None:
    assert parse_target("https://example.org:443/").authority == "example.org"
    assert parse_target("http://example.org:443/").authority == "example.org:443"
    assert parse_target("https://[2606:4700::1111]:8443/").authority == "[2606:4700::1111]:8443"


@given(st.one_of(st.text(max_size=80), st.text(max_size=60).map(lambda text: f"https://{text}")))
def test_every_text_is_either_a_target_or_a_sentence(text: str) -> None:
    try:
        target = parse_target(text)
    except TargetError:
        return
    assert target.path.startswith("/")
    assert target.url.isascii()
    assert not any(char in target.url for char in " \r\n\t\\")


@given(st.from_regex(r"https?://[a-zA-Z0-9_äß-]{1,20}(\.[a-zA-Z0-9ö-]{1,10}){0,3}(/[^\s]{0,30})?", fullmatch=True))
def test_the_canonical_form_of_the_canonical_form_is_itself(url: str) -> None:
    try:
        target = parse_target(url)
    except TargetError:
        return
    assert parse_target(target.page_url) == target
