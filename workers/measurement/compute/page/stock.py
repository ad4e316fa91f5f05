"""What of a page could have been smaller: what the browser told after the load, at the rows that it speaks of."""

from collections.abc import Iterator, Sequence

from workers.measurement.captures_page import PageCapture, PictureSeen, TextSeen
from workers.measurement.compute.devtools.exchange import Exchange
from workers.measurement.page_view import MAX_PICTURES, MAX_TEXTS, PlainText, ShownPicture
from workers.measurement.waterfall import ServedFrom

_MILLION = 1_000_000
_MAX_SIDE = 100_000


def pictures_of(capture: PageCapture, exchanges: Sequence[Exchange]) -> tuple[ShownPicture, ...]:
    """The pictures whose row is known, in the order of the rows, at most fifty. How large a frame shows one nobody
    looked."""
    framed = {exchange.url for exchange in exchanges if exchange.frame not in (None, capture.main_frame)}
    seen = {one.url: one for one in (PictureSeen(*raw) for raw in capture.pictures) if one.url not in framed}
    return tuple(_pictures(seen, exchanges))[:MAX_PICTURES]


def texts_of(capture: PageCapture, exchanges: Sequence[Exchange]) -> tuple[PlainText, ...]:
    """The texts whose row is known, in the order of the rows, at most ten."""
    seen = {one.request_id: one for one in (TextSeen(*raw) for raw in capture.texts)}
    last = {exchange.request_id: number for number, exchange in enumerate(exchanges, 1)}
    numbered = sorted((last[key], one) for key, one in seen.items() if key in last)
    return tuple(
        PlainText(request=number, body_bytes=one.body_bytes, gzip_bytes=one.gzip_bytes) for number, one in numbered
    )[:MAX_TEXTS]


def _pictures(seen: dict[str, PictureSeen], exchanges: Sequence[Exchange]) -> Iterator[ShownPicture]:
    told = set()
    for number, exchange in enumerate(exchanges, 1):
        one = seen.get(exchange.url)
        over_network = exchange.served_from is ServedFrom.NETWORK and exchange.redirected_to is None
        if one is None or not over_network or exchange.kind != "Image" or one.url in told:
            continue
        if not (0 < one.width <= _MAX_SIDE and 0 < one.height <= _MAX_SIDE and 0 < one.scale < 1):
            continue
        told.add(one.url)
        yield ShownPicture(
            request=number, width=one.width, height=one.height, shown_ppm=max(1, round(one.scale * _MILLION))
        )
