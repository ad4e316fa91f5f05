"""What shall be, as values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from backend.alerts.actions.channels import AS_BEFORE
from backend.alerts.channels.config import Destination
from backend.alerts.hours import Hours
from backend.alerts.models import ChannelKind
from backend.compare.pairings import PairingDraft
from backend.sites.models import HostRole, MonitorKind
from backend.sites.monitor_settings import MonitorSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedChannel:
    """A way to tell people, known by its name. Of where it leads, what is left out stays as it is stored."""

    name: str
    kind: ChannelKind
    destination: Destination = AS_BEFORE
    after_s: int = 0
    hours: Hours | None = None
    weekly_report: bool = False
    enabled: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedMonitor:
    """All settings of a probe or page; KEPT in place of a secret keeps the one that is stored."""

    settings: MonitorSettings
    paused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedPair:
    """A comparison, known by its name."""

    draft: PairingDraft
    paused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedHost:
    """What a host is to a site, whatever it seems to be."""

    name: str
    role: HostRole


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedRule:
    """A rule of a site, or of one of its monitors: `monitor` is `probe` or `page`, `pair` a pair's name.

    Parameters and severity that are left out are those of the kind. `channels` are names; none means all.
    """

    kind: str
    monitor: MonitorKind | None = None
    pair: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    severity: str | None = None
    channels: Sequence[str] = ()
    notify: bool = True
    enabled: bool = True
    delay_s: int = 0
    remind_every_s: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedWindow:
    """A time of maintenance, known by when it begins."""

    starts_at: datetime
    ends_at: datetime
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedSite:
    """A site, known by its name. What is None is left as it is; a list is the whole list. It `relies_on` sites that are
    named here or there already.
    """

    name: str
    url: str
    monitors: Mapping[MonitorKind, WantedMonitor] = field(default_factory=dict)
    relies_on: Sequence[str] | None = None
    pairs: Sequence[WantedPair] | None = None
    hosts: Sequence[WantedHost] | None = None
    rules: Sequence[WantedRule] | None = None
    maintenance: Sequence[WantedWindow] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedPage:
    """A status page, known by its place in the address. `sites` are names."""

    slug: str
    title: str
    sites: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Sites, and what is for all of them; what is None is left as it is."""

    sites: Sequence[WantedSite] = ()
    rules: Sequence[WantedRule] | None = None
    maintenance: Sequence[WantedWindow] | None = None
    status_pages: Sequence[WantedPage] | None = None
    channels: Sequence[WantedChannel] | None = None
