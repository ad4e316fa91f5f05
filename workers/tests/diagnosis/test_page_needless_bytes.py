"""Which bytes need not have come: what counts as a text to be compressed, and as a picture that is too large."""

from typing import Any

import pytest

from workers.measurement.finding import Finding, FindingId
from workers.measurement.page_view import PlainText, ShownPicture
from workers.measurement.waterfall import Request, ResourceType, RowFlag
from workers.tests.diagnosis.page_sketch import KEPT, diagnosed, evidence_of, picture, row, sketch, told

UNCOMPRESSED, OVERSIZED = FindingId.PAGE_UNCOMPRESSED, FindingId.PAGE_IMAGE_OVERSIZED
STRANGER = "cdn.example.net"


def text(number: int = 2, size_bytes: int = 90_000, **changes: Any) -> Request:
    """One that nothing waits for."""
    sizes = {"transferred_bytes": size_bytes + 200, "body_bytes": size_bytes}
    return row(number, ResourceType.SCRIPT, 310, 900, **(sizes | changes))


@pytest.mark.parametrize(
    "kind",
    [
        "text/html; charset=utf-8",
        " Text/CSS ",
        "application/ld+json",
        "application/rss+xml",
        "Application/JavaScript",
        "application/wasm",
        "font/ttf",
        "application/vnd.ms-fontobject",
    ],
)
def test_of_every_kind_of_text_bytes_can_be_spared(kind: str) -> None:
    assert told(sketch(text(mime_type=kind), fcp_ms=340), UNCOMPRESSED) is not None


@pytest.mark.parametrize("encoding", ["identity", " Identity "])
def test_what_says_that_it_comes_as_it_is_is_not_compressed(encoding: str) -> None:
    page = sketch(text(headers=KEPT | {"Content-Encoding": encoding}), fcp_ms=340)
    assert told(page, UNCOMPRESSED) is not None


def test_of_an_answer_without_headers_nobody_knows() -> None:
    assert told(sketch(text(headers={}), fcp_ms=340), UNCOMPRESSED) is None


@pytest.mark.parametrize(("size_bytes", "is_told"), [(49_999, False), (50_000, True)])
def test_where_nobody_looked_what_gzip_would_gain_only_much_is_worth_a_word(size_bytes: int, is_told: bool) -> None:
    assert (told(sketch(text(size_bytes=size_bytes), fcp_ms=340), UNCOMPRESSED) is not None) is is_told


@pytest.mark.parametrize(("gzip_bytes", "is_told"), [(10_000, True), (10_001, False), (25_000, False)])
def test_where_somebody_looked_what_all_gain_together_counts(gzip_bytes: int, is_told: bool) -> None:
    texts = (PlainText(request=2, body_bytes=20_000, gzip_bytes=gzip_bytes),)
    found = told(sketch(text(size_bytes=20_000), fcp_ms=340, texts=texts), UNCOMPRESSED)
    assert (found is not None) is is_told


def test_a_text_that_gzip_hardly_makes_smaller_is_none_of_those() -> None:
    texts = tuple(PlainText(request=n, body_bytes=90_000, gzip_bytes=size) for n, size in ((2, 20_000), (3, 89_001)))
    found = told(sketch(text(2), text(3), fcp_ms=340, texts=texts), UNCOMPRESSED)
    assert found is not None
    assert found.rows == (2,)
    assert [evidence_of(found)[name] for name in ("text_bytes", "saved_bytes")] == [90_000, 70_000]


def test_five_of_many_are_named() -> None:
    found = told(sketch(*(text(number) for number in range(2, 9)), fcp_ms=340), UNCOMPRESSED)
    assert found is not None
    assert len(found.rows) == 7
    assert evidence_of(found)["files"] == tuple(f"{number} {number}, 90.0 kB" for number in range(2, 7))


def shown(*pictures: tuple[Request, int]) -> Finding | None:
    """Of pictures of 1000 pixels in places so wide."""
    places = tuple(
        ShownPicture(request=one.number, width=1000, height=800, shown_ppm=width * 1000) for one, width in pictures
    )
    vitals = {"lcp_us": 700_000, "lcp_url": pictures[0][0].url}
    return told(sketch(*(one for one, _ in pictures), fcp_ms=320, vitals=vitals, pictures=places), OVERSIZED)


@pytest.mark.parametrize(("width", "is_told"), [(353, True), (354, False), (1000, False), (2000, False)])
def test_a_picture_is_too_large_where_a_dense_screen_needs_less_than_half_of_its_pixels(
    width: int, is_told: bool
) -> None:
    assert (shown((picture(2, 310, 690), width)) is not None) is is_told


@pytest.mark.parametrize(
    "changes",
    [
        {"host": STRANGER},
        {"redirected_to": "https://www.example.org/real.png"},
        {"mime_type": "IMAGE/SVG+XML"},
        {"transferred_bytes": 20_800},
        {"flags": (RowFlag.BROWSER_INTERNAL,)},
        {"failure": "ERR_ABORTED"},
        {"status": None},
    ],
)
def test_what_is_a_strangers_or_small_or_no_picture_is_left_alone(changes: dict[str, Any]) -> None:
    """Of 20,800 bytes 96 % are wasted, which is a packet less than what is worth a word."""
    assert shown((picture(2, 310, 690, **changes), 100)) is None


def test_only_the_largest_paint_gains_by_its_own_picture() -> None:
    own, other = picture(2, 310, 690, first_ms=400), picture(3, 310, 690, first_ms=400)
    both = shown((own, 100), (other, 100))
    assert both is not None
    assert both.rows == (2, 3)
    assert [evidence_of(both)[name] for name in ("image_bytes", "saved_bytes")] == [80_400, 77_184]
    assert both.saving_us == (alone.saving_us if (alone := shown((own, 100))) else None)
    elsewhere = shown((own, 1000), (other, 100))
    assert elsewhere is not None
    assert elsewhere.saving_us is None
    assert "lcp_ms" not in evidence_of(elsewhere)


@pytest.mark.parametrize(
    ("host", "is_strangers"),
    [
        ("example.org", False),
        ("static.example.org", False),
        ("example.net", True),
        ("notexample.org", True),
        # A name at a CDN may be the owner's.
        ("d111.cloudfront.net", False),
    ],
)
def test_a_strangers_text_is_a_strangers_to_compress(host: str, is_strangers: bool) -> None:
    assert (told(sketch(text(host=host), fcp_ms=340), UNCOMPRESSED) is None) is is_strangers


def test_the_owners_word_on_whose_a_host_is_counts() -> None:
    page = sketch(text(host=STRANGER), fcp_ms=340)
    assert UNCOMPRESSED in {one.id for one in diagnosed(page, is_own=lambda host: host == STRANGER).findings}
    page = sketch(text(host="static.example.org"), fcp_ms=340)
    assert UNCOMPRESSED not in {one.id for one in diagnosed(page, is_own=lambda host: False).findings}
    # The document's own host is always the owner's.
    assert UNCOMPRESSED in {one.id for one in diagnosed(sketch(text(), fcp_ms=340), is_own=lambda _: False).findings}
