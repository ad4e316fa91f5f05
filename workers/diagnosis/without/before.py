"""What single loads tell before there are pairs: that they lead nowhere, or were not made as they were meant."""

from collections.abc import Set as AbstractSet

from workers.diagnosis.page.hosts import document_host, hosts_of
from workers.diagnosis.without.samples import Load, load_of, sample_of
from workers.measurement.messages import Failed, Measured, PageMeasurement


def leading_nowhere(outcome: Measured | Failed, hosts: AbstractSet[str]) -> Load | None:
    """A first load with the hosts that failed, or asked nothing of them: a disturbed one tells that as well."""
    if isinstance(outcome, Failed):
        return load_of(outcome, hosts)
    page = outcome.measurement
    sample = sample_of(page, hosts) if isinstance(page, PageMeasurement) else None
    return None if sample is None or sample.asked & hosts else Load(sample=sample)


def own_host_sentence(outcome: Measured | Failed, url: str, hosts: AbstractSet[str]) -> str | None:
    """That the page comes from one of the hosts, to which its address leads."""
    page = outcome.measurement
    host = document_host(page) if isinstance(page, PageMeasurement) else None
    return f"{url} leads to {host}: without it there is no page." if host in hosts else None


def reached(outcome: Measured | Failed, hosts: AbstractSet[str]) -> frozenset[str]:
    """Those of the hosts that were asked over the network. Of a load that was made without them there are none: who
    does not know how to leave them out makes an ordinary one.
    """
    page = outcome.measurement
    asked = hosts_of(page) if isinstance(page, PageMeasurement) else ()
    return frozenset(host.name for host in asked) & hosts
