"""Finding a text in a body that streams by."""

import codecs
import gzip
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.connection import Header
from workers.probes.body_text import MAX_DECODED_BYTES, TextFinder
from workers.probes.http1 import Head


def head(**headers: str) -> Head:
    pairs = tuple(Header(name=name.replace("_", "-"), value=value) for name, value in headers.items())
    return Head(status=200, headers=pairs, size_bytes=0)


def find(text: str, *parts: bytes, **headers: str) -> bool:
    finder = TextFinder(text, head(**headers))
    for part in parts:
        finder.feed(part)
    return finder.found


def test_a_text_is_found_across_the_pieces_of_a_body() -> None:
    assert find("hello", b"..he", b"l", b"lo..")
    assert not find("hello", b"..he", b"..llo")


@pytest.mark.parametrize(("coding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_a_packed_body_is_unpacked_first(coding: str, pack: Callable[[bytes], bytes]) -> None:
    packed = pack(b"say hello")
    assert find("hello", packed[:7], packed[7:], content_encoding=coding)


def test_the_charset_of_the_body_counts() -> None:
    assert find("Grüße", "Grüße".encode("latin-1"), content_type="text/html; charset=ISO-8859-1")
    assert find("Grüße", "Grüße".encode(), content_type="text/html; charset=ISO-8859-1")
    assert find("Grüße", "Grüße".encode(), content_type="text/html; charset=nonsense")
    assert find("日本", "日本".encode("shift_jis"), content_type='text/html; charset="shift_jis"')


@pytest.mark.parametrize("named", ["iso-8859-1", "US-ASCII", "latin1", "x-cp1252", "windows-1252"])
def test_what_is_called_latin_1_is_read_as_windows_1252(named: str) -> None:
    assert find("12 €", "nur 12 €".encode("cp1252"), content_type=f"text/html; charset={named}")


@pytest.mark.parametrize(
    ("named", "codec", "text"),
    [
        ("gb2312", "gb18030", "朱镕基"),
        ("Shift_JIS", "cp932", "①髙島屋"),
        ("x-sjis", "cp932", "日本"),
        ("windows-31j", "cp932", "日本"),
        ("euc-kr", "cp949", "뷁"),
        ("big5", "big5hkscs", "香港嘅"),
        ("iso-8859-9", "cp1254", "€ fiyat, ş"),
        ("tis-620", "cp874", "€ ราคา"),
        ("iso-8859-8-i", "iso8859-8", "שלום"),
        ("koi8-r", "koi8-r", "привет"),
    ],
)
def test_a_label_means_what_it_means_to_browsers(named: str, codec: str, text: str) -> None:
    assert find(text, text.encode(codec), content_type=f"text/html;charset={named}")


@pytest.mark.parametrize(
    ("named", "mark", "codec"),
    [
        ("utf-16", b"", "utf-16-le"),
        ("utf-16le", b"", "utf-16-le"),
        ("utf-16be", b"", "utf-16-be"),
        ("utf-16", codecs.BOM_UTF16_BE, "utf-16-be"),
        ("utf-8", codecs.BOM_UTF16_LE, "utf-16-le"),
        ("", codecs.BOM_UTF16_BE, "utf-16-be"),
    ],
)
def test_utf_16_is_read_by_its_mark_and_else_by_its_name(named: str, mark: bytes, codec: str) -> None:
    body = mark + "<p>Grüße</p>".encode(codec)
    for parts in ([body], [body[at : at + 1] for at in range(len(body))]):
        assert find("Grüße", *parts, content_type=f"text/html; charset={named}" if named else "text/html")


@pytest.mark.parametrize("before", ["", " " * 2_000])
@pytest.mark.parametrize(
    ("text", "other", "charset"),
    [("一", "AN", "utf-16-be"), ("愀", "a", "utf-16-be"), ("ok", "歯", "utf-16-le")],
)
def test_bytes_of_two_characters_are_no_text_of_utf_16(text: str, other: str, charset: str, before: str) -> None:
    body = f"{before}{other}{other}".encode(charset)
    for parts in ([body], [body[at : at + 3] for at in range(0, len(body), 3)]):
        assert not find(text, *parts, content_type=f"text/html; charset={charset}")
        assert find(text, *parts, text.encode(charset), content_type=f"text/html; charset={charset}")


@pytest.mark.parametrize(
    "says",
    [
        b'<meta charset="shift_jis">',
        b"<META http-equiv=Content-Type content='text/html; charset=Shift_JIS'>",
        b'<?xml version="1.0" encoding="Shift_JIS"?>',
    ],
)
def test_where_no_header_names_the_charset_the_body_does(says: bytes) -> None:
    body = b"<!-- <meta charset=utf-16> -->" + says + b" " * 2_000 + "日本".encode("cp932")
    assert find("日本", *[body[at : at + 7] for at in range(0, len(body), 7)], content_type="text/html")
    assert find("日本", body, content_type="text/html; charset=nonsense")
    assert not find("日本", body, content_type="text/html; charset=windows-1252")


def test_what_a_body_says_late_of_its_charset_does_not_count() -> None:
    body = b" " * 1_020 + b"<meta charset=shift_jis>" + "日本".encode("cp932")
    assert not find("日本", body, content_type="text/html")


def test_a_body_that_calls_itself_utf_16_in_ascii_is_utf_8() -> None:
    assert find("Grüße", b"<meta charset=utf-16>" + "Grüße".encode())


def test_a_body_whose_charset_nobody_names_is_windows_1252() -> None:
    assert find("12 €", b"12 ", "€".encode("cp1252"), content_type="text/html")


def test_what_cannot_be_unpacked_holds_no_text() -> None:
    assert not find("hello", b"hello, not gzip at all", content_encoding="gzip")


def test_a_bomb_is_searched_only_so_far() -> None:
    packed = gzip.compress(b"\0" * (MAX_DECODED_BYTES + 1024 * 1024) + b"hello")
    assert not find("hello", packed, content_encoding="gzip")


@given(st.text(min_size=1, max_size=10), st.binary(max_size=30), st.lists(st.integers(1, 7), min_size=1, max_size=9))
def test_a_text_is_found_wherever_the_body_is_cut(text: str, before: bytes, sizes: list[int]) -> None:
    body = before + text.encode("utf-8", "replace") + b"tail"
    finder = TextFinder(text.encode("utf-8", "replace").decode(), head())
    at = 0
    for turn in range(len(body)):
        finder.feed(body[at : at + sizes[turn % len(sizes)]])
        at += sizes[turn % len(sizes)]
    assert finder.found
