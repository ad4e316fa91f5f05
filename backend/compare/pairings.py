"""What can be said of a pairing, and the rules it must keep: one sentence for each field at fault. And how long what is
said of it holds.
"""

from dataclasses import dataclass, replace
from datetime import timedelta

from backend.compare.models import MAX_NAME_CHARS, Pairing
from backend.compare.origins import check_origin, other_leg
from backend.faults import InvalidError
from backend.sites.keeping import without_headers
from backend.sites.monitor_settings import DEFAULT_INTERVAL_S, InvalidMonitorError, MonitorSettings, defaults
from backend.sites.targets import check_target
from backend.texts import is_one_line
from workers.measurement.messages import Kind
from workers.measurement.pair import PairTarget
from workers.measurement.target import MAX_URL_CHARS, Target, TargetError

# With one new pair in each region little has changed: verdicts are made anew after so many, and not more often.
MIN_EVERY, PAIRS_BETWEEN = timedelta(minutes=5), 3
# What a rule of the monitor is called here.
_FIELDS = {"url": "cdn_url", "other": "origin", "headers": "drop_headers"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingDraft:
    """What a person says: the asset at the CDN, and where the origin is. An empty name is the asset's path.

    `drop_headers` takes away the request headers that are set at the pair's monitor.
    """

    cdn_url: str
    origin: str
    name: str = ""
    interval_s: int = DEFAULT_INTERVAL_S[Kind.PAIR]
    regions: tuple[str, ...] = ()
    ignore_certificate_errors: bool = False
    drop_headers: bool = False


class InvalidPairingError(InvalidError):
    """The draft breaks a rule. `faults` holds a sentence for each field at fault."""


def settings_for(draft: PairingDraft, known: MonitorSettings | None = None) -> MonitorSettings:
    """The settings of the pair monitor; what the draft does not say stays as known. Raises InvalidPairingError."""
    faults: dict[str, str] = {}
    if len(draft.name) > MAX_NAME_CHARS or not is_one_line(draft.name):
        faults["name"] = f"The name must be one line of at most {MAX_NAME_CHARS} characters."
    cdn = _cdn(draft, faults)
    other = _other(cdn, draft, faults)
    if faults or cdn is None or other is None:
        raise InvalidPairingError(faults)
    known = known or defaults(Kind.PAIR, cdn.url, other)
    return replace(
        without_headers(known) if draft.drop_headers else known,
        url=cdn.url,
        other=other,
        interval_s=draft.interval_s,
        regions=draft.regions,
        ignore_certificate_errors=draft.ignore_certificate_errors,
    )


def translated(error: InvalidMonitorError) -> InvalidPairingError:
    """The faults of the monitor by the names of the draft's fields."""
    return InvalidPairingError({_FIELDS.get(field, field): fault for field, fault in error.faults.items()})


def _cdn(draft: PairingDraft, faults: dict[str, str]) -> Target | None:
    try:
        return check_target(draft.cdn_url)
    except TargetError as error:
        faults["cdn_url"] = str(error)
        return None


def _other(cdn: Target | None, draft: PairingDraft, faults: dict[str, str]) -> PairTarget | None:
    if not draft.origin.strip() or len(draft.origin) > MAX_URL_CHARS:
        faults["origin"] = "Say where the origin is: its host, a URL or an IP address."
        return None
    try:
        if cdn is not None:
            return other_leg(cdn, draft.origin)
        check_origin(draft.origin)
    except TargetError as error:
        faults["origin"] = str(error)
    return None


def judged_every(pairing: Pairing) -> timedelta:
    """How long verdicts hold."""
    return max(MIN_EVERY, PAIRS_BETWEEN * timedelta(seconds=pairing.monitor.interval_s))
