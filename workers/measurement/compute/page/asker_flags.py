"""What is special about who asked for a row, by what, and how it ended."""

from collections.abc import Mapping

from workers.measurement.compute.devtools.exchange import Exchange
from workers.measurement.waterfall import RowFlag

_ASKERS = {
    "worker": RowFlag.WORKER,
    "service_worker": RowFlag.SERVICE_WORKER,
}


def asker_flags(exchange: Exchange, main_frame: str) -> tuple[RowFlag, ...]:
    """Flags of one exchange of a page whose top frame is `main_frame`."""
    sent = {str(name).lower(): str(value) for name, value in exchange.request_headers.items()}
    told = {
        RowFlag.PREFLIGHT: exchange.initiator.get("type") == "preflight",
        RowFlag.FRAME: exchange.frame not in (None, main_frame),
        RowFlag.PRELOAD: exchange.preloaded,
        RowFlag.PREFETCH: _is_prefetch(sent),
        RowFlag.PUSHED: _is_pushed(exchange),
        RowFlag.CANCELLED: exchange.cancelled and exchange.net_error is not None,
    }
    asker = _ASKERS.get(exchange.asker or "")
    flags = tuple(flag for flag, is_so in told.items() if is_so)
    return flags if asker is None else (asker, *flags)


def _is_pushed(exchange: Exchange) -> bool:
    began = (exchange.timing or {}).get("pushStart")
    return isinstance(began, int | float) and began > 0


def _is_prefetch(sent: Mapping[str, str]) -> bool:
    return "prefetch" in (sent.get("sec-purpose", "") + sent.get("purpose", ""))
