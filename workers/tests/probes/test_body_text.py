"""Finding a text in a body that streams by."""

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
