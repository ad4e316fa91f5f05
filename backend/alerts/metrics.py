"""The metrics that rules are about: their names at the doors, where they are stored, how they are written. Pure."""

from collections.abc import Collection
from typing import NamedTuple

from backend.analysis.gate_metrics import is_time
from backend.analysis.user_timings import is_user_timing, label_of


class Metric(NamedTuple):
    """`scale` makes a stored number the door's."""

    name: str
    column: str
    label: str
    unit: str
    scale: float

    @property
    def is_time(self) -> bool:
        """Whether more of it is slower."""
        return is_time(self.name)


def _time(name: str, label: str) -> Metric:
    return Metric(name, name.removesuffix("_ms") + "_us", label, "ms", 1e-3)


_ALL = (
    _time("dns_ms", "DNS"),
    _time("connect_ms", "Connecting"),
    _time("tls_ms", "TLS"),
    _time("wait_ms", "Waiting for the server"),
    _time("ttfb_ms", "First byte"),
    _time("download_ms", "Download"),
    _time("total_ms", "Total"),
    _time("rtt_ms", "Round trip"),
    Metric("tls_round_trips", "tls_round_trips", "Round trips of TLS", "", 1),
    _time("fcp_ms", "First paint"),
    _time("lcp_ms", "Largest paint"),
    Metric("cls", "cls", "Layout shift", "", 1),
    _time("load_ms", "Load"),
    _time("fully_loaded_ms", "Fully loaded"),
    _time("start_render_ms", "Start render"),
    _time("speed_index", "Speed Index"),
    _time("visually_complete_ms", "Visually complete"),
    _time("tbt_ms", "Blocking time"),
    Metric("requests", "requests", "Requests", "", 1),
    Metric("connections", "connections", "Connections", "", 1),
    Metric("bytes", "bytes", "Transferred", "bytes", 1),
)
METRICS = {metric.name: metric for metric in _ALL}
# What people read, by what measurements call them.
LABELS = {name.removesuffix("_ms"): metric.label for name, metric in METRICS.items()}
# What is left of a first byte beside its phases. Those of a probe stand without gaps: it is what redirects took.
BESIDE_PHASES = {
    "probe": _time("redirects_ms", "Redirects"),
    "page": _time("other_ms", "Redirects and what else lies between the phases"),
}
COLUMNS = tuple(metric.column for metric in _ALL)
# Where a metric's value is in `Sample.values`.
POSITIONS = {metric.name: position for position, metric in enumerate(_ALL)}
_MOST_DIGITS = 3
_OF_PAGES = {
    "fcp_ms",
    "lcp_ms",
    "cls",
    "load_ms",
    "fully_loaded_ms",
    "start_render_ms",
    "speed_index",
    "visually_complete_ms",
    "tbt_ms",
}


def metric_of(name: str) -> Metric:
    """Any metric: one of METRICS, or a user timing, which has no column of its own. Raises KeyError for no metric."""
    if is_user_timing(name):
        return Metric(name, "timings", label_of(name), "ms", 1e-3)
    return METRICS[name]


def measured_by(metric: str, kind: str, followed: Collection[str] = ()) -> bool:
    """Whether a monitor of a kind, which follows these user timings, measures a metric at all."""
    if is_user_timing(metric):
        return metric in followed
    return kind == "page" if metric in _OF_PAGES else kind in ("probe", "page")


def written(metric: str, value: float, *, digits: int = 0) -> str:
    """A value in the door's unit as people read it, such as "320 ms", "1.4 ms" or "1.25 s"; `digits` more than usual.

    Below ten it has a fraction, as on all pages: 1.6 ms before and 1.4 after are no "2 ms" and "1 ms".
    """
    unit = metric_of(metric).unit
    if unit == "ms":
        return f"{_some(value, digits)} ms" if abs(value) < 1_000 else f"{value / 1_000:,.{2 + digits}f} s"
    if unit == "bytes":
        return f"{_some(value / 1_000, digits)} kB" if abs(value) < 1e6 else f"{value / 1e6:,.{2 + digits}f} MB"
    return f"{value:,.{2 + digits}f}" if metric == "cls" else f"{value:,.{digits}f}"


def _some(value: float, digits: int) -> str:
    """A number of which something is left: what took half a millisecond did not take none."""
    digits += _fraction_digits(value)
    while value and digits < _MOST_DIGITS and not round(value, digits):
        digits += 1
    return f"{value:,.{digits}f}"


def _fraction_digits(value: float) -> int:
    """Two digits are told of a small number, all before the point of a large one."""
    if not value or abs(value) >= 9.95:
        return 0
    return 1 if abs(value) >= 0.995 else 2


def written_apart(metric: str, value: float, limit: float) -> tuple[str, str]:
    """Both as people read them, as exactly as it takes to tell them apart: nobody believes "262 ms, over 262 ms"."""
    digits = digits_apart(metric, value, limit)
    return written(metric, value, digits=digits), written(metric, limit, digits=digits)


def digits_apart(metric: str, value: float, limit: float) -> int:
    """How many digits more than usual it takes to tell them apart; 0 when they are as good as equal."""

    def is_apart(digits: int) -> bool:
        return written(metric, value, digits=digits) != written(metric, limit, digits=digits)

    return next(filter(is_apart, range(_MOST_DIGITS + 1)), 0)
