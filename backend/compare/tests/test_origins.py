import pytest

from backend.compare.origins import other_leg
from backend.sites.targets import check_target
from workers.measurement.pair import PairTarget
from workers.measurement.target import TargetError

CDN = "https://cdn.shop.example/static/app.js?v=4"


@pytest.mark.parametrize(
    ("typed", "url", "address"),
    [
        ("198.51.101.7", CDN, "198.51.101.7"),
        ("198.51.101.7:8443", CDN, "198.51.101.7:8443"),
        ("2606:4700::1", CDN, "2606:4700::1"),
        ("[2606:4700::1]:443", CDN, "[2606:4700::1]:443"),
        ("[2606:4700::1]", CDN, "2606:4700::1"),
        ("www.shop.example", "https://www.shop.example/static/app.js?v=4", None),
        ("www.shop.example:8443", "https://www.shop.example:8443/static/app.js?v=4", None),
        ("http://www.shop.example", "http://www.shop.example/static/app.js?v=4", None),
        (" https://www.shop.example/files/ ", "https://www.shop.example/files/static/app.js?v=4", None),
        ("https://www.shop.example/app.min.js", "https://www.shop.example/app.min.js", None),
        ("https://www.shop.example/?asset=app", "https://www.shop.example/?asset=app", None),
        ("https://198.51.101.7/", "https://198.51.101.7/static/app.js?v=4", None),
    ],
)
def test_an_origin_can_be_said_as_address_host_prefix_or_url(typed: str, url: str, address: str | None) -> None:
    assert other_leg(check_target(CDN), typed) == PairTarget(url=url, address=address)


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("10.0.0.7", "inside your network"),
        ("[::1]:443", "inside your network"),
        ("[::ffff:10.0.0.7]:443", "inside your network"),
        ("localhost", "inside your network"),
        ("https://127.0.0.1/", "inside your network"),
        ("198.51.101.7:22", "Port 22 may not be measured"),
        ("198.51.101.7:http", "Port http may not be measured"),
        ("not a host", "must not hold spaces"),
        ("cdn.shop.example", "another address than the CDN"),
        (CDN, "another address than the CDN"),
        ("ftp://www.shop.example/", "must begin with http"),
        ("https://user:pass@www.shop.example/", "user name or password"),
    ],
)
def test_what_is_no_origin_is_told_in_a_sentence(typed: str, sentence: str) -> None:
    with pytest.raises(TargetError, match=sentence):
        other_leg(check_target(CDN), typed)
