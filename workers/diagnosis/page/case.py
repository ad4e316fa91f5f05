"""What every rule of pages is given: one load under judgement, whose hosts are whose, and the way to its paints."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from workers.diagnosis.page.burst import Burst
from workers.diagnosis.page.hosts import opening_us, ready_us, trip_us, waited_us
from workers.diagnosis.page.largest_paint import LargestPaint
from workers.diagnosis.page.layout import Layout
from workers.diagnosis.page.paths import PaintPath, shows_nothing
from workers.diagnosis.page.pauses import idle_pauses
from workers.diagnosis.page.preloads import unused_addresses
from workers.measurement.connection import Connection, Pause
from workers.measurement.domains import cdn_of_name, registrable
from workers.measurement.finding import (
    Confidence,
    Fact,
    Finding,
    FindingId,
    NotJudged,
    NotJudgedReason,
    Severity,
    Together,
)
from workers.measurement.messages import PageMeasurement
from workers.measurement.waterfall import Request, ResourceType, RowFlag, ServedFrom, TimingSource
from workers.measurement.web_address import host_of

# Whether a host is the site's own to change; third parties' are not.
IsOwn = Callable[[str], bool]
HIGH_US = 200_000
MEDIUM_US = 50_000
# A finding speaks of so many rows by number.
MAX_ROWS = 30
_LINK = re.compile(r"<([^<>]{1,2048})>([^,<]{0,500})")
_OTHERS = frozenset({RowFlag.FRAME, RowFlag.WORKER, RowFlag.SERVICE_WORKER})
_NOBODYS = frozenset({RowFlag.BROWSER_INTERNAL, RowFlag.PREFLIGHT})


@dataclass(frozen=True, kw_only=True)
class PageCase:
    """One load. `own` says which hosts are the site's. What a rule has claimed of a path no other claims again."""

    page: PageMeasurement
    own: IsOwn

    @cached_property
    def document(self) -> Request | None:
        return next((row for row in self.page.waterfall.requests if row.number == self.page.document), None)

    @cached_property
    def rows(self) -> tuple[Request, ...]:
        """What the page itself asked the network for, and got."""
        return tuple(row for row in self.page.waterfall.requests if is_answered(row))

    @cached_property
    def unused(self) -> tuple[Request, ...]:
        """What a hint in the page's own document or headers had come, and the page never took. Where it asked for the
        address once more, as of another kind, it needed what came."""
        asked = Counter(row.url for row in self.page.waterfall.requests)
        ours = (row for row in self.rows if RowFlag.PRELOAD in row.flags and not _OTHERS & set(row.flags))
        named = [row for row in ours if row.initiator_url is None or self.own(host_of(row.initiator_url))]
        never = unused_addresses(self.page.console) if named else frozenset()
        return tuple(row for row in named if row.url in never and asked[row.url] == 1)

    @cached_property
    def rows_by_host(self) -> dict[str, list[Request]]:
        """All of them, also what came to nothing."""
        found: dict[str, list[Request]] = {}
        for row in self.page.waterfall.requests:
            found.setdefault(host_of(row.url), []).append(row)
        return found

    @cached_property
    def _pauses(self) -> dict[int | None, tuple[Pause, ...]]:
        return idle_pauses(self.page.waterfall)

    @cached_property
    def paused(self) -> Mapping[int | None, tuple[Pause, ...]]:
        """By the number of each connection, where anybody looked, when nothing came over it."""
        return {one.number: one.pauses for one in self.page.waterfall.connections if one.pauses is not None}

    def pauses_of(self, row: Request) -> tuple[Pause, ...]:
        """When nothing came over its connection, nor over another one."""
        return self._pauses.get(row.connection, ())

    @cached_property
    def _layouts(self) -> dict[str, Layout]:
        """By host."""
        return {
            host: Layout(rows=rows, trip_us=self.trip_us, paused=self.paused, idle=self._pauses)
            for host, rows in self.rows_by_host.items()
        }

    def burst_of(self, row: Request) -> Burst | None:
        """What came of its host while it did, and while that did; None where it brought nothing."""
        return self._layouts[host_of(row.url)].burst_of(row)

    @cached_property
    def _together(self) -> dict[tuple[int | None, str], list[Request]]:
        found: dict[tuple[int | None, str], list[Request]] = {}
        for row in self.rows:
            found.setdefault(_way_of(row), []).append(row)
        return found

    def together_with(self, row: Request) -> Sequence[Request]:
        """What came over its connection, with itself where it came; where it names none, what came of its host."""
        return self._together.get(_way_of(row), ())

    def are_together(self, one: Request, other: Request) -> bool:
        return _way_of(one) == _way_of(other)

    @cached_property
    def _carried_rates(self) -> dict[int | None, float]:
        found: dict[int | None, float] = {}
        for (number, _), rows in self._together.items():
            if (pauses := self.paused.get(number)) is not None:
                layout = Layout(rows=rows, trip_us=self.trip_us, paused={number: pauses})
                found[number] = layout.carried_rate(pauses)
        return found

    def carried_rate(self, row: Request) -> float:
        """The most bytes in a microsecond that its connection was seen to bring between its pauses of what came
        together; 0 where too little came to tell, or nobody looked."""
        return self._carried_rates.get(row.connection, 0.0)

    @cached_property
    def paint(self) -> PaintPath:
        """The way to the first paint."""
        return PaintPath.of(self.page)

    @cached_property
    def blocking(self) -> tuple[Request, ...]:
        """What the first paint waited for since it blocks rendering, or the parser ahead of all that is shown. A
        browser waits for an error as for an answer."""
        rows = [row for row in self.page.waterfall.requests if row.number in self.paint.blocking]
        came = (row for row in rows if row.served_from is ServedFrom.NETWORK or row.number in self.paint.shared)
        return tuple(row for row in came if not _NOBODYS & set(row.flags))

    def may_make_page(self, row: Request) -> bool:
        """Whether a script may have made what was painted first: then it is shown no sooner for blocking nothing."""
        return row.resource_type is ResourceType.SCRIPT and shows_nothing(self.page)

    @cached_property
    def largest(self) -> LargestPaint | None:
        """The way from the first paint to the largest, where that waited for a picture or a font from the network."""
        return LargestPaint.of(self.page)

    @cached_property
    def hint_us(self) -> int | None:
        """When a hint in the head of the document would have been obeyed: as soon as the first other thing that the
        page asked for, since a busy machine reads late what came early, and before anything was painted."""
        came_us = None if self.document is None else self.document.timing.first_byte_us
        if came_us is None:
            return None
        asked = (row.timing.start_us for row in self.page.waterfall.requests if row.timing.start_us >= came_us)
        vitals = self.page.vitals
        read = [at_us for at_us in (*asked, vitals.fcp_us, vitals.dom_interactive_us) if at_us is not None]
        return max(came_us, min(read, default=came_us))

    @cached_property
    def hinted(self) -> frozenset[str]:
        """The hosts that the page asks to connect to ahead, in its document or its headers. The measuring browser
        does not obey, a visitor's does."""
        links = "" if self.document is None else header(self.document, "link") or ""
        named = (found[1] for found in _LINK.finditer(links) if "preconnect" in found[2].lower())
        return frozenset({*(self.page.hints or ()), *map(host_of, named)})

    @cached_property
    def _connections(self) -> dict[int, Connection]:
        return {one.number: one for one in self.page.waterfall.connections}

    def waited_us(self, row: Request) -> int:
        """How long a row waited for the opening of its connection."""
        return waited_us(row, self._connections.get(row.connection or 0))

    def would_wait_us(self, row: Request, asked_us: int) -> int:
        """How long a row that found its connection open would have waited for that, asked for at an instant before."""
        connection = self.connection_of(row)
        if connection is None or self.waited_us(row):
            return 0
        return max(0, min(opening_us(connection), (ready_us(connection) or 0) - asked_us))

    def sooner_without(self, connections: Iterable[Connection]) -> dict[int, int]:
        """By how much sooner each request that waits for one of these would come, had they been open before."""
        numbers = {one.number for one in connections}
        waiting = (row for row in self.page.waterfall.requests if row.connection in numbers)
        return {row.number: gained for row in waiting if (gained := self.waited_us(row))}

    def sooner_over(self, first: Connection, others: Iterable[Connection]) -> dict[int, int]:
        """The same, had they gone over the first connection, for which some would have had to wait too."""
        open_us = ready_us(first) or 0
        lost = {row.number: open_us - row.timing.start_us for row in self.page.waterfall.requests}
        gained = {number: us - max(0, lost[number]) for number, us in self.sooner_without(others).items()}
        return {number: us for number, us in gained.items() if us > 0}

    def connection_of(self, row: Request) -> Connection | None:
        return self._connections.get(row.connection or 0)

    def trip_us(self, row: Request) -> int:
        """A round trip to who answered a row, by the quickest connection to its host where its own does not tell; 0
        where none does."""
        return self.trip_over_us(self.connection_of(row)) or self._trips_to_us.get(host_of(row.url), 0)

    @cached_property
    def _trips_to_us(self) -> dict[str, int]:
        """By host over the quickest connection to it that tells."""
        found: dict[str, int] = {}
        for one in self.page.waterfall.connections:
            if trip := self.trip_over_us(one):
                found[one.host] = min(trip, found.get(one.host, trip))
        return found

    def trip_over_us(self, connection: Connection | None) -> int:
        """The same over a connection. QUIC's handshake takes two where a server may not send all of its certificates
        before it knows the client (RFC 9000, 8.1), and no answer comes sooner than in one."""
        trip = trip_us(connection)
        if connection is None or connection.protocol != "h3":
            return trip
        return min(trip, self._quickest_us.get(connection.number, trip))

    @cached_property
    def _quickest_us(self) -> dict[int | None, int]:
        """By connection how long its quickest answer was waited for."""
        found: dict[int | None, int] = {}
        for row in self.rows:
            wait_us = 0 if row.timing.wait is None else row.timing.wait.duration_us
            if wait_us:
                found[row.connection] = min(wait_us, found.get(row.connection, wait_us))
        return found

    def is_third_party(self, row: Request) -> bool:
        """Whether it is certainly somebody else's: a name at a CDN may be the owner's."""
        host = host_of(row.url)
        return bool(host) and not self.own(host) and cdn_of_name(host) is None


def case_of(page: PageMeasurement, own: IsOwn | None = None) -> PageCase | None:
    """None without a document: then there is no page to judge. `own` is what belongs to the document's domain."""
    case = PageCase(page=_with_connections(page), own=own or bool)
    main = "" if case.document is None else host_of(case.document.url)
    return replace(case, own=_with(main, own or below(main))) if main else None


def below(main: str) -> IsOwn:
    """Names of the same owner as `main`, as far as names tell."""
    domain, registered = main.removeprefix("www."), registrable(main)
    return lambda host: host == domain or host.endswith(f".{domain}") or registrable(host) == registered


def _with_connections(page: PageMeasurement) -> PageMeasurement:
    """With what files of some tools do not say, as Firefox's: a row that opened no connection came over the only one
    that its host had."""
    opened: dict[str, list[Connection]] = {}
    for connection in page.waterfall.connections:
        opened.setdefault(connection.host, []).append(connection)
    rows = tuple(_over_only(row, opened.get(host_of(row.url), ())) for row in page.waterfall.requests)
    return replace(page, waterfall=replace(page.waterfall, requests=rows))


def _over_only(row: Request, opened: Sequence[Connection]) -> Request:
    is_open = row.connection is None and row.served_from is ServedFrom.NETWORK and len(opened) == 1
    if not is_open or row.timing_source is not TimingSource.ARCHIVE or row.protocol != opened[0].protocol:
        return row
    return replace(row, connection=opened[0].number, reused=True)


def _with(main: str, own: IsOwn) -> IsOwn:
    return lambda host: host == main or own(host)


def _way_of(row: Request) -> tuple[int | None, str]:
    return row.connection, host_of(row.url) if row.connection is None else ""


def is_answered(row: Request) -> bool:
    if row.served_from is not ServedFrom.NETWORK or row.timing.end_us is None or row.failure is not None:
        return False
    return row.status is not None and not _NOBODYS & set(row.flags)


def header(row: Request, name: str) -> str | None:
    """All lines of the answer's header of this name (lower case), joined as RFC 9110 allows."""
    lines = [one.value for one in row.response_headers if one.name.lower() == name]
    return ", ".join(lines) if lines else None


def numbers_of(rows: Iterable[Request]) -> tuple[int, ...]:
    """Of the first thirty."""
    return tuple(row.number for row in rows)[:MAX_ROWS]


def told(
    id: FindingId,
    rows: Iterable[Request],
    saving_us: int | None,
    *,
    evidence: tuple[Fact, ...],
    host: str | None = None,
    together: Together | None = None,
) -> Finding:
    """A finding of a page: one load shows it, so it is never told with high confidence."""
    found = Finding(
        id=id,
        severity=severity(saving_us),
        confidence=Confidence.MEDIUM,
        saving_us=saving_us,
        evidence=evidence,
        host=host,
        rows=numbers_of(rows),
        together=together,
    )
    return found if together is None else replace(found, severity=severity(found.share_us))


def severity(saving_us: int | None) -> Severity:
    if (saving_us or 0) >= HIGH_US:
        return Severity.HIGH
    return Severity.MEDIUM if (saving_us or 0) >= MEDIUM_US else Severity.LOW


def unjudged(id: FindingId, reason: NotJudgedReason = NotJudgedReason.PAINT_ELSEWHERE) -> NotJudged:
    return NotJudged(id=id, reason=reason)
