"""In which manner a monitor asks: what of its settings makes an address faster or slower that itself is as it was.

Its address and its profile are no part of it: with another one something else is measured in any case.
"""

from dataclasses import replace

from backend.sites.monitor_settings import MonitorSettings
from workers.measurement.connection import Header
from workers.measurement.page_options import PageOptions, Step, TypeText

# They are no secrets, and choose which answer is given (RFC 9110, 12.5).
_NEGOTIATING = frozenset({"accept", "accept-charset", "accept-encoding", "accept-language"})


def asks_otherwise(before: MonitorSettings, after: MonitorSettings) -> bool:
    """Whether times from before say nothing of those after.

    A secret with a new value asks for the same: tokens, cookies and passwords are exchanged for new ones all the time.
    How often a page is loaded, and what is done after its first view, leaves the first view what it was.
    """
    return _manner(before) != _manner(after)


def ways_of(settings: MonitorSettings) -> dict[str, object]:
    """How whoever asks is equipped, by what people call it: where two monitors differ in it, their times say as much of
    that as of what they ask."""
    page = settings.page
    return {
        "network profile": settings.profile,
        "device": page.device,
        "user agent": page.user_agent,
        "language": page.locale,
        "protocol": page.protocol,
        "hosts out of reach": frozenset(page.black_holes),
        "headers that choose the answer": frozenset(one for one in map(_header, settings.headers) if one[1]),
    }


def _manner(settings: MonitorSettings) -> tuple[object, ...]:
    headers = frozenset(map(_header, settings.headers))
    # Which redirects are followed hangs on them.
    return headers, frozenset(settings.accepted_status), _page_manner(settings.page)


def _header(header: Header) -> tuple[str, str]:
    """With its value only where that asks for something else."""
    name = header.name.lower()
    return name, header.value if name in _NEGOTIATING else ""


def _page_manner(page: PageOptions) -> tuple[object, ...]:
    cookies = frozenset((cookie.name, cookie.domain) for cookie in page.cookies)
    steps = tuple(map(_openly, page.steps))
    ways = (page.device, page.user_agent, page.locale, page.protocol)
    hosts = (frozenset(page.host_map), frozenset(page.black_holes), frozenset(page.without))
    return cookies, page.login is None, steps, *ways, *hosts


def _openly(step: Step) -> Step:
    """Without what is secret."""
    return replace(step, text="") if isinstance(step, TypeText) and step.secret else step
