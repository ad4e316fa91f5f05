"""Where the two sides of a gate are reached that compares addresses: what was asked, and each monitor's two URLs."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from backend.faults import InvalidError
from backend.runs.outgoing import is_same_server
from backend.sites.models import Monitor
from backend.sites.targets import canonical_url, check_target
from workers.measurement.messages import Kind
from workers.measurement.target import Target, TargetError

MAX_NAMED = 5
# The path of a page itself, not of what pages lie under: for a monitor of a server's root it is the whole path.
_IS_PAGE = re.compile(r"\.(?:x?html?|shtml|php|aspx?|jsp)$", re.IGNORECASE)
_ROOT = re.compile(r"/(?:\?|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorUrl:
    """The whole URL of a monitor, which is named by its id, `probe` or `page`."""

    monitor: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where one side is reached: `base` in place of the monitors' own server, whose path and query stay, or whole URLs.

    What is not said is the monitor's own.
    """

    base: str = ""
    urls: tuple[MonitorUrl, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.base or self.urls)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """The URLs of one monitor, in their canonical form."""

    before: str
    after: str


class AddressError(InvalidError):
    """`faults` holds a sentence by the path of the field within the question."""


def faults_of(address: Address, path: str) -> Iterator[tuple[str, str]]:
    """What can be said against an address without knowing the monitors."""
    if address.base:
        try:
            _base(address.base)
        except TargetError as error:
            yield f"{path}/url", str(error)
    if len(address.urls) > MAX_NAMED:
        yield f"{path}/urls", f"At most {MAX_NAMED} monitors can be given URLs of their own."
    for place, named in enumerate(address.urls):
        try:
            check_target(named.url)
        except TargetError as error:
            yield f"{path}/urls/{place}/url", str(error)


def sides_of(monitors: Sequence[Monitor], before: Address, after: Address) -> dict[int, Sides]:
    """The two URLs of each monitor, of addresses without faults. Raises AddressError."""
    faults: dict[str, str] = {}
    for address, path in ((before, "baseline/urls"), (after, "release/urls")):
        known = {name for monitor in monitors for name in (str(monitor.public_id), monitor.kind)}
        faults |= {
            f"{path}/{place}/monitor": f"This gate is not about a monitor {named.monitor[:40]!r}."
            for place, named in enumerate(address.urls)
            if named.monitor not in known
        }
    try:
        found = {monitor.pk: Sides(before=_url(before, monitor), after=_url(after, monitor)) for monitor in monitors}
    except TargetError as error:
        # The base's own faults are known already: only its path before a monitor's can be too long.
        raise AddressError({"baseline/url": str(error)}) from error
    same = next((monitor for monitor in monitors if found[monitor.pk].before == found[monitor.pk].after), None)
    if same is not None and not faults:
        faults["baseline/url"] = (
            f"Both sides of the {same.kind} are {found[same.pk].after}: there is nothing to compare."
        )
    if faults:
        raise AddressError(faults)
    return found


def without_headers(monitors: Sequence[Monitor], sides: Mapping[int, Sides]) -> Iterator[str]:
    """A sentence for each monitor whose request headers one side does not get. One statement."""
    asked = Monitor.objects.filter(pk__in=[monitor.pk for monitor in monitors])
    secretive = set(asked.exclude(headers="").values_list("pk", flat=True))
    for monitor in monitors:
        if monitor.pk in secretive:
            urls = (sides[monitor.pk].before, sides[monitor.pk].after)
            foreign = [url for url in urls if not is_same_server(url, monitor.url)]
            if foreign:
                yield (
                    f"The request headers of the {monitor.kind} may be secrets and are sent to its own server only, "
                    f"not to {' and '.join(dict.fromkeys(foreign))}."
                )


def _url(address: Address, monitor: Monitor) -> str:
    """Raises TargetError."""
    for named in address.urls:
        if named.monitor in (str(monitor.public_id), monitor.kind):
            return canonical_url(named.url, Kind(monitor.kind))
    if not address.base:
        return monitor.url
    base, target = _base(address.base), check_target(monitor.url)
    path = target.path.removeprefix("/") if _IS_PAGE.search(base.path) and _ROOT.match(target.path) else target.path
    fragment = target.page_url.removeprefix(target.url)
    return canonical_url(f"{base.origin}{base.path.rstrip('/')}{path}{fragment}", Kind(monitor.kind))


def _base(text: str) -> Target:
    """Raises TargetError."""
    target = check_target(text)
    if "?" in target.path:
        raise TargetError("An address in place of another has no query: that of the monitor is kept.")
    return target
