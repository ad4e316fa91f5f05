"""Pages that end before their load event, or give way to another, with requests that are then nobody's."""

import time
from collections.abc import Iterator

import pytest

from workers.tests.browser.conftest import Load, measured
from workers.tests.browser.sites import Answer, Site, picture

_STOPS = "<script>setTimeout(() => stop(), 100)</script>"


def in_two_pieces() -> Iterator[bytes]:
    """A document that stops itself between its pieces."""
    yield f"<!doctype html><title>Page</title><h1>first</h1>{_STOPS}<!-- {'x' * 2000} -->".encode()
    time.sleep(1.0)
    yield b"<h2>never shown</h2>"


@pytest.mark.parametrize("document", ["whole", "under way"])
def test_a_page_that_stops_itself_is_measured_as_it_stands(load: Load, site: Site, document: str) -> None:
    """By `window.stop()`, as some scripts do that show something else instead: no browser tells of a load then."""
    site.answers["/never.png"] = Answer(wait_for=site.released)
    url = site.page("/", f"<h1>first</h1><img src=/never.png>{_STOPS}")
    if document == "under way":
        site.answers["/"] = Answer(body=in_two_pieces)
    page = measured(load(url, timeout_us=6_000_000))
    assert page.document == 1
    assert page.vitals.fcp_us is not None
    assert page.vitals.load_us is None
    assert page.vitals.fully_loaded_us is not None
    assert any("stopped itself" in warning for warning in page.warnings)


def test_what_a_page_was_waiting_for_when_it_gave_way_is_not_waited_for(load: Load, site: Site) -> None:
    """Chrome tells no end of it. So nobody would know when the page that stands was at rest."""
    site.answers["/never.json"] = site.answers["/never.png"] = Answer(wait_for=site.released)
    site.answers["/a.png"] = Answer(body=picture(), kind="image/png")
    second = site.page("/second", "<h1>second</h1><img src=/a.png>")
    script = f"fetch('/never.json'); setTimeout(() => location.replace('{second}'), 100)"
    page = measured(load(site.page("/", f"<h1>first</h1><img src=/never.png><script>{script}</script>")))
    assert page.vitals.fully_loaded_us is not None
    assert page.vitals.tbt_us is not None
    assert page.warnings == ()
    given_up = [row for row in page.waterfall.requests if "/never" in row.url]
    assert [row.failure for row in given_up] == ["ERR_ABORTED", "ERR_ABORTED"]
