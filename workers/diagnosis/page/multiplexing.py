"""Rules on connections: hosts that hold a paint up, and multiplexing that is lost."""

from collections.abc import Iterator, Mapping, Sequence

from workers.diagnosis.case import Verdicts
from workers.diagnosis.facts import facts, in_ms
from workers.diagnosis.page.case import HIGH_US, MEDIUM_US, PageCase, numbers_of, severity, unjudged
from workers.diagnosis.page.hosts import PageHost, full_handshakes, hosts_of, opening_us, ready_us, trip_us
from workers.diagnosis.page.one_connection import sooner_over_one_us
from workers.diagnosis.page.spare import line_spare_us
from workers.diagnosis.page.windows import moved_us
from workers.measurement.connection import Connection
from workers.measurement.finding import Confidence, Finding, FindingId, NotJudged, Severity
from workers.measurement.web_address import host_of

# A host that takes longer to connect to, and so many full handshakes are too many.
MIN_OPENING_US = HIGH_US // 2
_HANDSHAKES = {"h2": 1, "http/1.1": 2}
_OLD = "http/1.1"
# From so many requests on, as many as a browser opens connections to a host, HTTP/1.1 stands in the way, and of fewer
# where the first paint waited for it.
MIN_REQUESTS = 6


def hosts(case: PageCase) -> Verdicts:
    """http.h2_missing or page.extra_hosts_and_lost_mux, for each of the site's own hosts."""
    main = "" if case.document is None else host_of(case.document.url)
    for host in hosts_of(case.page):
        if not case.own(host.name):
            continue
        without_h2 = _h2_missing(case, host)
        if without_h2 is not None:
            yield without_h2
        else:
            yield from _connections(case, host, another=host.name != main)


def _connections(case: PageCase, host: PageHost, *, another: bool) -> Iterator[Finding | NotJudged]:
    """A host of its own that a paint waits for, or more handshakes than its protocol needs."""
    extra = [
        one
        for protocol, most in _HANDSHAKES.items()
        if not _was_made_to(case, protocol)
        for pool in host.over(protocol)
        for one in full_handshakes(pool)[most:]
    ]
    far = another and host.opening_us > MIN_OPENING_US and host.name not in case.hinted
    sooner = line_spare_us(case, case.sooner_without(host.connections)) if far else _over_first(case, extra, host)
    held_us = case.paint.claim(sooner) if far or extra else 0
    largest_us = _largest_us(case, host) if far and not held_us else 0
    if not held_us and not largest_us and not extra:
        if far and _may_hold(case, host):
            yield unjudged(FindingId.PAGE_EXTRA_HOSTS_AND_LOST_MUX)
        return
    yield Finding(
        id=FindingId.PAGE_EXTRA_HOSTS_AND_LOST_MUX,
        severity=severity(held_us or largest_us),
        confidence=Confidence.MEDIUM,
        saving_us=held_us or largest_us,
        host=host.name,
        rows=numbers_of(host.requests),
        evidence=facts(
            requests=len(host.requests),
            connections=len(host.connections),
            full_handshakes=len(full_handshakes(host.connections)),
            protocols=tuple(sorted({one.protocol for one in host.connections if one.protocol})),
            first_connection_ms=in_ms(host.opening_us),
            all_connections_ms=in_ms(sum(map(opening_us, host.connections))),
            blocks_rendering=held_us > 0,
            lcp_ms=in_ms(case.page.vitals.lcp_us) if largest_us else None,
        ),
    )


def _largest_us(case: PageCase, host: PageHost) -> int:
    """What the largest picture, which waited for the host's connection, gains over the document's; nobody else does."""
    largest, onto = case.largest, None if case.document is None else case.connection_of(case.document)
    if largest is None or onto is None or largest.asked is not largest.row or largest.row not in host.requests:
        return 0
    sooner_us = moved_us(case, largest.row, onto)
    return largest.claim(sooner_us) if largest.gain_us(sooner_us) >= MEDIUM_US else 0


def _may_hold(case: PageCase, host: PageHost) -> bool:
    """Whether a paint may have waited for the host's connection, which cannot be told."""
    largest = case.largest
    if largest is not None and not largest.sure and largest.row in host.requests and case.waited_us(largest.row):
        return True
    return not case.paint.sure and any(map(case.paint.waits_for, host.requests))


def _was_made_to(case: PageCase, protocol: str) -> bool:
    """Whether the browser was told to speak nothing else: then the choice was not the server's."""
    return case.page.only_protocol == protocol


def _h2_missing(case: PageCase, host: PageHost) -> Finding | None:
    """Many requests over several connections that one of HTTP/2 would carry."""
    secure = [one for one in host.connections if one.tls is not None]
    old = all(one.protocol == _OLD for one in secure) and not _was_made_to(case, _OLD)
    if not old or len(secure) < 2:
        return None
    sooner = _multiplexed(case, host)
    gained_us = case.paint.gain_us(sooner)
    if len(host.requests) < MIN_REQUESTS and gained_us < MEDIUM_US:
        return None
    # Large answers come later over one connection: then nobody's time is claimed by it.
    saving_us = case.paint.claim(sooner) if gained_us >= MEDIUM_US else _multiplexed_largest_us(case, host, sooner)
    return Finding(
        id=FindingId.HTTP_H2_MISSING,
        severity=Severity.HIGH if (saving_us or 0) >= HIGH_US else Severity.MEDIUM,
        confidence=Confidence.MEDIUM,
        saving_us=saving_us,
        host=host.name,
        rows=numbers_of(host.requests),
        evidence=facts(
            requests=len(host.requests),
            connections=len(secure),
            connections_saved=len(secure) - 1,
            all_connections_ms=in_ms(sum(map(opening_us, secure))),
        ),
    )


def _multiplexed_largest_us(case: PageCase, host: PageHost, sooner: Mapping[int, int]) -> int | None:
    """What the largest picture gains where the first paint gains nothing: it comes as soon as it shares the line with
    all the others. Sooner still where the server sends what is more urgent first, which nobody knows."""
    largest = case.largest
    if largest is None or largest.asked is not largest.row or largest.row not in host.requests:
        return None
    sooner_us = sooner.get(largest.row.number, 0)
    return largest.claim(sooner_us) if largest.gain_us(sooner_us) >= MEDIUM_US else None


def _multiplexed(case: PageCase, host: PageHost) -> dict[int, int]:
    """By how much sooner requests would come, or later, had each been sent as soon as the page wanted it and the host's
    first connection was open, over that: over HTTP/1.1 they wait until a connection is free, too."""
    first = host.connections[0]
    open_us = ready_us(first) or 0
    sent = {row.number: row.timing.send.start_us for row in host.requests if row.timing.send is not None}
    wanted = {row.number: max(row.timing.start_us, open_us) for row in host.requests}
    waited = {number: max(0, sent_us - wanted[number]) for number, sent_us in sent.items()}
    waited = _over_first(case, host.connections[1:], host) | waited
    return sooner_over_one_us(case.page.waterfall.requests, waited, trip_us(first), case.paused)


def _over_first(case: PageCase, connections: Sequence[Connection], host: PageHost) -> dict[int, int]:
    """By how much sooner requests would come over the host's first connection than over these."""
    return case.sooner_over(host.connections[0], connections) if host.connections else {}
