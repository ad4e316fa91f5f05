"""What waits for a file, from the words that Chrome and other tools have for it."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from workers.measurement.waterfall import Blocking, Place, Request, ResourceType, RowFlag, ServedFrom

# DevTools writes "InBodyParserBlocking", traces and archives "in_body_parser_blocking".
_WORDS = {str(blocking).replace("_", ""): blocking for blocking in Blocking} | {
    "renderblocking": Blocking.RENDERING,
    "dynamicallyinjectednonblocking": Blocking.NOTHING_INSERTED,
}


def blocking_of(word: object) -> Blocking | None:
    """None for a word that is not known."""
    return _WORDS.get(word.replace("_", "").lower()) if isinstance(word, str) else None


def blocks_rendering(blocking: Blocking | None) -> bool | None:
    """Whether every paint waits for it."""
    return None if blocking is None else blocking is Blocking.RENDERING


def with_places(rows: Iterable[Request], document: int | None, body: Place | None) -> Iterator[Request]:
    """The rows, with what the document's body names as such: where a document comes in pieces, Chrome looks ahead in
    each as if it were all head (its preload scanner forgets the body between two pieces)."""
    rows = tuple(rows)
    main = next((row.url for row in rows if row.number == document), None)
    for row in rows:
        in_body = body is not None and row.initiator_url == main and (row.initiator_at or body) > body
        is_called_so = in_body and row.blocking is Blocking.RENDERING
        yield replace(row, blocking=Blocking.PARSER, render_blocking=False) if is_called_so else row


def with_preloads(rows: Iterable[Request], held_up: Collection[str]) -> Iterator[Request]:
    """The rows, with the style sheets that were preloaded and then held the paint up as such: DevTools tells of a
    request what waits for it as it begins, and for a preload nothing does yet. `held_up` is what Resource Timing says
    in the end, of a redirect by the address that was asked for: what it led to is held for as well, and begins where it
    ends. Of scripts it says so in the body too, where they may hold up nothing that is seen."""
    held_up = {url.partition("#")[0] for url in held_up}
    led: set[tuple[str | None, int | None]] = set()
    for row in rows:
        is_sheet = row.resource_type is ResourceType.STYLESHEET and RowFlag.PRELOAD in row.flags
        is_named = row.url in held_up or (row.url, row.timing.start_us) in led
        is_held = is_sheet and is_named and row.blocking in (Blocking.NOTHING, Blocking.RENDERING)
        if is_held:
            led.add((row.redirected_to, row.timing.end_us))
        yield replace(row, blocking=Blocking.RENDERING, render_blocking=True) if is_held else row


def with_hinted(rows: Iterable[Request]) -> Iterator[Request]:
    """The rows, where the paint waits for what early hints asked for: of such a request Chrome tells nothing, and of
    the one for the tag that it came out of the cache, however long that waited for the first."""
    rows = tuple(rows)
    taking = {row.url: row for row in rows if _takes_from_cache(row)}
    hinted = {row.number: taking[row.url].number for row in rows if _is_awaited(row, taking.get(row.url))}
    taken = frozenset(hinted.values())
    for row in rows:
        if row.number in hinted:
            yield replace(row, blocking=Blocking.RENDERING, render_blocking=True)
        elif row.number in taken:
            yield replace(row, blocking=Blocking.NOTHING, render_blocking=False)
        else:
            yield row


def _takes_from_cache(row: Request) -> bool:
    is_pages_own = row.blocking is Blocking.RENDERING and RowFlag.FRAME not in row.flags
    return is_pages_own and row.served_from is ServedFrom.DISK_CACHE


def _is_awaited(row: Request, taking: Request | None) -> bool:
    is_hinted = RowFlag.PRELOAD in row.flags and row.blocking is None and row.served_from is ServedFrom.NETWORK
    if taking is None or not is_hinted:
        return False
    return row.timing.start_us <= taking.timing.start_us < (row.timing.end_us or 0)
