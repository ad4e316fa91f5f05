"""Sites as a file declares them: what is sent, and as what it is understood."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from backend.alerts.actions.channels import MAX_CHANNELS
from backend.alerts.message import Severity
from backend.alerts.models import RuleKind
from backend.alerts.models.channels import MAX_NAME_CHARS as MAX_CHANNEL_NAME_CHARS
from backend.alerts.models.rules import MAX_WINDOWS
from backend.api.v1.channels import NewChannel, destination_of, hours_of
from backend.api.v1.maintenance import Reason
from backend.api.v1.monitors import MonitorSettingsIn, changed
from backend.api.v1.page_settings import PageChange, changed_page
from backend.api.v1.pairings import Interval, Origin, Regions
from backend.api.v1.rules import Delay, Params, Remind
from backend.api.v1.rules import Name as RuleName
from backend.api.v1.shapes import In, Instant, Url
from backend.api.v1.status_pages import Slug, Title
from backend.compare.models import MAX_NAME_CHARS as MAX_PAIR_NAME_CHARS
from backend.compare.pairings import PairingDraft
from backend.compare.seen import MAX_NAME_CHARS as MAX_HOST_CHARS
from backend.declared.wanted import (
    Wanted,
    WantedChannel,
    WantedHost,
    WantedMonitor,
    WantedPage,
    WantedPair,
    WantedRule,
    WantedSite,
    WantedWindow,
)
from backend.sites.actions import MAX_NAME_CHARS, MAX_PAIRS, MAX_SITES
from backend.sites.dependencies import MAX_RELIED_ON
from backend.sites.hosts import MAX_CHOSEN
from backend.sites.models import HostRole, MonitorKind
from backend.sites.monitor_settings import DEFAULT_INTERVAL_S, defaults
from backend.status.actions import MAX_PAGES
from backend.status.actions import MAX_SITES as MAX_SHOWN_SITES
from workers.measurement.messages import Kind

# What a page of rules can still show.
MAX_RULES_OF_A_SITE = 200

SiteName = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME_CHARS)]
PairName = Annotated[str, StringConstraints(min_length=1, max_length=MAX_PAIR_NAME_CHARS)]
ChannelName = Annotated[str, StringConstraints(min_length=1, max_length=MAX_CHANNEL_NAME_CHARS)]


class DeclaredProbe(MonitorSettingsIn):
    """A site's probe. What is left out is as usual: every minute, from all regions."""

    paused: bool = False


class DeclaredPage(DeclaredProbe, PageChange):
    """A site's page load. What is left out is as usual: every 15 minutes, from all regions."""


class DeclaredPair(In):
    """An asset of the CDN and the same at the origin, known by its name."""

    name: PairName
    cdn_url: Url
    origin: Origin
    interval_s: Interval = DEFAULT_INTERVAL_S[Kind.PAIR]
    regions: Regions = []
    ignore_certificate_errors: bool = False
    paused: bool = False


class DeclaredHost(In):
    """What a host is to the site, whatever it seems to be; a page need not have asked for it yet."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=MAX_HOST_CHARS)]
    role: HostRole


class DeclaredRule(In):
    """A rule of the site, or of its `monitor` or `pair` alone. Channels are known by their names; none means all."""

    kind: RuleKind
    monitor: Literal["probe", "page"] | None = None
    pair: PairName | None = None
    params: Params = Field(default_factory=dict)
    name: RuleName = ""
    severity: Severity | None = None
    channels: Annotated[list[ChannelName], Field(max_length=50)] = Field(default_factory=list)
    notify: bool = True
    enabled: bool = True
    delay_s: Delay = 0
    remind_every_s: Remind | None = None


class DeclaredMaintenance(In):
    """A time in which nothing is told, known by when it begins. One that is over is passed over."""

    starts_at: Instant
    ends_at: Instant
    reason: Reason = ""


Windows = Annotated[list[DeclaredMaintenance], Field(max_length=MAX_WINDOWS)]


class DeclaredSite(In):
    """A site, known by its name. A section that is left out stays as it is; one that is there is the whole of it."""

    name: SiteName
    url: Url
    probe: DeclaredProbe | None = None
    page: DeclaredPage | None = None
    relies_on: Annotated[list[SiteName], Field(max_length=MAX_RELIED_ON)] | None = None
    pairs: Annotated[list[DeclaredPair], Field(max_length=MAX_PAIRS)] | None = None
    hosts: Annotated[list[DeclaredHost], Field(max_length=MAX_CHOSEN)] | None = None
    rules: Annotated[list[DeclaredRule], Field(max_length=MAX_RULES_OF_A_SITE)] | None = None
    maintenance: Windows | None = None


class DeclaredChannel(NewChannel):
    """A way to tell people, known by its name; it keeps its kind. Of where it leads (`url`, `slack_app`, `addresses`),
    which is told to nobody, what is left out stays; a new one must say it.
    """

    name: ChannelName
    enabled: bool = True

    @property
    def tells_secrets(self) -> bool:
        """Whether it says where to, beyond what everybody may see of it."""
        return bool(replace(destination_of(self), conversation=""))


class DeclaredStatusPage(In):
    """What guests are shown of which sites, known by the last part of its address. Sites are known by their names."""

    slug: Slug
    title: Title
    sites: Annotated[list[SiteName], Field(max_length=MAX_SHOWN_SITES)]


class Declaration(In):
    """Sites, and what is for all of them. Sites that are not named, and sections that are left out, stay."""

    sites: Annotated[list[DeclaredSite], Field(max_length=MAX_SITES)] = Field(default_factory=list)
    rules: Annotated[list[DeclaredRule], Field(max_length=MAX_RULES_OF_A_SITE)] | None = None
    maintenance: Windows | None = None
    channels: Annotated[list[DeclaredChannel], Field(max_length=MAX_CHANNELS)] | None = None
    status_pages: Annotated[list[DeclaredStatusPage], Field(max_length=MAX_PAGES)] | None = None


def wanted_of(declaration: Declaration) -> Wanted:
    """What is declared, unjudged."""
    return Wanted(
        sites=tuple(_site(site) for site in declaration.sites),
        rules=None if declaration.rules is None else tuple(_rule(rule) for rule in declaration.rules),
        maintenance=_windows(declaration.maintenance),
        status_pages=_pages(declaration.status_pages),
        channels=None if declaration.channels is None else tuple(map(_channel, declaration.channels)),
    )


def _site(site: DeclaredSite) -> WantedSite:
    return WantedSite(
        name=site.name,
        url=site.url,
        monitors=_monitors(site),
        relies_on=site.relies_on,
        pairs=None if site.pairs is None else tuple(_pair(pair) for pair in site.pairs),
        hosts=None if site.hosts is None else tuple(WantedHost(**host.model_dump()) for host in site.hosts),
        rules=None if site.rules is None else tuple(_rule(rule) for rule in site.rules),
        maintenance=_windows(site.maintenance),
    )


def _monitors(site: DeclaredSite) -> dict[MonitorKind, WantedMonitor]:
    monitors = {}
    if site.probe is not None:
        settings = changed(defaults(Kind.PROBE, site.url), site.probe)
        monitors[MonitorKind.PROBE] = WantedMonitor(settings=settings, paused=site.probe.paused)
    if site.page is not None:
        settings = changed(defaults(Kind.PAGE, site.url), site.page)
        settings = replace(settings, page=changed_page(settings.page, site.page))
        monitors[MonitorKind.PAGE] = WantedMonitor(settings=settings, paused=site.page.paused)
    return monitors


def _pair(pair: DeclaredPair) -> WantedPair:
    said: dict[str, Any] = pair.model_dump(exclude={"paused", "regions"})
    return WantedPair(draft=PairingDraft(**said, regions=tuple(pair.regions)), paused=pair.paused)


def _rule(rule: DeclaredRule) -> WantedRule:
    return WantedRule(
        kind=rule.kind.value,
        monitor=None if rule.monitor is None else MonitorKind(rule.monitor),
        pair=rule.pair,
        params=rule.params,
        name=rule.name,
        severity=rule.severity,
        channels=rule.channels,
        notify=rule.notify,
        enabled=rule.enabled,
        delay_s=rule.delay_s,
        remind_every_s=rule.remind_every_s,
    )


def _windows(windows: Windows | None) -> tuple[WantedWindow, ...] | None:
    return None if windows is None else tuple(WantedWindow(**window.model_dump()) for window in windows)


def _pages(pages: Sequence[DeclaredStatusPage] | None) -> tuple[WantedPage, ...] | None:
    return None if pages is None else tuple(WantedPage(**page.model_dump()) for page in pages)


def _channel(channel: DeclaredChannel) -> WantedChannel:
    return WantedChannel(
        name=channel.name,
        kind=channel.kind,
        destination=destination_of(channel),
        after_s=channel.after_s,
        hours=hours_of(channel.hours),
        weekly_report=channel.weekly_report,
        enabled=channel.enabled,
    )
