"""Name servers that this machine cannot ask: what it says of a site, and who is asked instead."""

import errno
import os
import socket
from dataclasses import replace

import pytest

from workers.measurement.failure import Blame, FailureKind
from workers.probes import name_server
from workers.probes.faults import ProbeError
from workers.probes.settings import NameServer
from workers.tests.ports import closed_port
from workers.tests.probes.resolver import Resolver
from workers.tests.servers import Zone


@pytest.mark.parametrize(
    ("others", "kind", "blame"),
    [
        (None, FailureKind.INTERNAL_ERROR, Blame.MONITOR),
        (Zone(silent={"a.test"}), FailureKind.DNS_TIMEOUT, Blame.NETWORK),
        (Zone(failing={"a.test"}), FailureKind.DNS_SERVER_FAILURE, Blame.TARGET),
    ],
)
def test_a_name_server_of_ours_that_is_gone_says_nothing_of_a_site(
    resolver: Resolver, others: Zone | None, kind: FailureKind, blame: Blame
) -> None:
    resolver.hurry()
    if others is not None:
        resolver.serve(others.answer)
    resolver.add(closed_port())
    with pytest.raises(ProbeError) as caught:
        resolver.resolve("a.test")
    assert (caught.value.failure.kind, caught.value.failure.blame) == (kind, blame)


@pytest.mark.parametrize("code", [errno.EADDRNOTAVAIL, errno.ENETUNREACH])
def test_where_the_machine_speaks_no_ipv6_a_name_server_of_ipv4_is_asked(
    resolver: Resolver, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """With IPv6 switched off (net.ipv6.conf.all.disable_ipv6) there is no address to ask from."""
    made = name_server._socket

    def make(server: NameServer, kind: int) -> socket.socket:
        if ":" in server.address:
            raise OSError(code, os.strerror(code))
        return made(server, kind)

    monkeypatch.setattr(name_server, "_socket", make)
    resolver.serve(Zone(a={"a.test": ["192.0.2.1"]}).answer)
    servers = (NameServer(address="2001:4860:4860::8888"), *resolver.settings.servers)
    resolver.settings = replace(resolver.settings, servers=servers)
    assert resolver.resolve("a.test").addresses == ("192.0.2.1",)
