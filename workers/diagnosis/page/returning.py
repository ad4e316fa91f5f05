"""Rules on visitors who come again: what a browser must ask for anew, because nobody lets it keep it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from workers.diagnosis.case import Verdicts
from workers.diagnosis.facts import facts
from workers.diagnosis.page.case import MEDIUM_US, PageCase, header, is_answered, severity, told
from workers.diagnosis.page.hosts import trip_us
from workers.diagnosis.page.paths import PaintPath
from workers.diagnosis.page.rendering import FILES_NAMED, named
from workers.diagnosis.probe.slow_start import FIRST_FLIGHT_BYTES
from workers.measurement.finding import FindingId, Severity
from workers.measurement.http_date import http_date
from workers.measurement.page_options import PageState
from workers.measurement.waterfall import Request, ResourceType, RowFlag, ServedFrom, Waterfall

# Whoever comes again comes the next day, or later.
SHORT_S = 86_400
MIN_BYTES = 50_000
_STATIC = frozenset({ResourceType.STYLESHEET, ResourceType.SCRIPT, ResourceType.FONT, ResourceType.IMAGE})
_MAX_S, _MAX_DIGITS = 2**31, 12
# A picture of fewer bytes counts visits, or keeps a place: it is meant to be asked for each time, or costs nothing.
_MIN_PICTURE_BYTES = 1_000
# What a browser says when it asks for a service worker's own script (Service Workers, Update): it does so visit after
# visit, whatever it was told of keeping that, and always at the same address.
_OF_SERVICE_WORKER = "service-worker"
# What Chromium took to bring a small file from its disk, in second views of pages on two processors.
_FROM_DISK_US = 15_000
# RFC 9111, 4.2.2: without a word of the server browsers keep it for a tenth of its age.
_HEURISTIC = 0.1


def uncached(case: PageCase) -> Verdicts:
    """page.uncached: the site's own files that a returning visitor's browser has to ask for again."""
    kept = _kept_by_worker(case)
    rows = [row for row in case.rows if _is_asked_again(row) and row.url not in kept and not case.is_third_party(row)]
    seen = _is_seen(case, rows)
    saving_us = _measured_us(case, rows) if seen else _modelled_us(case, rows)
    again_bytes = sum(row.transferred_bytes or 0 for row in rows if not _has_validator(row))
    if not rows or (saving_us < MEDIUM_US and again_bytes < MIN_BYTES):
        return
    found = told(
        FindingId.PAGE_UNCACHED,
        rows,
        saving_us or None,
        evidence=facts(
            files=tuple(f"{named(row)}, {_policy(row)}" for row in rows[:FILES_NAMED]),
            requests=len(rows),
            again_bytes=again_bytes or None,
            seen_in_repeat_view=seen or None,
        ),
    )
    # It is no new visitor's time.
    yield replace(found, severity=Severity.MEDIUM) if severity(saving_us) is Severity.HIGH else found


def lifetime_s(row: Request) -> int | None:
    """How long a browser may use the answer without waiting for the server (RFC 9111, 4.2, and RFC 5861, 3); None where
    it cannot be told.
    """
    if not row.response_headers:
        return None
    words = _words(header(row, "cache-control"))
    # With an argument `no-cache` speaks of some headers alone.
    forbidden = (words.get("no-store"), words.get("no-cache"), _words(header(row, "pragma")).get("no-cache"))
    if "" in forbidden or _fits_no_request(row):
        return 0
    strict = "must-revalidate" in words
    fresh_s = _fresh_s(row, words, strict=strict)
    if fresh_s is None:
        return None
    # Then the browser asks, and shows what it has without waiting for the answer.
    kept_s = fresh_s + (0 if strict else _seconds(words, "stale-while-revalidate") or 0)
    # A cache on the way may have kept it for longer than browsers may: then it is stale when it comes. What is left
    # of a day otherwise is the chance of the moment.
    return kept_s if (_seconds(_words(f"age={header(row, 'age')}"), "age") or 0) < kept_s else 0


def _words(value: str | None) -> dict[str, str]:
    """The directives of a header with their arguments, as they are; of one that is said twice the first counts."""
    parts = (word.strip().lower().partition("=") for word in reversed((value or "").split(",")))
    return {name: argument.strip() for name, _, argument in parts}


def _seconds(words: Mapping[str, str], name: str) -> int | None:
    """None where it is not said, or not in digits alone: Chromium passes that over, in quotes too."""
    text = words.get(name, "")
    return min(int(text[:_MAX_DIGITS]), _MAX_S) if text.isascii() and text.isdigit() else None


def _fits_no_request(row: Request) -> bool:
    """Vary: * says that no later request can be answered with it unseen."""
    return "*" in _words(header(row, "vary"))


def _fresh_s(row: Request, words: Mapping[str, str], *, strict: bool) -> int | None:
    max_age_s = _seconds(words, "max-age")
    if max_age_s is not None:
        return max_age_s
    if (expires := header(row, "expires")) is not None:
        # What is no date has passed. Without the answer's own nobody knows here when it came.
        return 0 if http_date(expires) is None else _between_s(row, "date", "expires")
    if header(row, "last-modified") is not None and not strict:
        age_s = _between_s(row, "last-modified", "date")
        return None if age_s is None else int(age_s * _HEURISTIC)
    return 0


def _is_asked_again(row: Request) -> bool:
    if row.resource_type not in _STATIC or row.method != "GET" or row.status != 200:
        return False
    if row.resource_type is ResourceType.IMAGE and (row.body_bytes or 0) < _MIN_PICTURE_BYTES:
        return False
    if any(one.name.lower() == _OF_SERVICE_WORKER for one in row.request_headers):
        return False
    lifetime = lifetime_s(row)
    return lifetime is not None and lifetime < SHORT_S


def _kept_by_worker(case: PageCase) -> frozenset[str]:
    """What a service worker of the page keeps by itself: it fetched that without being asked for it, or gave it to the
    second view without fetching it."""
    fetched, given = _of_worker(case.page.waterfall)
    fetched_again, given_again = (set(), set()) if case.page.repeat is None else _of_worker(case.page.repeat.waterfall)
    return frozenset((fetched - given) | (given_again - fetched_again))


def _of_worker(waterfall: Waterfall) -> tuple[set[str], set[str]]:
    """The addresses that service workers fetched, and those that they answered for."""
    fetched = {row.url for row in waterfall.requests if RowFlag.SERVICE_WORKER in row.flags}
    return fetched, {row.url for row in waterfall.requests if _is_given(row)}


def _is_given(row: Request) -> bool:
    """By a service worker, for which the page waits as long as that does."""
    return row.served_from is ServedFrom.SERVICE_WORKER


def _has_validator(row: Request) -> bool:
    """Whether a browser can ask if it has changed: an instant says nothing of an answer that fits no other request."""
    if "no-store" in (header(row, "cache-control") or "").lower():
        return False
    return header(row, "etag") is not None or (header(row, "last-modified") is not None and not _fits_no_request(row))


def _is_seen(case: PageCase, rows: Sequence[Request]) -> bool:
    """Whether the second view asked for all of these again. What may be kept for minutes it did not ask for: it came
    seconds later, and visitors come the next day.
    """
    repeat = case.page.repeat
    if repeat is None or repeat.state is PageState.COLD:
        return False
    again = {row.url for row in repeat.waterfall.requests if is_answered(row)}
    return bool(rows) and all(row.url in again for row in rows)


def _measured_us(case: PageCase, rows: Sequence[Request]) -> int:
    """What the first paint of the second view would gain if those that were asked for again came from its disk."""
    repeat = case.page.repeat
    if repeat is None:
        return 0
    view = replace(case.page, waterfall=repeat.waterfall, vitals=repeat.vitals, document=repeat.document)
    addresses = {row.url for row in rows}
    again = [row for row in view.waterfall.requests if row.url in addresses and (is_answered(row) or _is_given(row))]
    ends = {row.number: (row.timing.end_us or 0) - row.timing.start_us for row in again}
    return PaintPath.of(view).gain_us({number: us - _FROM_DISK_US for number, us in ends.items() if us > _FROM_DISK_US})


def _modelled_us(case: PageCase, rows: Sequence[Request]) -> int:
    """Of files that the first paint waits for: how long that of a second view would wait for the slowest of them.

    They are asked for as early as they were here, after the connection that they waited for; one that has not changed
    costs the question alone. What the page works meanwhile it works again, and what else comes again, as a stranger's
    script, it waits for all the same.
    """
    blocking = [row for row in rows if row.number in case.paint.blocking]
    document = case.document
    if not blocking or document is None or not case.paint.sure:
        return 0
    numbers = {row.number for row in blocking}
    others = (_again_us(case, row) for row in case.blocking if row.number not in numbers and not _is_kept(row))
    held_us = max(document.timing.end_us or 0, case.paint.without_us(case.blocking), *others)
    known_us = max(held_us, *(row.timing.start_us for row in blocking))
    return max(0, max(_again_us(case, row) for row in blocking) - known_us)


def _is_kept(row: Request) -> bool:
    """Whether it certainly does not come again the next day."""
    lifetime = lifetime_s(row)
    return lifetime is not None and lifetime >= SHORT_S and row.failure is None


def _again_us(case: PageCase, row: Request) -> int:
    """When a file would be there that is asked for once more."""
    return row.timing.start_us + _opening_us(case, row) + _asking_us(case, row)


def _opening_us(case: PageCase, row: Request) -> int:
    """How long it waits for its connection again, which takes a resumed session one flight of the server."""
    waited_us, connection = case.waited_us(row), case.connection_of(row)
    if connection is None or connection.resumed:
        return waited_us
    return max(0, waited_us - trip_us(connection) * max(0, (connection.tls_round_trips or 1) - 1))


def _asking_us(case: PageCase, row: Request) -> int:
    """Of an answer that is larger than a first flight the first byte may come with the second, with the end of a record
    that was too large for it; that it has not changed comes with the first."""
    timing = row.timing
    if not _has_validator(row):
        return sum(span.duration_us for span in (timing.send, timing.wait, timing.download) if span is not None)
    sent_us, waited_us = (0 if span is None else span.duration_us for span in (timing.send, timing.wait))
    trip, is_large = case.trip_us(row), (row.transferred_bytes or 0) > FIRST_FLIGHT_BYTES
    return sent_us + (min(waited_us, max(trip, waited_us - trip)) if is_large else waited_us)


def _policy(row: Request) -> str:
    policy, age = header(row, "cache-control"), header(row, "age")
    if policy is not None:
        return policy[:60] if age is None else f"{policy[:60]}, Age: {age[:12]}"
    if header(row, "expires") is not None:
        return f"Expires: {header(row, 'expires')}"[:60]
    return "no Cache-Control"


def _between_s(row: Request, earlier: str, later: str) -> int | None:
    end, begin = http_date(header(row, later) or ""), http_date(header(row, earlier) or "")
    return None if end is None or begin is None else max(0, int((end - begin).total_seconds()))
