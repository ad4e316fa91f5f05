"""What the page of a page run tells below its waterfall: its loads, its make-up, the main thread, the console. Pure."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from backend.alerts.metrics import LABELS
from backend.web import units
from backend.web.waterfall.board import of_visit
from backend.web.waterfall.text import printable
from workers.diagnosis.page.content import Amount, host_shares, types_of
from workers.measurement.compute.page.representative import METRICS, Spread, representative, spreads
from workers.measurement.messages import PageMeasurement
from workers.measurement.page_options import PageState
from workers.measurement.page_view import ConsoleMessage, HostDelivery, ViewSample
from workers.measurement.vitals import TimingKind, UserTiming
from workers.measurement.waterfall import ResourceType

_MAX_TEXT_CHARS = 500
_TOLD = (
    "ttfb",
    "start_render",
    "fcp",
    "lcp",
    "speed_index",
    "tbt",
    "cls",
    "load",
    "fully_loaded",
    "requests",
    "bytes",
)
_TYPES = {
    ResourceType.DOCUMENT: "Documents",
    ResourceType.STYLESHEET: "Style sheets",
    ResourceType.SCRIPT: "Scripts",
    ResourceType.IMAGE: "Images",
    ResourceType.FONT: "Fonts",
    ResourceType.MEDIA: "Media",
    ResourceType.FETCH: "Data",
    ResourceType.WEBSOCKET: "WebSockets",
    ResourceType.OTHER: "Other",
}
_TIMINGS = {TimingKind.MARK: "mark", TimingKind.MEASURE: "measure", TimingKind.ELEMENT: "element painted"}
_BUSY = {"script": "Scripts", "style": "Style", "layout": "Layout", "other": "Parsing, painting and the rest"}
_STATES = {
    PageState.COLD: "first visit",
    PageState.WARM_CACHE: "second visit, with the cache",
    PageState.WARM_CONNECTION: "second visit, with cache and connections",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricLine:
    """One metric over the views of one state: of the load that is shown, the median and the quartiles."""

    name: str
    shown: str
    median: str
    quartiles: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Views:
    """`state` names what the views found; `failed` is how many of all could not be measured."""

    state: str
    load: int
    of: int
    failed: int
    lines: tuple[MetricLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A type or a host: how much of the page it is. `opening` is of a host's connections, `cdn` who delivered it and
    `evidence` what shows that.
    """

    name: str
    requests: int
    transferred: str
    decoded: str
    share: str
    connections: int = 0
    opening: str = ""
    cdn: str = ""
    evidence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy:
    """What the main thread did of one kind."""

    name: str
    time: str
    share: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    at: str
    level: str
    text: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingLine:
    """What the page itself measured; `length` is empty of what is an instant."""

    name: str
    kind: str
    at: str
    length: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacts:
    """`tasks` sums the long tasks up in a sentence; empty where nobody looked."""

    views: tuple[Views, ...]
    types: tuple[Part, ...]
    hosts: tuple[Part, ...]
    busy: tuple[Busy, ...]
    tasks: str
    timings: tuple[TimingLine, ...]
    console: tuple[Message, ...]


def page_facts(page: PageMeasurement, visit: str = "") -> PageFacts:
    """Of the visit that is shown; the figures of several loads are of all visits."""
    seen = of_visit(page, visit)
    assert isinstance(seen, PageMeasurement)
    return PageFacts(
        views=tuple(_views(page.samples, state) for state in PageState if _is_told(page.samples, state)),
        types=_types(seen),
        hosts=_hosts(seen),
        busy=_busy(seen),
        tasks=_tasks(seen),
        timings=tuple(_timing(one) for one in seen.vitals.user_timings or ()),
        console=tuple(_message(one) for one in seen.console),
    )


def _timing(one: UserTiming) -> TimingLine:
    length = "" if one.duration_us is None else units.duration(one.duration_us)
    name = printable(one.name, _MAX_TEXT_CHARS)
    return TimingLine(name=name, kind=_TIMINGS[one.kind], at=units.duration(one.at_us), length=length)


def _is_told(samples: tuple[ViewSample, ...], state: PageState) -> bool:
    """Of one cold load everything is on the page already."""
    count = sum(view.state is state for view in samples)
    return count > 1 or (count == 1 and state is not PageState.COLD)


def _views(samples: tuple[ViewSample, ...], state: PageState) -> Views:
    views = [view for view in samples if view.state is state]
    load = representative(samples) or 1
    shown = next((view for view in views if view.load == load), views[0])
    found = spreads(samples, state)
    return Views(
        state=_STATES[state],
        load=load,
        of=len(views),
        failed=sum(view.failure is not None for view in views),
        lines=tuple(_line(name, shown, found[name]) for name in _TOLD if name in found),
    )


def _line(metric: str, shown: ViewSample, spread: Spread) -> MetricLine:
    tell = _teller(metric)
    return MetricLine(
        name=LABELS[metric],
        shown=tell(METRICS[metric](shown)),
        median=tell(spread.median),
        quartiles=" \N{EN DASH} ".join(dict.fromkeys((tell(spread.low), tell(spread.high)))),
        count=spread.n,
    )


def _teller(metric: str) -> Callable[[float | None], str]:
    if metric == "cls":
        return lambda value: units.ABSENT if value is None else f"{value:.3f}"
    whole = {"requests": units.count, "bytes": units.size}.get(metric, units.duration)
    return lambda value: whole(None if value is None else round(value))


def _types(page: PageMeasurement) -> tuple[Part, ...]:
    shares = types_of(page)
    total = _total(share.amount for share in shares)
    return tuple(_part(_TYPES[share.resource_type], share.amount, total) for share in shares)


def _hosts(page: PageMeasurement) -> tuple[Part, ...]:
    shares = host_shares(page)
    evidence = {one.host: _evidence(one) for one in page.deliveries}
    total = _total(share.amount for share in shares)
    return tuple(
        replace(
            _part(printable(share.host, 120), share.amount, total),
            connections=share.connections,
            opening=units.duration(share.opening_us) if share.connections else units.ABSENT,
            cdn=printable(share.cdn or units.ABSENT, 60),
            evidence=evidence.get(share.host, ""),
        )
        for share in shares
    )


def _evidence(one: HostDelivery) -> str:
    """What shows who delivered it, or what leaves it open."""
    if one.evidence is None:
        return ""
    return printable(f"{'not certain:' if one.cdn is None else 'by'} {one.evidence}", 220)


def _part(name: str, amount: Amount, total_bytes: int) -> Part:
    return Part(
        name=name,
        requests=amount.requests,
        transferred=units.size(amount.transferred_bytes),
        decoded=units.size(amount.body_bytes),
        share=_share(amount.transferred_bytes or 0, total_bytes),
    )


def _total(amounts: Iterable[Amount]) -> int:
    return sum(amount.transferred_bytes or 0 for amount in amounts)


def _share(part: int, whole: int) -> str:
    return f"{round(100 * part / whole)} %" if whole else units.ABSENT


def _busy(page: PageMeasurement) -> tuple[Busy, ...]:
    cpu = page.vitals.cpu
    if cpu is None:
        return ()
    times = {name: getattr(cpu, f"{kind}_us") for kind, name in _BUSY.items()}
    whole = sum(times.values())
    return tuple(Busy(name=name, time=units.duration(us), share=_share(us, whole)) for name, us in times.items())


def _tasks(page: PageMeasurement) -> str:
    tasks = page.vitals.long_tasks
    if tasks is None:
        return "" if page.activity is None else "Whether tasks held the main thread for more than 50 ms is not known."
    if not tasks:
        return "No task held the main thread for more than 50 ms."
    longest = units.duration(max(task.duration_us for task in tasks))
    counted = "1 task" if len(tasks) == 1 else f"{units.count(len(tasks))} tasks"
    told = f"{counted} held the main thread for more than 50 ms, the longest for {longest}"
    blocked_us = page.vitals.tbt_us
    if blocked_us is None:
        return f"{told}."
    return f"{told}; from the first paint on blocking time is {units.duration(blocked_us)}."


def _message(one: ConsoleMessage) -> Message:
    line = "" if one.line is None else f":{one.line}"
    return Message(
        at=units.duration(one.at_us),
        level=str(one.level),
        text=printable(one.text, _MAX_TEXT_CHARS),
        source="" if one.url is None else printable(one.url, 200) + line,
    )
