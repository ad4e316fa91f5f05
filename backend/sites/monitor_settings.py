"""What of a monitor can be edited, and the rules it must keep: one sentence for each fault."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from backend.encryption import DecryptionError, Unreadable
from backend.faults import InvalidError
from backend.sites import page_settings
from backend.sites.followed import followed_fault
from backend.sites.models import MAX_INTERVAL_S, MIN_INTERVAL_S, Monitor
from backend.sites.targets import check_pair_target, check_target, mapped_fault
from workers.measurement.connection import Header
from workers.measurement.header_rules import headers_fault
from workers.measurement.messages import Kind
from workers.measurement.page_options import PLAIN, PageOptions, Step, Visit
from workers.measurement.page_rules import page_faults
from workers.measurement.pair import PairTarget
from workers.measurement.profile import PROFILES
from workers.measurement.request_headers import header_fault
from workers.measurement.target import TargetError

DEFAULT_INTERVAL_S = {Kind.PROBE: 60, Kind.PAGE: 900, Kind.PAIR: 300}
DEFAULT_TIMEOUT_S = {Kind.PROBE: 30, Kind.PAGE: 60, Kind.PAIR: 30}
# Two minutes is the longest that a browser is lent to one page; a probe that takes a minute is broken.
TIMEOUT_RANGE_S = {Kind.PROBE: (1, 60), Kind.PAGE: (5, 120), Kind.PAIR: (1, 60)}
MAX_BODY_TEXT_CHARS = 500
MAX_STATUSES = 20
# Each takes a browser as long as one load does: more belongs to a test by hand.
MAX_PAGE_LOADS = 5
# What may be stored and yet not read, mostly because its key is gone, and how it is spoken of.
UNREADABLE = {"headers": "the request headers that cannot be read", "page": "the page's options that cannot be read"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorSettings:
    """All of a monitor that a person can edit. `regions` empty means all, `accepted_status` empty means 200 to 399.

    `other` is the second leg of a pair, and None for all other kinds; `page` matters to a page alone, as
    do `user_timings`, those that are followed. Secrets are KEPT in what people and programs are shown and send back
    (`sites.keeping`). `unreadable` are the fields, `headers` and `page`, that no key opens: they stay as they are
    stored, until they are written anew and named here no longer.
    """

    kind: Kind
    url: str
    interval_s: int
    timeout_s: int
    regions: tuple[str, ...] = ()
    profile: str = "native"
    headers: tuple[Header, ...] = ()
    accepted_status: tuple[int, ...] = ()
    body_text: str = ""
    ignore_certificate_errors: bool = False
    other: PairTarget | None = None
    page: PageOptions = PLAIN
    user_timings: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()


class InvalidMonitorError(InvalidError):
    """The settings break a rule. `faults` holds a sentence for each field at fault."""


def defaults(kind: Kind, url: str, other: PairTarget | None = None) -> MonitorSettings:
    """What a new monitor begins with: a probe every minute, a page every 15, a pair every 5 minutes, in all regions."""
    return MonitorSettings(
        kind=kind, url=url, interval_s=DEFAULT_INTERVAL_S[kind], timeout_s=DEFAULT_TIMEOUT_S[kind], other=other
    )


def stored_settings(monitor: Monitor) -> MonitorSettings:
    """The settings as they are stored, secrets and all: for who stores them, and for nobody who shows them."""
    headers, page = _headers(monitor), _page(monitor)
    return MonitorSettings(
        kind=Kind(monitor.kind),
        url=monitor.url,
        interval_s=monitor.interval_s,
        timeout_s=monitor.timeout_s,
        regions=tuple(monitor.regions),
        profile=monitor.profile,
        headers=headers or (),
        accepted_status=tuple(monitor.accepted_status),
        body_text=monitor.body_text,
        ignore_certificate_errors=monitor.ignore_certificate_errors,
        other=None if monitor.pair is None else PairTarget(url=monitor.pair["url"], address=monitor.pair["address"]),
        page=page or PLAIN,
        user_timings=tuple(monitor.user_timings),
        unreadable=tuple(name for name, value in (("headers", headers), ("page", page)) if value is None),
    )


def _headers(monitor: Monitor) -> tuple[Header, ...] | None:
    """None when no key opens them."""
    if isinstance(monitor.headers, Unreadable):
        return None
    return tuple(Header(name=name, value=value) for name, value in monitor.headers)


def _page(monitor: Monitor) -> PageOptions | None:
    """None when no key opens the options, or when another version wrote what this one does not understand."""
    try:
        return page_settings.read(monitor.page)
    except (DecryptionError, ValueError):
        return None


def validate(settings: MonitorSettings) -> None:
    """Raises InvalidMonitorError with every fault there is, not only the first."""
    faults = {field: fault for field, rule in _RULES.items() if (fault := rule(settings)) is not None}
    faults |= _page_faults(settings)
    if faults:
        raise InvalidMonitorError(faults)


def _page_faults(settings: MonitorSettings) -> dict[str, str]:
    """By the names of the page's options."""
    if settings.kind is not Kind.PAGE and settings.page != PLAIN:
        return {"page": f"A {settings.kind} loads no page; leave the page's options out."}
    faults = page_faults(settings.page)
    if "loads" not in faults and settings.page.loads > MAX_PAGE_LOADS:
        faults["loads"] = f"A monitor can load its page at most {MAX_PAGE_LOADS} times in a run."
    if "host_map" not in faults and (fault := mapped_fault(settings.page)) is not None:
        faults["host_map"] = fault
    if "steps" not in faults and (fault := _visits_fault(settings.page.steps)) is not None:
        faults["steps"] = fault
    return faults


def _visits_fault(steps: Sequence[Step]) -> str | None:
    """Steps lead nowhere that a monitor may not."""
    for number, step in enumerate(steps, 1):
        if isinstance(step, Visit):
            try:
                check_target(step.url)
            except TargetError as error:
                return f"Step {number}: {error}"
    return None


def _url_fault(settings: MonitorSettings) -> str | None:
    try:
        check_target(settings.url)
    except TargetError as error:
        return str(error)
    return None


def _other_fault(settings: MonitorSettings) -> str | None:
    if settings.kind is not Kind.PAIR:
        return None if settings.other is None else f"A {settings.kind} has no second leg."
    if settings.other is None:
        return "Say what the CDN is compared with."
    try:
        check_pair_target(settings.other)
    except TargetError as error:
        return str(error)
    return None


def _interval_fault(settings: MonitorSettings) -> str | None:
    if MIN_INTERVAL_S <= settings.interval_s <= MAX_INTERVAL_S:
        return None
    return f"The interval must be {MIN_INTERVAL_S} s to {MAX_INTERVAL_S} s (one day), not {settings.interval_s} s."


def _timeout_fault(settings: MonitorSettings) -> str | None:
    low, high = TIMEOUT_RANGE_S[settings.kind]
    if low <= settings.timeout_s <= high:
        return None
    return f"The timeout of a {settings.kind} must be {low} s to {high} s, not {settings.timeout_s} s."


def _profile_fault(settings: MonitorSettings) -> str | None:
    return None if settings.profile in PROFILES else f"There is no profile {settings.profile[:40]!r}."


def _status_fault(settings: MonitorSettings) -> str | None:
    wrong = [status for status in settings.accepted_status if not 100 <= status <= 599]
    if wrong:
        return f"{wrong[0]} is no HTTP status; they run from 100 to 599."
    if len(settings.accepted_status) > MAX_STATUSES:
        return f"At most {MAX_STATUSES} statuses can be accepted."
    return None


def _text_fault(settings: MonitorSettings) -> str | None:
    if len(settings.body_text) > MAX_BODY_TEXT_CHARS:
        return f"The text to look for may have at most {MAX_BODY_TEXT_CHARS} characters."
    if any(ord(char) < 32 for char in settings.body_text):
        return "The text to look for must be one line without control characters."
    return None


def _timings_fault(settings: MonitorSettings) -> str | None:
    if settings.kind is not Kind.PAGE and settings.user_timings:
        return f"A {settings.kind} loads no page, which alone has user timings."
    return followed_fault(settings.user_timings)


def _headers_fault(settings: MonitorSettings) -> str | None:
    fault = headers_fault(settings.headers)
    return fault if fault is not None or settings.kind is Kind.PAGE else header_fault(settings.headers)


_RULES: dict[str, Callable[[MonitorSettings], str | None]] = {
    "url": _url_fault,
    "other": _other_fault,
    "interval_s": _interval_fault,
    "timeout_s": _timeout_fault,
    "profile": _profile_fault,
    "accepted_status": _status_fault,
    "body_text": _text_fault,
    "headers": _headers_fault,
    "user_timings": _timings_fault,
}
