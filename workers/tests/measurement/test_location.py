from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.location import location_url
from workers.measurement.target import TargetError, parse_target

BASE = "https://shop.example/a/b?c"


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("/x", "https://shop.example/x"),
        ("x?y#z", "https://shop.example/a/x?y#z"),
        ("//cdn.example/x", "https://cdn.example/x"),
        (" /x\t", "https://shop.example/x"),
        ("/x y?z z", "https://shop.example/x%20y?z%20z"),
        ("https:\\\\other.example\\x?a\\b", "https://other.example/x?a\\b"),
        ("\\\\other.example", "https://other.example"),
        ("https://user:word@other.example/", "https://other.example/"),
        ("ht\ttps://other.example/", "https://other.example/"),
        ("ftp://other.example/", "ftp://other.example/"),
    ],
)
def test_a_location_is_read_as_browsers_read_it(location: str, url: str) -> None:
    assert location_url(BASE, location) == url


@given(st.text(max_size=60))
def test_whatever_a_server_writes_nobody_is_logged_in_anywhere(location: str) -> None:
    with suppress(ValueError, TargetError):
        assert "@" not in parse_target(location_url(BASE, location)).authority
