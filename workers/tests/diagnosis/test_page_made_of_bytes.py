"""Pages that scripts make come sooner where those are compressed; what that gains, making them elsewhere does not."""

from typing import Any

import pytest

from workers.measurement.finding import FindingId
from workers.measurement.messages import PageMeasurement
from workers.measurement.page_view import PlainText
from workers.measurement.waterfall import Request, ResourceType
from workers.tests.diagnosis.page_sketch import MAIN, row, sketch, style, told

UNCOMPRESSED, MADE = FindingId.PAGE_UNCOMPRESSED, FindingId.PAGE_CLIENT_RENDERED


def bundle(number: int = 2, start_ms: int = 310, end_ms: int = 900, **changes: Any) -> Request:
    """A script of 400 kB that comes over a line of about a byte in a microsecond."""
    sizes = {"transferred_bytes": 400_200, "body_bytes": 400_000, "first_ms": end_ms - 400}
    return row(number, ResourceType.SCRIPT, start_ms, end_ms, **(sizes | {"path": f"{number}.js"} | changes))


def made(*rest: Request, fcp_ms: int = 920, **changes: Any) -> PageMeasurement:
    """By scripts that gzip would make a quarter as large, in a document that shows nothing."""
    scripts = (one for one in rest if one.resource_type is ResourceType.SCRIPT)
    texts = tuple(PlainText(request=one.number, body_bytes=400_000, gzip_bytes=100_000) for one in scripts)
    return sketch(*rest, fcp_ms=fcp_ms, **({"texts": texts, "body_from": (3, 1)} | changes))


def saving_us(page: PageMeasurement, id: FindingId) -> int | None:
    found = told(page, id)
    return None if found is None else found.saving_us


def test_a_page_is_made_as_much_sooner_as_its_script_has_come() -> None:
    assert saving_us(made(bundle()), UNCOMPRESSED) == pytest.approx(300_000, rel=0.05)


def test_what_compressing_gains_is_claimed_once() -> None:
    page = made(bundle())
    compressing, making = saving_us(page, UNCOMPRESSED), saving_us(page, MADE)
    assert compressing is not None
    assert making == 600_000 - compressing


def test_a_script_that_another_asks_for_comes_sooner_with_that() -> None:
    both = bundle(2), bundle(3, 901, 1_500, initiator_url=f"https://{MAIN}/2.js")
    assert saving_us(made(*both, fcp_ms=1_520), UNCOMPRESSED) == pytest.approx(600_000, rel=0.05)


def test_a_page_waits_for_the_last_of_its_scripts() -> None:
    other = row(3, ResourceType.SCRIPT, 310, 800, host=f"static.{MAIN}", connection=2)
    page = made(bundle(), other, texts=(PlainText(request=2, body_bytes=400_000, gzip_bytes=100_000),))
    assert saving_us(page, UNCOMPRESSED) == 100_000


def test_a_page_is_painted_no_sooner_than_all_that_blocks_it_has_come() -> None:
    assert saving_us(made(style(3, 310, 750), bundle()), UNCOMPRESSED) == 150_000


def test_nothing_is_gained_where_nobody_knows_that_scripts_made_the_page() -> None:
    assert told(made(bundle(), fcp_ms=1_200), UNCOMPRESSED) is not None
    assert saving_us(made(bundle(), fcp_ms=1_200), UNCOMPRESSED) is None
