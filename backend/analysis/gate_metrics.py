"""The metrics that can be gated, by the names of the API, and how their values become logarithms."""

from collections.abc import Mapping
from types import MappingProxyType

from backend.analysis.user_timings import is_instant, is_user_timing

# Phases that take no time when something is cached: a step of a microsecond must not look like a doubling.
_SMALL_PHASE, _DURATION, _COUNT, _SCORE = 1.0, 0.01, 0.5, 0.02
# Most pages block for no time, and a single task of 60 ms must not look like a thousandfold.
_BLOCKING = 10.0

# Added to a value before its logarithm is taken; in milliseconds where the name says so.
OFFSETS: Mapping[str, float] = MappingProxyType(
    {
        "dns_ms": _SMALL_PHASE,
        "connect_ms": _SMALL_PHASE,
        "tls_ms": _SMALL_PHASE,
        "download_ms": _SMALL_PHASE,
        "wait_ms": _DURATION,
        "ttfb_ms": _DURATION,
        "total_ms": _DURATION,
        "rtt_ms": _DURATION,
        "fcp_ms": _DURATION,
        "lcp_ms": _DURATION,
        "load_ms": _DURATION,
        "fully_loaded_ms": _DURATION,
        "start_render_ms": _DURATION,
        "speed_index": _DURATION,
        "visually_complete_ms": _DURATION,
        "tbt_ms": _BLOCKING,
        "requests": _COUNT,
        "connections": _COUNT,
        "bytes": _COUNT,
        "cls": _SCORE,
    }
)

# Of what often takes next to no time, or is next to nothing, per cents say little: so much counts at least.
LEAST_CHANGES: Mapping[str, float] = MappingProxyType(
    {name: OFFSETS[name] for name in ("dns_ms", "connect_ms", "tls_ms", "download_ms", "tbt_ms", "cls")}
)


def offset_of(name: str) -> float:
    """Added to a metric's value before its logarithm is taken; 0 for one that nobody knows. What a page measures from
    one point to another may take no time at all, as a phase may."""
    if is_user_timing(name):
        return _DURATION if is_instant(name) else _SMALL_PHASE
    return OFFSETS.get(canonical(name) or "", 0.0)


def least_change_of(name: str) -> float:
    """So much counts at least of a change, by whatever name of the metric; 0 for any."""
    if is_user_timing(name):
        return 0.0 if is_instant(name) else _SMALL_PHASE
    return LEAST_CHANGES.get(canonical(name) or "", 0.0)


def canonical(name: str) -> str | None:
    """The metric's one name: `ttfb` and `ttfb_ms` are the same. None for what cannot be gated."""
    if is_user_timing(name):
        return name
    return next((known for known in (name, f"{name}_ms") if known in OFFSETS), None)


def is_time(name: str) -> bool:
    """Whether a metric is in milliseconds, by whatever name; one that nobody knows is if its name says so."""
    return (canonical(name) or name).endswith("_ms") or name == "speed_index" or is_user_timing(name)
