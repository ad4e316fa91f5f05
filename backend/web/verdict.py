"""The sentence a run's page opens with, and the numbers under it. Pure.

Limits of good and poor are those of Core Web Vitals (web.dev/articles/vitals): first byte 0.8 and 1.8 s, first paint
1.8 and 3 s, largest paint 2.5 and 4 s, layout shift 0.1 and 0.25.
"""

from dataclasses import dataclass, replace
from typing import Literal

from backend.alerts.metrics import LABELS
from backend.web import units
from backend.web.phrases import number_of
from backend.web.series import METRIC_NAMES
from backend.web.waterfall.axis import MarkKey
from backend.web.waterfall.moments import document_of
from backend.web.waterfall.segments import PHASE_NAMES, Phase, segments_of
from backend.web.waterfall.shapes import MARK_NAMES
from backend.web.waterfall.text import printable
from workers.diagnosis.catalogue.failures import advice_on, advice_on_missed, why_missed
from workers.measurement.compute.probe.pair_hops import as_probe
from workers.measurement.failure import Blame, Failure, FailureKind, Stage
from workers.measurement.messages import (
    Measurement,
    MissedReason,
    PageMeasurement,
    PairMeasurement,
    ProbeMeasurement,
)
from workers.measurement.pair import CacheState, Leg, LegExchange
from workers.measurement.timing import Phases, Timing, answer_phases
from workers.measurement.vitals import UserTiming
from workers.measurement.waterfall import Request, ServedFrom, TimingSource, Waterfall, received_bytes

Level = Literal["good", "warn", "bad", "info"]

_TTFB_US = (800_000, 1_800_000)
_FCP_US = (1_800_000, 3_000_000)
_LCP_US = (2_500_000, 4_000_000)
_CLS = (0.1, 0.25)
_MARKS: dict[Level, str] = {"good": "✓", "warn": "!", "bad": "✕", "info": "i"}
_WORDS: dict[Level, str] = {"good": "good", "warn": "could be better", "bad": "poor", "info": ""}

_STAGES = {
    Stage.TARGET: "before the first packet",
    Stage.DNS: "while looking up the name",
    Stage.CONNECT: "while connecting",
    Stage.TLS: "during the TLS handshake",
    Stage.SEND: "while sending the request",
    Stage.WAIT: "while waiting for the first byte",
    Stage.DOWNLOAD: "while receiving the body",
    Stage.REDIRECT: "while following redirects",
    Stage.BROWSER: "in the browser",
    Stage.CHECK: "when the answer was checked",
}
_BLAMES = {
    Blame.TARGET: "the measured site",
    Blame.NETWORK: "the network between this region and the site",
    Blame.MONITOR: "the monitor itself, not the site",
}
# The legs of a site's pair (workers.measurement.pair).
_LEGS = {Leg.A: "CDN", Leg.B: "Origin"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`advice` is what to do about it, where there is something to be done."""

    level: Level
    title: str
    text: str
    advice: str = ""

    @property
    def mark(self) -> str:
        """The level as a shape, for those who do not see its colour."""
        return _MARKS[self.level]


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One number with its name; `note` says how good it is or what it counts. `line` is its line in the waterfall."""

    name: str
    value: str
    note: str = ""
    level: Level = "info"
    line: MarkKey | None = None


def measured_verdict(measurement: Measurement) -> Verdict:
    """What a complete run shows, the visitor's view first."""
    if isinstance(measurement, ProbeMeasurement):
        return _probe_verdict(measurement)
    if isinstance(measurement, PairMeasurement):
        return _pair_verdict(measurement)
    lcp_us, load_us = measurement.vitals.lcp_us, measurement.vitals.load_us
    document = document_of(measurement)
    first_byte = _first_byte_text(document.timing, ahead_us=document.timing.start_us) if document else ""
    text = f"{first_byte} {_errors_text(measurement)}".strip()
    if lcp_us is not None:
        level = _level(lcp_us, _LCP_US)
        title = (
            f"{units.duration(lcp_us)} to the largest paint: {_WORDS[level]} (limit {units.short_duration(_LCP_US[0])})"
        )
        return Verdict(level=level, title=title, text=text)
    title = "The page loaded" if load_us is None else f"The page loaded in {units.duration(load_us)}"
    return Verdict(level="info", title=title, text=text)


def failed_verdict(failure: Failure, measurement: Measurement | None) -> Verdict:
    """The reason first, then where it happened, who is to blame, what was seen before, and what to do."""
    place = f"It happened {_STAGES[failure.stage]}. {_told_of(failure)}"
    level: Level = "warn" if failure.blame is Blame.MONITOR else "bad"
    return Verdict(
        level=level,
        title=printable(failure.detail, 600),
        text=f"{place} {_seen_before(measurement)}".strip(),
        advice=advice_on(failure),
    )


def _told_of(failure: Failure) -> str:
    if failure.kind is FailureKind.PAGE_CHALLENGE:
        return "It says nothing of what people are shown, and counts for no chart, baseline or release."
    if failure.kind is FailureKind.BLOCKED_DESTINATION:
        return "Agents measure public addresses only."
    if failure.kind is FailureKind.INVALID_URL and failure.blame is Blame.MONITOR:
        return (
            "It says nothing of the site. Either its port must be allowed where this region's agents run "
            "(FIRSTBYTE_EXTRA_PORTS), or the monitor measures from other regions."
        )
    return f"The fault lies with {_BLAMES[failure.blame]}."


def missed_verdict(reason: MissedReason) -> Verdict:
    """Why there is no measurement; this says nothing about the site."""
    return Verdict(
        level="warn",
        title="This run did not take place",
        text=f"{why_missed(reason)} It says nothing about the site.",
        advice=advice_on_missed(reason),
    )


def cards_of(measurement: Measurement) -> tuple[Card, ...]:
    """The numbers under the verdict."""
    if isinstance(measurement, PairMeasurement):
        return tuple(_leg_card(exchange) for exchange in measurement.exchanges)
    return _probe_cards(measurement) if isinstance(measurement, ProbeMeasurement) else _page_cards(measurement)


def _pair_verdict(pair: PairMeasurement) -> Verdict:
    """One pair is a sample: which leg is faster is said from twenty."""
    cold = sorted((exchange for exchange in pair.exchanges if not exchange.reused), key=lambda one: one.leg)
    parts = [f"{_LEGS[exchange.leg]} {units.duration(exchange.timing.total_us)}" for exchange in cold]
    text = "To the last byte over fresh connections. One pair alone does not say which is faster."
    return Verdict(level="info", title=", ".join(parts) or "Nothing was measured", text=text)


def _leg_card(exchange: LegExchange) -> Card:
    name = f"{_LEGS[exchange.leg]}, {'connection reused' if exchange.reused else 'cold'}"
    note = "" if exchange.cache.state is CacheState.UNKNOWN else f"cache: {exchange.cache.state}"
    return Card(name=name, value=units.duration(exchange.timing.total_us), note=note)


def _probe_verdict(probe: ProbeMeasurement) -> Verdict:
    if not probe.hops:
        return Verdict(level="info", title="Nothing was measured", text="")
    timing = probe.hops[-1].timing
    ttfb_us = answer_phases([hop.timing for hop in probe.hops]).ttfb_us
    if ttfb_us is None:
        return Verdict(level="info", title="No first byte was seen", text=_first_byte_text(timing))
    level = _level(ttfb_us, _TTFB_US)
    title = f"First byte after {units.duration(ttfb_us)}: {_WORDS[level]} (limit {units.duration(_TTFB_US[0])})"
    text = f"{_first_byte_text(timing, ahead_us=_ahead_us(probe))} {_redirect_text(probe)}".strip()
    return Verdict(level=level, title=title, text=text)


def _errors_text(page: PageMeasurement) -> str:
    requests = page.waterfall.requests
    faulty = sum(request.failure is not None or (request.status or 0) >= 400 for request in requests)
    return f"{units.count(faulty)} of {number_of(len(requests), 'request')} failed or got an error." if faulty else ""


def _first_byte_text(timing: Timing, *, ahead_us: int = 0) -> str:
    """What took most of the way to the first byte: a phase, or what came before the document was asked for."""
    first_byte_us = timing.first_byte_us
    before = [
        segment for segment in segments_of(timing) if first_byte_us is not None and segment.end_us <= first_byte_us
    ]
    if not before or first_byte_us is None:
        return ""
    sums: dict[Phase, int] = {}
    for segment in before:
        sums[segment.phase] = sums.get(segment.phase, 0) + segment.duration_us
    phase, us = max(sums.items(), key=lambda item: item[1])
    total_us = ahead_us + first_byte_us - timing.start_us
    if ahead_us > us:
        return f"{_share_of(ahead_us, total_us)} passed before its document was asked for: {units.duration(ahead_us)}."
    # Waiting is the way there and back as well as the server: nobody knows here which of them is long.
    name = "waiting for the server's answer" if phase == "wait" else PHASE_NAMES[phase]
    name = name.lower() if phase in ("queued", "idle") else name
    return f"{_share_of(us, total_us)} was {name}: {units.duration(us)}."


def _share_of(us: int, total_us: int) -> str:
    return f"{round(100 * us / total_us)} % of the {units.duration(total_us)} to the first byte"


def _redirect_text(probe: ProbeMeasurement) -> str:
    redirects = len(probe.hops) - 1
    if redirects < 1:
        return ""
    before = "redirect before it costs" if redirects == 1 else "redirects before it cost"
    return f"{redirects} {before} {units.duration(_ahead_us(probe))}."


def _ahead_us(probe: ProbeMeasurement) -> int:
    """What the redirects before the answer took. There must be a hop."""
    return probe.hops[-1].timing.start_us - probe.hops[0].timing.start_us


def _seen_before(measurement: Measurement | None) -> str:
    if measurement is None:
        return ""
    measurement = as_probe(measurement)
    if isinstance(measurement, PageMeasurement):
        requests = len(measurement.waterfall.requests)
        if requests == 1:
            return "1 request was seen before; it is shown below."
        return f"{units.count(requests)} requests were seen before; they are shown below."
    phases = answer_phases([hop.timing for hop in measurement.hops])
    parts = [(name, us) for name, us in _named_phases(phases) if us is not None]
    return f"Measured before: {', '.join(f'{name} {units.duration(us)}' for name, us in parts)}." if parts else ""


def _named_phases(phases: Phases) -> tuple[tuple[str, int | None], ...]:
    return (
        ("DNS", phases.dns_us),
        ("connect", phases.connect_us),
        ("TLS", phases.tls_us),
        ("waiting", phases.wait_us),
        ("download", phases.download_us),
    )


def _page_cards(page: PageMeasurement) -> tuple[Card, ...]:
    document = document_of(page)
    vitals, requests = page.vitals, page.waterfall.requests
    hosts = {request.url.split("/")[2] for request in requests if "://" in request.url}
    return (
        _first_byte_card(document),
        *_seen(LABELS["start_render"], vitals.start_render_us, "start-render"),
        _timed(LABELS["fcp"], vitals.fcp_us, _FCP_US, "fcp"),
        _timed(LABELS["lcp"], vitals.lcp_us, _LCP_US, "lcp"),
        _shift_card(vitals.cls),
        *_seen(LABELS["tbt"], vitals.tbt_us, note="what tasks take beyond 50 ms, from first paint on"),
        *_seen(LABELS["speed_index"], vitals.speed_index_us, note="how soon the screen filled"),
        *_seen(MARK_NAMES["dcl"], vitals.dom_content_loaded_us, "dcl"),
        *_timings_card(vitals.user_timings),
        Card(
            name=LABELS["load"],
            value=units.duration(vitals.load_us),
            note=_fully_loaded(vitals.fully_loaded_us),
            line=None if vitals.load_us is None else "load",
        ),
        Card(
            name=LABELS["bytes"],
            value=units.size(received_bytes(requests)),
            note=f"{number_of(len(requests), 'request')}, {number_of(len(hosts), 'host')}",
        ),
        _connections_card(page.waterfall),
    )


def _timings_card(timings: tuple[UserTiming, ...] | None) -> tuple[Card, ...]:
    """What the page itself measured; no card where it measured nothing."""
    if not timings:
        return ()
    line: MarkKey | None = "user-timing" if any(one.duration_us is None for one in timings) else None
    value = number_of(len(timings), "mark")
    return (Card(name=MARK_NAMES["user-timing"], value=value, note="what the page itself measured", line=line),)


def _connections_card(waterfall: Waterfall) -> Card:
    """How many were opened, how many requests found one open, and how many no request ever used."""
    reused = units.count(sum(request.reused is True for request in waterfall.requests))
    unused = sum(connection.requests == 0 for connection in waterfall.connections)
    # Archives of some tools name no connections: what went over which is then nobody's to say.
    untold = sum(went_over_something_untold(request) for request in waterfall.requests)
    if untold and not waterfall.connections:
        return Card(name=LABELS["connections"], value=units.ABSENT, note="not told by the file")
    parts = [
        f"{reused} of {number_of(len(waterfall.requests) - untold, 'request')} reused one",
        f"of {units.count(untold)} it is not known" if untold else "",
        f"{units.count(unused)} never used" if unused else "",
    ]
    note = "; ".join(part for part in parts if part)
    return Card(name=LABELS["connections"], value=units.count(len(waterfall.connections)), note=note)


def went_over_something_untold(request: Request) -> bool:
    """Whether a request had a connection that its file does not name. A file may lack the times of an answer too."""
    is_archived = request.timing_source is TimingSource.ARCHIVE and request.status is not None
    is_answered = is_archived or request.timing.first_byte_us is not None
    return is_answered and request.served_from is ServedFrom.NETWORK and request.connection is None


def _first_byte_card(document: Request | None) -> Card:
    """From navigation start, like the line in the waterfall and the paints; redirects before it are told apart."""
    us = document.timing.first_byte_us if document else None
    card = _timed(LABELS["ttfb"], us, _TTFB_US, "first-byte")
    return card if document is None else _behind(card, document.timing.start_us)


def _behind(card: Card, ahead_us: int) -> Card:
    """A first byte that came behind redirects says what they took."""
    if not ahead_us or card.value == units.ABSENT:
        return card
    return replace(card, note=f"{units.duration(ahead_us)} of it before its document was asked for")


def _probe_cards(probe: ProbeMeasurement) -> tuple[Card, ...]:
    if not probe.hops:
        return ()
    last = probe.hops[-1]
    phases = answer_phases([hop.timing for hop in probe.hops])
    connection = next((c for c in probe.connections if c.number == last.connection), None)
    round_trips = connection.tls_round_trips if connection else None
    rtt_us = connection.rtt_us if connection else None
    received = None if last.head_bytes is None else last.head_bytes + (last.body_bytes or 0)
    return (
        _behind(_timed(LABELS["ttfb"], phases.ttfb_us, _TTFB_US), _ahead_us(probe)),
        Card(name=LABELS["dns"], value=units.duration(phases.dns_us)),
        Card(
            name=METRIC_NAMES["connect_ms"],
            value=units.duration(phases.connect_us),
            note="" if rtt_us is None else f"round trip {units.duration(rtt_us)}",
        ),
        Card(
            name=LABELS["tls"],
            value=units.duration(phases.tls_us),
            note="" if round_trips is None else number_of(round_trips, "round trip"),
        ),
        Card(name=METRIC_NAMES["wait_ms"], value=units.duration(phases.wait_us), note="request sent to first byte"),
        Card(name=LABELS["download"], value=units.duration(phases.download_us), note=units.size(received)),
        Card(name=LABELS["total"], value=units.duration(phases.total_us), note="start to last byte"),
    )


def _seen(name: str, us: int | None, line: MarkKey | None = None, note: str = "") -> tuple[Card, ...]:
    """A number without a limit; no card where it was not recorded."""
    return () if us is None else (Card(name=name, value=units.duration(us), note=note, line=line),)


def _timed(name: str, us: int | None, limits_us: tuple[int, int], line: MarkKey | None = None) -> Card:
    if us is None:
        return Card(name=name, value=units.ABSENT, note="not seen")
    level = _level(us, limits_us)
    return Card(
        name=name,
        value=units.duration(us),
        note=_limit_note(level, units.short_duration(limits_us[0])),
        level=level,
        line=line,
    )


def _shift_card(cls: float | None) -> Card:
    if cls is None:
        return Card(name=LABELS["cls"], value=units.ABSENT, note="not seen")
    level = _level(cls, _CLS)
    return Card(
        name=LABELS["cls"],
        value=f"{cls:.3f}".rstrip("0").rstrip("."),
        note=_limit_note(level, str(_CLS[0])),
        level=level,
        line="shift" if cls > 0 else None,
    )


def _limit_note(level: Level, limit: str) -> str:
    return f"{_MARKS[level]} {_WORDS[level]}, limit {limit}"


def _fully_loaded(us: int | None) -> str:
    return "" if us is None else f"network quiet after {units.duration(us)}"


def _level(value: float, limits: tuple[float, float]) -> Level:
    good, poor = limits
    return "good" if value <= good else "bad" if value > poor else "warn"
