"""Loads of a page as it is and without hosts, in pairs: what of each load a verdict is made of."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from workers.diagnosis.catalogue import entry
from workers.diagnosis.catalogue.entry import Counts
from workers.measurement.contention import is_contended
from workers.measurement.domains import registrable
from workers.measurement.failure import Failure, FailureKind
from workers.measurement.finding import FindingId
from workers.measurement.messages import Failed, Measured, PageMeasurement
from workers.measurement.page_view import ConsoleLevel
from workers.measurement.vitals import Vitals
from workers.measurement.waterfall import Request, received_bytes
from workers.measurement.web_address import host_of

# What the browser says of each file that does not come, whoever left its host out.
_NOT_COME = "Failed to load resource"
_MAX_FILE_CHARS = 40


class Metric(StrEnum):
    """What is compared, in the order in which a person wants it."""

    LCP = "lcp"
    FCP = "fcp"
    START_RENDER = "start_render"
    SPEED_INDEX = "speed_index"
    TBT = "tbt"
    FULLY_LOADED = "fully_loaded"
    BYTES = "bytes"
    REQUESTS = "requests"


# In microseconds; the others are counted.
TIMES = (Metric.LCP, Metric.FCP, Metric.START_RENDER, Metric.SPEED_INDEX, Metric.TBT, Metric.FULLY_LOADED)
COUNTS = (Metric.BYTES, Metric.REQUESTS)


class Side(StrEnum):
    WITH = "with"
    WITHOUT = "without"


class LeftOut(StrEnum):
    """Why a load is not compared: it failed, was met by a test of the visitor, shared its machine with other work, or
    the network did not keep its profile's numbers."""

    FAILED = "failed"
    CHALLENGED = "challenged"
    DISTURBED = "disturbed"
    OFF_PROFILE = "off_profile"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSample:
    """One load that was measured. `largest` names the element of the largest paint, with its picture's file; `asked`
    are the hosts that were asked for anything; `own_requests` counts what was asked of the page's own domain, and not
    of the hosts in question. `errors` are what its scripts failed with. `estimates_us` is what its causes cost that lie
    with those hosts, by cause and host.
    """

    values: Mapping[Metric, int | None]
    largest: str | None = None
    asked: frozenset[str] = frozenset()
    own_requests: int = 0
    errors: frozenset[str] = frozenset()
    estimates_us: Mapping[tuple[FindingId, str], int] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever painted."""
        return self.values[Metric.FCP] is None and self.values[Metric.START_RENDER] is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What came of one load: a sample, or why it is left out, with its failure where it has one."""

    sample: LoadSample | None = None
    left_out: LeftOut | None = None
    failure: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPair:
    """A load of each kind, back to back; `first` says which was made first."""

    first: Side
    with_hosts: Load
    without: Load


@dataclass(frozen=True, slots=True)
class SamplePair:
    """Both samples of a pair of which neither is left out."""

    with_hosts: LoadSample
    without: LoadSample


def load_of(outcome: Measured | Failed, hosts: AbstractSet[str]) -> Load:
    """What a load brings to the verdict on the `hosts`, which it was made with or without."""
    if isinstance(outcome, Failed):
        challenged = outcome.failure.kind is FailureKind.PAGE_CHALLENGE
        return Load(left_out=LeftOut.CHALLENGED if challenged else LeftOut.FAILED, failure=outcome.failure)
    page = outcome.measurement
    if not isinstance(page, PageMeasurement):
        raise ValueError("only pages are loaded without hosts")
    if is_contended(page.vitals):
        return Load(left_out=LeftOut.DISTURBED)
    if page.profile_verified is False:
        return Load(left_out=LeftOut.OFF_PROFILE)
    return Load(sample=sample_of(page, hosts))


def sample_of(page: PageMeasurement, hosts: AbstractSet[str]) -> LoadSample:
    rows = page.waterfall.requests
    own = _own_domain(page)
    came = [row for row in rows if not _is_left_out(row, hosts)]
    return LoadSample(
        values=_times(page.vitals) | _counts(came, truncated=page.waterfall.truncated),
        largest=_largest(page.vitals),
        asked=frozenset(filter(None, map(_host, rows))),
        own_requests=sum(host not in hosts and registrable(host) == own for host in map(_host, rows)),
        errors=frozenset(
            message.text
            for message in page.console
            if message.level is ConsoleLevel.ERROR and not message.text.startswith(_NOT_COME)
        ),
        estimates_us=dict(_estimates(page, hosts)),
    )


def complete(pairs: Sequence[LoadPair]) -> list[SamplePair]:
    """Those that are compared."""
    both = ((pair.with_hosts.sample, pair.without.sample) for pair in pairs)
    return [SamplePair(one, other) for one, other in both if one is not None and other is not None]


def _times(vitals: Vitals) -> dict[Metric, int | None]:
    return {
        Metric.LCP: vitals.lcp_us,
        Metric.FCP: vitals.fcp_us,
        Metric.START_RENDER: vitals.start_render_us,
        Metric.SPEED_INDEX: vitals.speed_index_us,
        Metric.TBT: vitals.tbt_us,
        Metric.FULLY_LOADED: vitals.fully_loaded_us,
    }


def _counts(rows: Sequence[Request], *, truncated: bool) -> dict[Metric, int | None]:
    """Unknown of a page that asked for more than is kept."""
    if truncated:
        return {Metric.BYTES: None, Metric.REQUESTS: None}
    return {Metric.BYTES: received_bytes(rows), Metric.REQUESTS: len(rows)}


def _is_left_out(row: Request, hosts: AbstractSet[str]) -> bool:
    """Whether it is only there as what failed for want of its host."""
    return row.failure is not None and row.status is None and _host(row) in hosts


def _estimates(page: PageMeasurement, hosts: AbstractSet[str]) -> Iterator[tuple[tuple[FindingId, str], int]]:
    """Of causes that lie with those hosts alone, and cost the first view, as which every load is made."""
    by_number = {row.number: _host(row) for row in page.waterfall.requests}
    for finding in page.diagnosis.findings if page.diagnosis else ():
        named = {finding.host} if finding.host else {by_number[row] for row in finding.rows if row in by_number}
        counts = entry(finding.id).counts is Counts.NEW_VISIT
        if finding.saving_us is not None and counts and named and named <= hosts:
            yield (finding.id, ", ".join(sorted(named))), finding.saving_us


def _own_domain(page: PageMeasurement) -> str | None:
    document = next((row for row in page.waterfall.requests if row.number == page.document), None)
    return None if document is None else registrable(_host(document))


def _host(row: Request) -> str:
    return host_of(row.url)


def _largest(vitals: Vitals) -> str | None:
    """An address may change with each load in all but its file's name."""
    address = urlsplit(vitals.lcp_url or "")
    file = PurePosixPath(address.path).name if address.scheme in ("http", "https") else ""
    told = f"({file[-_MAX_FILE_CHARS:]})" if file else ""
    return " ".join(filter(None, (vitals.lcp_element, told))) or None
