"""What a page over HTTP/3 is said to lose, and what it gains where that is mended. Of QUIC Chromium's log tells neither
a connect nor flights, so that its handshake has to tell how long a round trip is.
"""

import gzip
from collections.abc import Iterator

import pytest

from workers.measurement.finding import FindingId
from workers.measurement.messages import PageMeasurement
from workers.measurement.page_options import Protocol
from workers.tests.browser.conftest import measured
from workers.tests.diagnosis.page_sketch import told
from workers.tests.netlab.test_page_twins import JITTER_US, ROUNDS, SHARE, first_paint_us, page
from workers.tests.second_tries import measured_again
from workers.tests.shapes.browsing import ShapeLab, shape_lab
from workers.tests.shapes.site import Reply, Shape

_PAGE, _STYLES = "https://three.test/", "https://three.test/a.css"
# 100 kB that gzip makes half as large.
_RULES = b"p { color: #222 } /* %s */" % " ".join(str(number * 7919 % 99_991) for number in range(17_000)).encode()


@pytest.fixture(scope="module")
def lab() -> Iterator[ShapeLab]:
    with shape_lab(rtt_ms=200) as lab:
        yield lab


def loaded(lab: ShapeLab, body: bytes, *headers: tuple[str, str]) -> PageMeasurement:
    """With that for its style sheet."""
    replies = {
        _PAGE: Reply(body=page("<link rel=stylesheet href=a.css>")),
        _STYLES: Reply(body=body, kind="text/css", headers=(("cache-control", "max-age=31536000"), *headers)),
    }
    shape = Shape(url=_PAGE, replies=replies, rows="", connections="", protocol=Protocol.H3)
    with lab.serving(shape):
        return measured(lab.run(shape))


def test_over_http_3_compression_gains_what_is_told(lab: ShapeLab) -> None:
    """As long as it takes to send so many bytes less in flights, and not their share of the time."""
    plain: list[PageMeasurement] = []
    packed: list[PageMeasurement] = []
    for _ in range(ROUNDS):
        plain.append(loaded(lab, _RULES))
        packed.append(loaded(lab, gzip.compress(_RULES), ("content-encoding", "gzip")))
        quickest = min(plain, key=first_paint_us)
        gained_us = first_paint_us(quickest) - min(map(first_paint_us, packed))
        found = told(quickest, FindingId.PAGE_UNCOMPRESSED)
        claimed_us = 0 if found is None else found.saving_us or 0
        if is_right := abs(claimed_us - gained_us) <= max(SHARE * gained_us, JITTER_US):
            break
        measured_again(f"{claimed_us} us are claimed, {gained_us} us gained")
    assert is_right
    assert not any(told(seen, FindingId.PAGE_UNCOMPRESSED) for seen in packed)
