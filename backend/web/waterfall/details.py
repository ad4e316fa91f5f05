"""What the side panel says of one row: phases that add up, facts, headers, the connection and its certificate."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from backend.web.units import duration, parts_text, size, total_text
from backend.web.waterfall.connections import hosts_on
from backend.web.waterfall.flags import FLAG_SENTENCES
from backend.web.waterfall.segments import PHASE_NAMES, Phase, Segment, ahead_of, segments_of, total_name
from backend.web.waterfall.shapes import LEGEND
from backend.web.waterfall.text import as_said, authority, host_of, name_of, printable
from workers.measurement.certificate import Certificate
from workers.measurement.connection import Connection, Header, Pause
from workers.measurement.messages import Hop, PageMeasurement
from workers.measurement.timing import Span, Timing, phases_of
from workers.measurement.waterfall import Blocking, Request

MAX_HEADERS = 100
MAX_CAUSES = 12
MAX_TRAVELS = 200
# What says whether a cache answered, and which (RFC 9111, RFC 9211, and the usual names of content networks).
_CACHE_HEADERS = ("age", "cache-control", "cache-status", "x-cache", "cf-cache-status", "etag", "via", "server-timing")
# What DevTools' protocol calls priorities, as DevTools shows them; what other tools wrote is as they wrote it.
# The others say yes or no.
_BLOCKS: dict[Blocking | None, str] = {
    Blocking.PARSER: "only what stands behind it in the page",
    Blocking.MAYBE: "if it is there before the first paint",
}
_PRIORITIES = {"VeryLow": "lowest", "Low": "low", "Medium": "medium", "High": "high", "VeryHigh": "highest"}
_SUM = "The phases add up to the total; “Waiting” includes sending the request."
_SUM_UNTIL_LEFT = "The load was left then; the phases add up to that. “Waiting” includes sending the request."
_SUM_OF_SEEN = "Its end was not seen; the phases add up to what was. “Waiting” includes sending the request."


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    name: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseLine:
    """One line of the sum; the texts of all lines add up to the total's text."""

    phase: Phase
    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Another row of the same page: one that asked for this one, or that travelled over this connection."""

    number: int
    name: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """One request, hop or connection.

    `ahead` says in words what was done before it was asked for, empty when nothing was. `total_name` and `sum_note`
    tell what the total is the sum of. `causes` leads from the one that asked for this up to the document; `remarks`
    tell what is special. `travels` are the first of the requests on a connection, `travelled` how many there are.
    `expanded` asks for the connection and the certificate to be unfolded.
    """

    number: int
    name: str
    host: str
    url: str
    phases: tuple[PhaseLine, ...]
    total: str
    ahead: str
    facts: tuple[Fact, ...]
    cache: tuple[Fact, ...]
    connection: tuple[Fact, ...]
    certificate: tuple[Fact, ...]
    request_headers: tuple[Header, ...]
    response_headers: tuple[Header, ...]
    causes: tuple[Cause, ...] = ()
    travels: tuple[Cause, ...] = ()
    travelled: int = 0
    remarks: tuple[str, ...] = ()
    total_name: str = "Total"
    sum_note: str
    expanded: bool = False


def request_details(page: PageMeasurement, number: int) -> Details | None:
    """The details of one request of a page, None when there is no such request."""
    request = next((request for request in page.waterfall.requests if request.number == number), None)
    if request is None:
        return None
    connection = next((c for c in page.waterfall.connections if c.number == request.connection), None)
    still_open = page.waterfall.open_span(request)
    phases, total = phase_lines(request.timing, still_open, is_quic=request.protocol == "h3")
    return Details(
        number=request.number,
        name=name_of(request.url),
        host=host_of(request.url),
        url=printable(request.url),
        phases=phases,
        total=total,
        total_name=total_name(request.timing, still_open),
        sum_note=_sum_note(request.timing, still_open),
        ahead=_ahead_text(request.timing),
        facts=_facts(_request_facts(request)),
        cache=_cache_facts(request.response_headers),
        connection=connection_facts(connection) if connection else (),
        certificate=certificate_facts(connection) if connection else (),
        request_headers=_headers(request.request_headers),
        response_headers=_headers(request.response_headers),
        causes=initiators_of(page, request),
        remarks=tuple(FLAG_SENTENCES[flag] for flag in request.flags),
    )


def initiators_of(page: PageMeasurement, request: Request) -> tuple[Cause, ...]:
    """Who asked for a request, who asked for that one, and so on up to the document; bounded, and never in a circle.

    Of several requests for one address it is the last that had begun by then.
    """
    chain: list[Request] = []
    current = request
    while current.initiator_url and len(chain) < MAX_CAUSES:
        before = [
            one
            for one in page.waterfall.requests
            if one.url == current.initiator_url
            and one.number != current.number
            and one not in chain
            and one.timing.start_us <= current.timing.start_us
        ]
        if not before:
            break
        current = max(before, key=lambda one: (one.timing.start_us, one.number))
        if current.number == request.number:
            break
        chain.append(current)
    return tuple(
        Cause(number=one.number, name=name_of(one.url), note=f"{one.resource_type.value} from {host_of(one.url)}")
        for one in chain
    )


def hop_details(number: int, hop: Hop, connection: Connection | None) -> Details:
    """The details of one hop of a probe."""
    phases, total = phase_lines(hop.timing)
    return Details(
        number=number,
        name=name_of(hop.url),
        host=host_of(hop.url),
        url=printable(hop.url),
        phases=phases,
        total=total,
        total_name=total_name(hop.timing),
        sum_note=_sum_note(hop.timing),
        ahead=_ahead_text(hop.timing),
        facts=_facts(
            [
                ("Status", None if hop.status is None else str(hop.status)),
                ("Head", None if hop.head_bytes is None else size(hop.head_bytes)),
                ("Body", None if hop.body_bytes is None else size(hop.body_bytes)),
            ]
        ),
        cache=_cache_facts(hop.response_headers),
        connection=connection_facts(connection) if connection else (),
        certificate=certificate_facts(connection) if connection else (),
        request_headers=(),
        response_headers=_headers(hop.response_headers),
        expanded=True,
    )


def connection_details(page: PageMeasurement, number: int) -> Details | None:
    """The details of one connection of a page: how it was set up, and what travelled over it."""
    connection = next((c for c in page.waterfall.connections if c.number == number), None)
    if connection is None:
        return None
    phases, total = phase_lines(_setup_timing(connection), is_quic=connection.protocol == "h3")
    used_by = [request for request in page.waterfall.requests if request.connection == number]
    return Details(
        number=connection.number,
        name=printable(connection.host, 120),
        host=printable(connection.address or "", 60),
        url=authority(connection.host, connection.port),
        phases=phases,
        total=total,
        ahead="",
        facts=_facts([("Hosts on it", ", ".join(hosts_on(connection, used_by)))]),
        cache=(),
        connection=connection_facts(connection),
        certificate=certificate_facts(connection),
        request_headers=(),
        response_headers=(),
        travels=tuple(_travel(request) for request in used_by[:MAX_TRAVELS]),
        travelled=len(used_by),
        sum_note="What it took to open this connection; the phases add up to the total.",
        expanded=True,
    )


def _travel(request: Request) -> Cause:
    phases = phases_of(request.timing)
    parts = [("waited", phases.wait_us), ("received", phases.download_us)]
    note = ", ".join(f"{word} {duration(us)}" for word, us in parts if us is not None)
    return Cause(number=request.number, name=name_of(request.url), note=note)


def _setup_timing(connection: Connection) -> Timing:
    spans = [span for span in (connection.dns, connection.connect, connection.tls) if span is not None]
    return Timing(
        start_us=min((span.start_us for span in spans), default=0),
        end_us=max((span.end_us for span in spans), default=0),
        dns=connection.dns,
        connect=connection.connect,
        tls=connection.tls,
    )


def phase_lines(
    timing: Timing, still_open: Span | None = None, *, is_quic: bool = False
) -> tuple[tuple[PhaseLine, ...], str]:
    """The phases of one exchange in their usual order, and their total, as text that adds up as it stands.

    QUIC connects and secures in one handshake, which stands where TLS does elsewhere.
    """
    names = PHASE_NAMES | {"tls": "QUIC handshake"} if is_quic else PHASE_NAMES
    sums = _sums(segments_of(timing, still_open))
    present = [phase for phase in LEGEND if phase in sums]
    parts_us = [sums[phase] for phase in present]
    lines = zip(present, parts_text(parts_us), strict=True)
    return tuple(PhaseLine(phase=phase, name=names[phase], text=text) for phase, text in lines), total_text(parts_us)


def _sum_note(timing: Timing, still_open: Span | None = None) -> str:
    if still_open is not None:
        return _SUM_UNTIL_LEFT
    return _SUM if timing.end_us is not None else _SUM_OF_SEEN


def connection_facts(connection: Connection) -> tuple[Fact, ...]:
    """How the connection was made, without its certificate."""
    round_trips = connection.tls_round_trips
    return _facts(
        [
            ("Connection", f"#{connection.number} to {authority(connection.host, connection.port)}"),
            ("Address", connection.address),
            ("Protocol", connection.protocol),
            ("Network round trip", None if connection.rtt_us is None else duration(connection.rtt_us)),
            ("TLS", connection.tls_version),
            ("TLS round trips", None if round_trips is None else str(round_trips)),
            ("Cipher", connection.cipher),
            ("Session resumed", _yes_no(connection.resumed)),
            ("Opened ahead", "yes" if connection.preconnected else None),
            ("Requests on it", str(connection.requests)),
            ("Received", None if connection.received_bytes is None else size(connection.received_bytes)),
            ("Nothing came for", _paused(connection.pauses or ())),
        ]
    )


def _paused(pauses: Sequence[Pause]) -> str | None:
    whole_us = sum(pause.span.duration_us for pause in pauses)
    number = f"{len(pauses)} pause{'' if len(pauses) == 1 else 's'}"
    return f"{duration(whole_us)} of its answers, in {number}" if pauses else None


def certificate_facts(connection: Connection) -> tuple[Fact, ...]:
    """What the server's certificate says; empty for a connection without one."""
    certificate = connection.certificate
    fault = [("Verification", connection.certificate_error)]
    return _facts([*fault, *_certificate_pairs(certificate)] if certificate else fault)


def _certificate_pairs(certificate: Certificate) -> list[tuple[str, str | None]]:
    names = ", ".join(certificate.names[:8])
    more = f" and {len(certificate.names) - 8} more" if len(certificate.names) > 8 else ""
    key = " ".join(str(part) for part in (certificate.key_type, certificate.key_bits) if part is not None)
    chain = (
        ""
        if certificate.chain_length is None
        else f"{certificate.chain_length} certificate{'' if certificate.chain_length == 1 else 's'},"
        f" {size(certificate.chain_bytes)}"
    )
    return [
        ("Issued to", certificate.subject),
        ("Names", names + more),
        ("Issuer", certificate.issuer),
        ("Valid from", _day(certificate.not_before)),
        ("Valid until", _day(certificate.not_after)),
        ("Key", key),
        ("Chain sent", chain),
        ("SHA-256", certificate.sha256),
    ]


def _request_facts(request: Request) -> list[tuple[str, str | None]]:
    reuse = {True: "reused", False: "new", None: None}[request.reused]
    connection = None if request.connection is None else f"#{request.connection}{f', {reuse}' if reuse else ''}"
    return [
        ("Method", None if request.method == "GET" else request.method),
        ("Status", None if request.status is None else str(request.status)),
        ("Failure", request.failure),
        ("Type", request.mime_type or request.resource_type.value),
        ("Protocol", request.protocol),
        ("Connection", connection),
        ("Server address", request.address),
        (
            "Served from",
            None if request.served_from.value == "network" else request.served_from.value.replace("_", " "),
        ),
        ("Size", _size(request)),
        ("Priority", _PRIORITIES.get(request.priority or "", request.priority)),
        ("Blocks rendering", _BLOCKS.get(request.blocking) or _yes_no(request.render_blocking)),
        ("Redirects to", request.redirected_to),
        ("Asked for by", _initiator(request)),
        ("Begins at", duration(request.timing.start_us)),
        ("Timing from", "DevTools events, less exact" if request.timing_source.value == "cdp" else None),
    ]


def _initiator(request: Request) -> str | None:
    """With the place of the tag, as an editor shows it."""
    if request.initiator_at is None:
        return request.initiator_url
    line, column = request.initiator_at
    return f"{request.initiator_url}, line {line}, column {column}"


def _size(request: Request) -> str | None:
    """What came over the wire, where a small body's head may weigh more than its packing saves, and what it held."""
    if request.transferred_bytes is None:
        return None if request.body_bytes is None else size(request.body_bytes)
    if request.body_bytes is None:
        return size(request.transferred_bytes)
    encoding = next((h.value for h in request.response_headers if h.name.lower() == "content-encoding"), "")
    packed = f", packed with {encoding}" if encoding else ""
    head = " with its head" if request.transferred_bytes else ""
    return f"{size(request.transferred_bytes)}{head}; body of {size(request.body_bytes)}{packed}"


def _sums(segments: Sequence[Segment]) -> dict[Phase, int]:
    sums: dict[Phase, int] = {}
    for segment in segments:
        sums[segment.phase] = sums.get(segment.phase, 0) + segment.duration_us
    return sums


def _ahead_text(timing: Timing) -> str:
    sums = _sums(ahead_of(timing))
    return ", ".join(f"{PHASE_NAMES[phase]} {duration(us)}" for phase, us in sums.items())


def _cache_facts(headers: Sequence[Header]) -> tuple[Fact, ...]:
    return _facts((h.name, h.value) for h in headers if h.name.lower() in _CACHE_HEADERS)


def _headers(headers: Sequence[Header]) -> tuple[Header, ...]:
    return tuple(Header(name=as_said(h.name, 200), value=as_said(h.value)) for h in headers[:MAX_HEADERS])


def _facts(pairs: Iterable[tuple[str, str | None]]) -> tuple[Fact, ...]:
    return tuple(Fact(name=printable(name, 100), value=printable(value)) for name, value in pairs if value)


def _yes_no(value: bool | None) -> str | None:
    return None if value is None else "yes" if value else "no"


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}"
