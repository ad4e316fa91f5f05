"""Rules on bytes that need not have come: texts that were not compressed, pictures larger than they are shown."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial

from workers.diagnosis.case import Verdicts
from workers.diagnosis.facts import facts, in_ms
from workers.diagnosis.page.burst import Burst, Lighter
from workers.diagnosis.page.case import MEDIUM_US, PageCase, header, told
from workers.diagnosis.page.first_flight import PIECES_BYTES, begins_sooner_us, sooner_in_fewer_flights_us
from workers.diagnosis.page.loads import RECORD_BYTES, load_of
from workers.diagnosis.page.made import made_sooner_us
from workers.diagnosis.page.pauses import flow_rate
from workers.diagnosis.page.queue import Queues
from workers.diagnosis.page.rendering import FILES_NAMED, named
from workers.diagnosis.probe.slow_start import FIRST_FLIGHT_BYTES, coming_us, further_flights, line_rate
from workers.diagnosis.units import size
from workers.measurement.finding import FindingId
from workers.measurement.page_view import PlainText, ShownPicture
from workers.measurement.waterfall import Request

# Below this nobody gains anything by compressing (one packet), nor by telling of it (all together).
MIN_TEXT_BYTES = 2_000
MIN_SAVED_BYTES = 10_000
# Where nobody looked what gzip would make of a text, only much of it is worth a word.
MIN_UNKNOWN_BYTES = 50_000
# A picture is too large when a screen with two pixels for one of CSS would need less than half of its pixels.
PIXELS_PER_CSS = 2
MAX_NEEDED = 0.5
MIN_PICTURE_BYTES = 20_000
# What came with the first record says nothing of how quick a line is, and answers of little more say little.
_MIN_RATE_BYTES = 2 * FIRST_FLIGHT_BYTES
# Beside text/*, and what ends with +xml or +json.
TEXTS = frozenset(
    {
        "application/javascript",
        "application/x-javascript",
        "application/json",
        "application/manifest+json",
        "application/xml",
        "application/wasm",
        "application/vnd.ms-fontobject",
        "font/otf",
        "font/ttf",
        "font/sfnt",
    }
)
# A stream of events must not wait for a compressor.
_STREAMS = frozenset({"text/event-stream"})


def is_plain_text(row: Request) -> bool:
    """Whether this is a text that could be compressed and was not, by its headers and by its bytes on the wire."""
    if row.status != 200 or (row.body_bytes or 0) < MIN_TEXT_BYTES or not row.response_headers:
        return False
    encoded = (header(row, "content-encoding") or "identity").strip().lower() != "identity"
    return _is_text(row.mime_type or "") and not encoded and (row.transferred_bytes or 0) >= (row.body_bytes or 0)


def uncompressed(case: PageCase) -> Verdicts:
    """page.uncompressed: the site's own texts come as they are, and something waited for the bytes. What need not come
    at all need not be compressed."""
    texts = [row for row in case.rows if is_plain_text(row) and not case.is_third_party(row)]
    rows = [row for row in texts if row not in case.unused]
    known = {one.request: one for one in case.page.texts}
    gained = {row.number: _gzip_gain(known.get(row.number)) for row in rows}
    worth = [row for row in rows if gained[row.number] is None or (gained[row.number] or 0) >= MIN_TEXT_BYTES / 2]
    saved_bytes = sum(gained[row.number] or 0 for row in worth)
    unknown = sum(row.body_bytes or 0 for row in worth if gained[row.number] is None)
    fewer = {number: saved for number, saved in gained.items() if saved}
    begins_us = 0 if case.page.vitals.fcp_us is None else begins_sooner_us(case, fewer)
    own_us = _each_sooner(case, fewer, begins_us)
    sooner, made_us = _paint_sooner(case, own_us), made_sooner_us(case, own_us)
    saving_us = begins_us + max(case.paint.gain_us(sooner), made_us)
    if saving_us < MEDIUM_US and saved_bytes < MIN_SAVED_BYTES and unknown < MIN_UNKNOWN_BYTES:
        return
    case.paint.claim(sooner)
    case.paint.made_sooner_us = made_us
    yield told(
        FindingId.PAGE_UNCOMPRESSED,
        worth,
        saving_us or None,
        evidence=facts(
            files=tuple(f"{named(row)}, {size(row.body_bytes or 0)}" for row in worth[:FILES_NAMED]),
            text_bytes=sum(row.body_bytes or 0 for row in worth),
            saved_bytes=saved_bytes or None,
        ),
    )


def oversized(case: PageCase) -> Verdicts:
    """page.image_oversized: pictures with far more pixels than any visitor is shown. A drawing has none. What they fill
    the line with may hold up what the first paint waits for, where servers send all at once."""
    answers = (row for row in case.rows if row.redirected_to is None and not case.is_third_party(row))
    rows = {row.number: row for row in answers if "svg" not in (row.mime_type or "").lower()}
    found = [(rows[one.request], one) for one in case.page.pictures if one.request in rows]
    large = [(row, one) for row, one in found if _is_worth_telling(case, row, _wasted_bytes(row, one))]
    if not large:
        return
    wasted = {row.number: _wasted_bytes(row, one) for row, one in large}
    paint_us = _held_paint_us(case, wasted)
    largest_us = _largest_us(case, wasted, paint_us)
    yield told(
        FindingId.PAGE_IMAGE_OVERSIZED,
        [row for row, _ in large],
        max(largest_us, paint_us) or None,
        evidence=facts(
            files=tuple(
                f"{named(row)}, {one.width}x{one.height}, shown {one.width * one.shown_ppm // 1_000_000} wide"
                for row, one in large[:FILES_NAMED]
            ),
            image_bytes=sum(row.transferred_bytes or 0 for row, _ in large),
            saved_bytes=sum(wasted.values()),
            lcp_ms=in_ms(case.page.vitals.lcp_us) if largest_us > paint_us else None,
        ),
    )


def _held_paint_us(case: PageCase, fewer: Mapping[int, int]) -> int:
    """What the first paint gains where so many bytes fewer of pictures come in the way of what it waits for."""
    sooner = _paint_sooner(case, _each_sooner(case, fewer))
    return case.paint.claim(sooner) if case.paint.gain_us(sooner) >= MEDIUM_US else 0


def _largest_us(case: PageCase, fewer: Mapping[int, int], paint_us: int) -> int:
    """What the largest picture gains by its own bytes, on a page that begins to be painted by so much sooner."""
    largest = case.largest
    if largest is None or largest.row.number not in fewer:
        return 0
    return largest.claim_behind(paint_us, picture_sooner_us(case, largest.row, fewer[largest.row.number]))


def download_gain_us(case: PageCase, row: Request, fewer_bytes: int) -> int:
    """By how much sooner the last byte comes when so many fewer come.

    The window grows with each round trip until the line is full: from then on bytes cost what the line takes for them.
    What took longer than the best answer of the same host would have was not the bytes' doing, nor what it took by
    pauses: where packets are lost, each costs a round trip and more.
    """
    span, sent = row.timing.download, row.transferred_bytes or 0
    if span is None or fewer_bytes <= 0 or sent <= 0:
        return 0
    trip, kept = case.trip_us(row), max(0, sent - fewer_bytes)
    flights, kept_flights = further_flights(sent), further_flights(kept)
    if trip * (flights - 1) <= span.duration_us <= trip * flights:
        return max(0, span.duration_us - trip * kept_flights)
    if span.duration_us <= trip * flights:
        # The window had grown before: by how much nobody knows.
        return round(span.duration_us * (1 - kept_flights / flights))
    rate = max(line_rate(sent, span.duration_us, trip), _best_rate(case, row), _flow_rate(case, row))
    return round(max(0.0, min(span.duration_us, coming_us(sent, rate, trip)) - coming_us(kept, rate, trip)))


def _flow_rate(case: PageCase, row: Request) -> float:
    """The share that a row had of what its connection brought between pauses; 0 where there were none."""
    own, pauses = load_of(row), case.pauses_of(row)
    if own is None or not pauses:
        return 0.0
    loads = (load for one in case.together_with(row) if (load := load_of(one)))
    came = sum(load.bytes_in(own.span) for load in loads)
    return flow_rate(came, own.span, pauses) * own.size_bytes / came


def _best_rate(case: PageCase, row: Request) -> float:
    """Bytes in a microsecond of the quickest large answer over the row's connection."""
    loads = (load for one in case.together_with(row) if (load := load_of(one)))
    rates = [
        (load.size_bytes - RECORD_BYTES) / load.span.duration_us for load in loads if load.size_bytes > _MIN_RATE_BYTES
    ]
    return max(rates, default=0.0)


def _gzip_gain(text: PlainText | None) -> int | None:
    return None if text is None else max(0, text.body_bytes - text.gzip_bytes)


def _each_sooner(case: PageCase, fewer: Mapping[int, int], begins_us: int = 0) -> Callable[[Request], int]:
    """By how much sooner each file comes where so many bytes fewer come, by number."""
    queues, own_us = Queues(case.rows), cache(FewerBytes(case=case, fewer=fewer, begins_us=begins_us).sooner_us)
    return lambda row: queues.sooner_us(row, own_us)


def _paint_sooner(case: PageCase, own_us: Callable[[Request], int]) -> dict[int, int]:
    """The same of what the first paint waits for, by number."""
    return {row.number: own_us(row) for row in case.rows if case.paint.waits_for(row)}


@dataclass(frozen=True, kw_only=True)
class FewerBytes:
    """So many bytes fewer of each, by number, of a page whose document is read by `begins_us` sooner for that."""

    case: PageCase
    fewer: Mapping[int, int]
    begins_us: int = 0

    def sooner_us(self, row: Request) -> int:
        """For its own bytes that do not come, or for those of all that came of its host meanwhile; of the document what
        is beyond its beginning. What a document that stood still, as its server had no more of it, brought before that
        comes no later for its bytes."""
        burst = self.case.burst_of(row)
        by_all_us = 0 if burst is None else self._lighter(burst).sooner_us(row)
        by_own_us = download_gain_us(self.case, row, self.fewer.get(row.number, 0))
        gained_us = max(by_own_us, by_all_us, sooner_in_fewer_flights_us(self.case, row, self.fewer, PIECES_BYTES))
        page = self.case.page
        if row.number != page.document:
            return gained_us
        gained_us, came_on_us = max(0, gained_us - self.begins_us), page.came_on_us
        return gained_us if came_on_us is None else min(gained_us, max(0, (row.timing.end_us or 0) - came_on_us))

    @cached_property
    def _lighter(self) -> Callable[[Burst], Lighter]:
        return cache(partial(Lighter, self.fewer))


def picture_sooner_us(case: PageCase, row: Request, fewer_bytes: int) -> int:
    """By how much sooner its last byte comes when so many fewer come."""
    in_fewer_us = sooner_in_fewer_flights_us(case, row, {row.number: fewer_bytes})
    return max(download_gain_us(case, row, fewer_bytes), in_fewer_us)


def _is_worth_telling(case: PageCase, row: Request, wasted_bytes: int) -> bool:
    """Whether much is sent in vain, or the largest paint waits for it."""
    if wasted_bytes >= MIN_PICTURE_BYTES:
        return True
    largest = case.largest
    if largest is None or row.number != largest.row.number:
        return False
    return largest.gain_us(picture_sooner_us(case, row, wasted_bytes)) >= MEDIUM_US


def _wasted_bytes(row: Request, picture: ShownPicture) -> int:
    """Nothing where half of its pixels or more would be used."""
    needed = min(1.0, PIXELS_PER_CSS * picture.shown_ppm / 1_000_000) ** 2
    return 0 if needed > MAX_NEEDED else round((row.transferred_bytes or 0) * (1 - needed))


def _is_text(mime_type: str) -> bool:
    kind = mime_type.partition(";")[0].strip().lower()
    if kind in _STREAMS:
        return False
    return kind.startswith("text/") or kind.endswith(("+xml", "+json")) or kind in TEXTS
