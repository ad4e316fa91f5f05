"""A page's waterfall and vitals from its capture. Pure: the same capture always gives the same page.

Zero is the start of the first navigation. Rows are in the order in which the page asked; a redirect is a row of its
own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from workers.measurement.captures_page import BodySeen, PageCapture
from workers.measurement.certificate import Certificate
from workers.measurement.compute.certificate import certificate_of
from workers.measurement.compute.devtools.exchange import STREAM, Exchange, monotonic_us
from workers.measurement.compute.devtools.pieces import came_on_us
from workers.measurement.compute.devtools.reading import PageEvents, read_devtools
from workers.measurement.compute.devtools.vitals import Milestones, parse_reports, vitals_of
from workers.measurement.compute.netlog.connection_facts import certificate_error
from workers.measurement.compute.netlog.events import names_of
from workers.measurement.compute.netlog.log import NetworkLog
from workers.measurement.compute.netlog.nouns import NetSocket
from workers.measurement.compute.netlog.reading import read_netlog
from workers.measurement.compute.page.blocking import with_hinted, with_places, with_preloads
from workers.measurement.compute.page.connections import Connections, Network, connections_of
from workers.measurement.compute.page.join import join
from workers.measurement.compute.page.rows import row
from workers.measurement.compute.page.settle import settle
from workers.measurement.compute.page.sight import was_set, zero_of
from workers.measurement.compute.page.stock import pictures_of, texts_of
from workers.measurement.compute.page.untold import Told, with_untold
from workers.measurement.compute.page.waiting import Waiting, ended_at, waiting_of
from workers.measurement.compute.page.worker_requests import name_workers
from workers.measurement.compute.texts import MAX_TITLE_CHARS, plain_or_none
from workers.measurement.connection import Connection
from workers.measurement.failure import Stage
from workers.measurement.messages import PageMeasurement
from workers.measurement.vitals import Vitals
from workers.measurement.waterfall import Request, ServedFrom, TimingSource, Waterfall

MAX_ROWS = 2000
# Chrome's own page in place of a 4xx or 5xx without a body: the status tells what is wrong.
EMPTY_ERROR_PAGE = "ERR_HTTP_RESPONSE_CODE_FAILURE"
# The log may begin with what the run before left in Chrome's buffer; its own work starts a little before our first
# sight of it. On a busy machine that is not so little: Chromium dials the page's host ahead while its process starts.
_LEAD_MS = 50
# What begins so soon after an end was asked for by what had come.
_DIRECTLY_US = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page load made readable. `addresses` are all that a connection was tried to, for judging where the page led.

    `newest` is the row of the last document asked for, which is not the page's own where it came to nothing and another
    stood before; `waiting` is what it still waited for at the end. `is_deaf_to_quic` says that QUIC was tried for it
    and not a packet came back, `ended_at` at what its connections over TCP were in the end (None: at several things),
    `tls_fault` for which reason of BoringSSL the last handshake failed; `fell_silent` says that in the end nothing came
    any more over QUIC, `refused` is what did not verify.
    """

    measurement: PageMeasurement
    addresses: frozenset[str]
    newest: Request | None = None
    waiting: Waiting | None = None
    is_deaf_to_quic: bool = False
    ended_at: Stage | None = Stage.CONNECT
    tls_fault: int | None = None
    fell_silent: bool = False
    refused: Certificate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Load:
    """What DevTools and the log tell of a load, put together. `told` are all exchanges; `network` has the first."""

    capture: PageCapture
    events: PageEvents
    told: Sequence[Exchange]
    network: Network

    @property
    def is_truncated(self) -> bool:
        return max(len(self.events.exchanges), len(self.told)) > MAX_ROWS or self.capture.events_dropped


def compute_page(capture: PageCapture) -> Page:
    """The page of a capture. An empty capture gives an empty page."""
    load = _load(capture)
    measurement, network, log = _measurement(load), load.network, load.network.log
    newest = _newest(capture, network.exchanges)
    hop = None if newest is None else network.pairs.get(newest)
    tried = [] if hop is None else _sockets(log, log.tries_of(hop))
    ever = [] if hop is None else _sockets(log, log.all_tries_of(hop))
    return Page(
        measurement=measurement,
        addresses=_addresses(load.events.exchanges, log),
        newest=None if newest is None else measurement.waterfall.requests[newest],
        waiting=None if hop is None or capture.told_us is None else waiting_of(hop, log, capture.told_us),
        is_deaf_to_quic=_is_deaf_to_quic(ever),
        ended_at=Stage.CONNECT if hop is None else ended_at(hop, tried),
        tls_fault=next((socket.tls_fault for socket in reversed(tried) if socket.tls_fault is not None), None),
        fell_silent=next((socket.fell_silent for socket in reversed(ever) if socket.quic), False),
        refused=_refused(log, tried),
    )


def _load(capture: PageCapture) -> _Load:
    events = read_devtools(capture.events)
    kept: Sequence[Exchange] = events.exchanges[:MAX_ROWS]
    zero_us = kept[0].started_us if kept else 0
    log = _network_log(capture, zero_us)
    pairs = join(kept, log.hops)
    settle(kept, pairs, log, capture.told_us)
    told = with_untold(Told(kept, pairs, events.unasked), log, zero_us=zero_us, until_us=capture.told_us)
    kept = told.exchanges[:MAX_ROWS]
    name_workers(kept, events.workers, events.unsent, all_told=not capture.events_dropped)
    pairs = {index: hop for index, hop in told.pairs.items() if index < len(kept)}
    network = Network(exchanges=kept, pairs=pairs, log=log, zero_us=zero_us, main_frame=capture.main_frame)
    return _Load(capture=capture, events=events, told=told.exchanges, network=network)


def _measurement(load: _Load) -> PageMeasurement:
    capture, network, zero = load.capture, load.network, zero_of(load.capture.events)
    connections, document, body = connections_of(network), _document(capture, network.exchanges), _body(capture)
    waterfall = _waterfall(load, connections, document, body.starts)
    return PageMeasurement(
        waterfall=waterfall,
        vitals=_vitals(capture, load.events, load.told, network.zero_us),
        document=document,
        began_at=None if zero is None else zero.at,
        title=plain_or_none(capture.title, MAX_TITLE_CHARS),
        browser_version=capture.browser_version,
        warnings=capture.warnings + _warnings(capture, network.log, waterfall),
        pictures=pictures_of(capture, network.exchanges),
        texts=texts_of(capture, network.exchanges),
        hints=None if capture.hints is None else tuple(capture.hints),
        text_waits=capture.text_waits,
        text_made=capture.text_made,
        body_from=body.starts,
        shows_from=body.shows,
        words_us=_words_us(capture, body.words_bytes, network.zero_us),
        came_on_us=came_on_us(
            capture.pieces, *_with_connection(waterfall.requests, connections, document), network.zero_us
        ),
    )


def _waterfall(
    load: _Load, connections: Connections, document: int | None, starts: tuple[int, int] | None
) -> Waterfall:
    capture, network = load.capture, load.network
    found = [row(network, connections, index, capture.secret_headers) for index in range(len(network.exchanges))]
    placed = with_preloads(with_places(found, document, starts), frozenset(capture.blocking))
    return Waterfall(
        requests=tuple(with_hinted(placed)),
        connections=connections.all,
        truncated=load.is_truncated,
        watched_until_us=_since(capture.told_us, network.zero_us) if network.exchanges else None,
    )


def _is_deaf_to_quic(tried: Iterable[NetSocket]) -> bool:
    sessions = [socket for socket in tried if socket.quic]
    return bool(sessions) and not any(session.received_bytes for session in sessions)


def _sockets(log: NetworkLog, sources: Iterable[int]) -> list[NetSocket]:
    return [log.sockets[source] for source in sources if source in log.sockets]


def _refused(log: NetworkLog, tried: Sequence[NetSocket]) -> Certificate | None:
    wrong = (one for one in reversed(tried) if certificate_error(log, one.tls_facts.get("net_error")) is not None)
    return next((certificate_of(socket.certificates) for socket in wrong), None)


def _network_log(capture: PageCapture, zero_us: int) -> NetworkLog:
    if capture.netlog is None:
        return NetworkLog()
    names = names_of(capture.netlog.constants)
    if names.missing:
        return NetworkLog(missing=names.missing)
    since_ms = zero_us // 1000 - _LEAD_MS
    if capture.asked_us is not None:
        since_ms = min(since_ms, capture.asked_us // 1000)
    return read_netlog(names, capture.netlog.lines, since_ms=since_ms)


def _document(capture: PageCapture, exchanges: Sequence[Exchange]) -> int | None:
    """The number of the last document of the top frame that did not lead elsewhere. A page that goes on to a download,
    or to an answer without a page, stays where it is."""
    documents = _documents(capture, exchanges)
    answered = [index for index in documents if exchanges[index].response is not None]
    shown = [index for index in answered if not exchanges[index].came_to_nothing]
    return (shown or answered or documents)[-1] + 1 if documents else None


def _newest(capture: PageCapture, exchanges: Sequence[Exchange]) -> int | None:
    """The index of the last document that the top frame waited for to its end."""
    documents = _documents(capture, exchanges)
    awaited = [index for index in documents if not exchanges[index].cancelled]
    return (awaited or documents)[-1] if documents else None


def _documents(capture: PageCapture, exchanges: Sequence[Exchange]) -> list[int]:
    return [
        index
        for index, exchange in enumerate(exchanges)
        if exchange.is_document and exchange.frame == capture.main_frame and exchange.redirected_to is None
    ]


def _body(capture: PageCapture) -> BodySeen:
    """A capture that was kept as a file has lists."""
    starts, shows, words_bytes = BodySeen(*capture.body) if capture.body else BodySeen(None, None)
    return BodySeen(starts and (starts[0], starts[1]), shows and (shows[0], shows[1]), words_bytes)


def _with_connection(
    rows: Sequence[Request], connections: Connections, number: int | None
) -> tuple[Request | None, Connection | None]:
    return (None, None) if number is None else (rows[number - 1], connections.used.get(number - 1))


def _words_us(capture: PageCapture, words_bytes: int | None, zero_us: int) -> int | None:
    """When the document had come as far as its first words."""
    if words_bytes is None:
        return None
    came = (at_s for at_s, so_far in capture.pieces if so_far >= words_bytes)
    return _since(monotonic_us(next(came, None)), zero_us)


def _vitals(capture: PageCapture, events: PageEvents, exchanges: Sequence[Exchange], zero_us: int) -> Vitals:
    if capture.net_error not in (None, EMPTY_ERROR_PAGE):
        # What loads in place of a page that did not come is the browser's word for that.
        return Vitals()
    # Scripts tell their documents' beginnings by the wall clock, and DevTools the run's.
    reports = () if was_set(capture.clock_step_us) else parse_reports(events.reports)
    return vitals_of(reports, _milestones(capture, events, exchanges, zero_us))


def _milestones(capture: PageCapture, events: PageEvents, exchanges: Sequence[Exchange], zero_us: int) -> Milestones:
    load_us = _since(events.load_us, zero_us)
    # What the page carried in itself came over no network: it may go on for ever.
    asked = [exchange for exchange in events.exchanges if exchange.served_from is not ServedFrom.DATA]
    last_us = max([*filter(None, map(_last_us, asked)), events.load_us or 0])
    quiet_us = _quiet_us(capture, last_us, exchanges) if capture.went_quiet else None
    zero = zero_of(capture.events)
    wall_s = None if zero is None else zero.wall_s
    return Milestones(
        zero_wall_s=wall_s,
        dom_content_loaded_us=_since(events.dom_content_loaded_us, zero_us),
        load_us=load_us,
        fully_loaded_us=_since(quiet_us, zero_us),
        until_us=_since(capture.told_us, zero_us),
        responsive=capture.responsive,
    )


def _last_us(exchange: Exchange) -> int | None:
    """Its end or, of one that stays open, when something of it last came; the messages of a stream are no load."""
    open_us = None if exchange.kind == STREAM else exchange.heard_us
    return open_us if exchange.ended_us is None else exchange.ended_us


def _quiet_us(capture: PageCapture, last_us: int, exchanges: Sequence[Exchange]) -> int | None:
    """The last end, where DevTools told of none after `last_us`: also of what the log alone shows, such as a shared
    worker's, if that was under way by then or was asked for directly behind such a thing. None where it went on for
    longer than anybody listened afterwards."""
    quiet_us, until_us = last_us, last_us if capture.told_us is None else capture.told_us
    for one in exchanges:
        is_over = one.untold and one.ended_us is not None and one.ended_us <= until_us
        if is_over and one.started_us <= quiet_us + _DIRECTLY_US:
            quiet_us = max(quiet_us, one.ended_us or 0)
    return quiet_us if quiet_us == last_us or quiet_us - last_us <= until_us - quiet_us else None


def _since(instant_us: int | None, zero_us: int) -> int | None:
    return None if instant_us is None or instant_us < zero_us else instant_us - zero_us


def _addresses(exchanges: Sequence[Exchange], log: NetworkLog) -> frozenset[str]:
    answered = {
        exchange.text("remoteIPAddress") for exchange in exchanges if exchange.served_from is ServedFrom.NETWORK
    }
    tried = {socket.address.rpartition(":")[0] for socket in log.sockets.values() if socket.address}
    return frozenset(address.strip("[]") for address in (answered - {None}) | tried if address)


def _warnings(capture: PageCapture, log: NetworkLog, waterfall: Waterfall) -> tuple[str, ...]:
    warnings = []
    if log.missing:
        warnings.append(f"This browser's network log lacks {', '.join(sorted(log.missing))}: phases are DevTools'.")
    elif capture.netlog is None:
        warnings.append("The network log could not be read: phases are DevTools'.")
    elif not capture.netlog.complete:
        warnings.append("The end of the network log is missing: the last requests may lack phases.")
    strangers = sum(
        request.timing_source is TimingSource.CDP and request.status is not None for request in waterfall.requests
    )
    if strangers and not log.missing and capture.netlog is not None:
        warnings.append(f"{strangers} requests were not found in the network log: their phases are DevTools'.")
    if not capture.responsive:
        warnings.append("The main thread was busy to the end and did not answer: how long it blocked is not known.")
    if was_set(capture.clock_step_us):
        seconds = capture.clock_step_us / 1e6
        warnings.append(
            f"The machine's clock was set by {seconds:.1f} s during the load: when it showed something is not known."
        )
    return tuple(warnings)
