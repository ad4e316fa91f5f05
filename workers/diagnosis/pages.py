"""What a page load tells of its hosts: connections that hold the first paint up, and multiplexing that is lost."""

from collections.abc import Callable, Iterable, Iterator

from workers.diagnosis.facts import facts, in_ms
from workers.diagnosis.order import findings_in_order
from workers.diagnosis.page_hosts import (
    PageHost,
    document_host,
    full_handshakes,
    held_up_us,
    hosts_of,
    opening_together_us,
    opening_us,
)
from workers.measurement.finding import Confidence, Diagnosis, Finding, FindingId, Severity
from workers.measurement.messages import PageMeasurement

# PROBING 7, 34: a host that takes longer to connect to, and so many full handshakes are too many.
MIN_OPENING_US = 100_000
_HANDSHAKES = {"h2": 1, "http/1.1": 2}
# PROBING 7, 30: from so many requests on, HTTP/1.1 stands in the way.
MIN_REQUESTS = 6
_HIGH_US = 200_000
_MEDIUM_US = 50_000
# Whether a host is the site's own to change; third parties' are not.
IsOwn = Callable[[str], bool]


def diagnose_page(page: PageMeasurement, *, is_own: IsOwn | None = None) -> Diagnosis:
    """Findings of the hosts that the site's owner can change, each with its `host`.

    `is_own` says which those are; without it, the document's host and all names below its domain. A single load is
    told with medium confidence. There is no checklist.
    """
    main = document_host(page)
    if main is None:
        return Diagnosis()
    mine = is_own or _below(main)
    hosts = [host for host in hosts_of(page) if host.name == main or mine(host.name)]
    return Diagnosis(findings=findings_in_order(_all(page, hosts, main)))


def _below(main: str) -> IsOwn:
    domain = main.removeprefix("www.")
    return lambda host: host == domain or host.endswith(f".{domain}")


def _all(page: PageMeasurement, hosts: Iterable[PageHost], main: str) -> Iterator[Finding]:
    for host in hosts:
        without_h2 = _h2_missing(page, host)
        if without_h2 is not None:
            yield without_h2
        else:
            yield from _connections(page, host, another=host.name != main)


def _connections(page: PageMeasurement, host: PageHost, *, another: bool) -> Iterator[Finding]:
    """A host of its own that the first paint waits for, or more handshakes than its protocol needs."""
    extra = [one for protocol, most in _HANDSHAKES.items() for one in full_handshakes(host.over(protocol))[most:]]
    held_us = held_up_us(page, host.connections if another else extra)
    in_the_way = another and host.opening_us > MIN_OPENING_US and held_us > 0
    if not in_the_way and not extra:
        return
    yield Finding(
        id=FindingId.PAGE_EXTRA_HOSTS_AND_LOST_MUX,
        severity=_severity(held_us),
        confidence=Confidence.MEDIUM,
        saving_us=held_us,
        host=host.name,
        evidence=facts(
            requests=len(host.requests),
            connections=len(host.connections),
            full_handshakes=len(full_handshakes(host.connections)),
            protocols=tuple(sorted({one.protocol for one in host.connections if one.protocol})),
            first_connection_ms=in_ms(host.opening_us),
            all_connections_ms=in_ms(sum(map(opening_us, host.connections))),
            blocks_rendering=held_us > 0,
        ),
    )


def _severity(saving_us: int) -> Severity:
    if saving_us >= _HIGH_US:
        return Severity.HIGH
    return Severity.MEDIUM if saving_us >= _MEDIUM_US else Severity.LOW


def _h2_missing(page: PageMeasurement, host: PageHost) -> Finding | None:
    """Many requests over several connections that one of HTTP/2 would carry."""
    secure = [one for one in host.connections if one.tls is not None]
    old = all(one.protocol == "http/1.1" for one in secure)
    if not old or len(secure) < 2 or len(host.requests) < MIN_REQUESTS:
        return None
    return Finding(
        id=FindingId.HTTP_H2_MISSING,
        severity=Severity.HIGH,
        confidence=Confidence.MEDIUM,
        saving_us=min(opening_together_us(secure[1:]), _load_us(page)),
        host=host.name,
        evidence=facts(
            requests=len(host.requests),
            connections=len(secure),
            connections_saved=len(secure) - 1,
            all_connections_ms=in_ms(sum(map(opening_us, secure))),
        ),
    )


def _load_us(page: PageMeasurement) -> int:
    return max((one.timing.end_us or 0 for one in page.waterfall.requests), default=0)
