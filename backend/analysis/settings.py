"""What detection goes by: one setting for every site, plus what each metric's unit makes a change worth."""

from dataclasses import dataclass, replace

HOUR_S = 3600.0
DAY_S = 24 * HOUR_S
# A rollout takes its time: a deploy told so long before a change can have begun may still have caused it.
ROLLOUT_S = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """`min_change` is in the metric's unit. A change smaller than either minimum is never told."""

    interval_s: float = 300
    min_change_pct: float = 5
    min_change: float = 0
    # Added before the logarithm, so that steps of a metric that is often about 0 count as little as they are.
    offset: float = 0
    # Values below count as this: the logarithm has no 0.
    least: float = 1e-3
    # Evidence, in natural logarithms of likelihood, that opens an alert (by simulation 11 to 15 give one false
    # alert in ten months, whatever the noise).
    threshold: float = 13
    # How long a slowdown has to last to be a regression; after a deploy less will do.
    persistence_s: float = HOUR_S
    persistence_after_deploy_s: float = HOUR_S / 4
    # After so long a level that stays is the normal one; a quieter weekend is not.
    accept_after_s: float = 7 * DAY_S
    accept_improvement_after_s: float = 3.5 * DAY_S


# The least change worth telling, by metric: 10 ms of wait and TTFB, since 30 would hide a fifth from every site
# that answers within 150 ms.
_CONNECTING = Settings(offset=1, min_change=5)
_SERVING = Settings(min_change=10)
_PAINTING = Settings(min_change=100)
_METRICS = {
    "dns_ms": _CONNECTING,
    "connect_ms": _CONNECTING,
    "tls_ms": _CONNECTING,
    "rtt_ms": _CONNECTING,
    "tls_round_trips": Settings(offset=1, min_change=0.5),
    "wait_ms": _SERVING,
    "ttfb_ms": _SERVING,
    "total_ms": _SERVING,
    "download_ms": Settings(offset=1, min_change=10),
    "fcp_ms": _PAINTING,
    "lcp_ms": _PAINTING,
    "load_ms": _PAINTING,
    "fully_loaded_ms": _PAINTING,
    "start_render_ms": _PAINTING,
    "speed_index": _PAINTING,
    "visually_complete_ms": _PAINTING,
    "tbt_ms": Settings(offset=10, min_change=50),
    "cls": Settings(offset=0.01, min_change=0.02),
    "requests": Settings(offset=1, min_change=3),
    "connections": Settings(offset=1, min_change=1),
    "bytes": Settings(offset=1000, min_change=20_000, least=1),
}


def settings_for(metric: str, *, interval_s: float, min_change_pct: float = 5) -> Settings:
    """The settings of a metric by its column; of another name those of a positive number with no least change."""
    return replace(_METRICS.get(metric, Settings()), interval_s=interval_s, min_change_pct=min_change_pct)
