"""The test lab: a client and a server, each in a network of its own, with a delay link between them.

    with Lab(rtt_ms=80) as lab:
        lab.run_server(["nginx", "-c", str(configuration)])      # inside the server's network; killed with the lab
        lab.wait_for_port(443)
        outcome = lab.probe("https://www.lab.test/")              # by an Engine whose thread lives in the client's

- `lab.server`, `lab.client`: the two namespaces. `.call(f)` runs `f` inside and gives what it returns (a socket opened
  by it stays inside); `.enter()` moves the calling thread there and all it starts from then on; `.sysctl(name, value)`
  sets what that network has of its own, as `net.ipv4.tcp_frto`. `start_inside(network, argv)` starts a program in one.
- `lab.run_server(argv)` gives a Popen; `lab.run_server(function)` runs `function(gone)` in a thread inside the server's
  network, where `gone` is an Event that is set when the lab closes. A program keeps time better than a thread here.
- Addresses are the same in every lab, since each is a network of its own: `lab.server_address` (`lab.server_address4`,
  `lab.server_address6`); bind servers to it, any port, also below 1024. `ipv6=True` makes the names known by it alone.
- Names: `lab.zone` is what the name server at the far end says, and answers after one round trip. It begins with
  `www.lab.test`; add others (`lab.zone.a["x.lab.test"] = [lab.server_address]`) at any time.
- `lab.probe(url, **changes)`: one probe, by keywords of `build_request`; `lab.engine` is the engine, `lab.settings` is
  what it is made with (change it with `lab.configure(ca_file=…)` before the first probe).
- `lab.shape(…)` gives the link other numbers or another script of losses; what is not named is as at the beginning.
- `with lab.capture() as capture:` … `capture.packets()` is every packet at the client with the kernel's stamps.
- `lab.report()`: packets by fate, and how late the link let them out. Many labs may be open, from any threads.

The client acknowledges as Linux does (quickly), or with `delayed_ack_ms` as a system that waits so long. Both ends use
`cubic`, which does not pace (the server another one by `server_congestion`), and remember nothing of earlier
connections.

Without the rights to make a network NotPermittedError is raised; `./dev test` sees to these rights.
"""

import threading
from dataclasses import replace
from typing import Any

from workers.measurement.addresses import parse_networks
from workers.measurement.messages import Failed, Measured, OnProgress
from workers.probes.engine import Engine
from workers.probes.settings import NameServer, NameSettings, ProbeSettings
from workers.tests.builders import build_request
from workers.tests.netlab.network import NETWORKS, LabNetwork

_EXTRA_PORTS = frozenset(range(1, 65536))


class Lab(LabNetwork):
    """See the module's guide."""

    def __init__(self, *, rtt_ms: float, **numbers: Any) -> None:
        """By the keywords of LabNetwork."""
        super().__init__(rtt_ms=rtt_ms, **numbers)
        self.settings = ProbeSettings(
            allowed=parse_networks(NETWORKS),
            extra_ports=_EXTRA_PORTS,
            names=NameSettings(servers=(NameServer(address=self.server_address4),), patience_s=3.0, rounds=2),
        )
        self._lock = threading.Lock()
        self._engine: Engine | None = None

    def configure(self, **changes: Any) -> None:
        """Other settings of the engine, before the first probe."""
        self.settings = replace(self.settings, **changes)

    @property
    def engine(self) -> Engine:
        """An engine in the client's network, made when it is first asked for."""
        with self._lock:
            if self._engine is None:
                self._engine = self._stack.enter_context(Engine(self.settings, enter=self.client.enter))
        return self._engine

    def probe(self, url: str, on_progress: OnProgress | None = None, **changes: Any) -> Measured | Failed:
        """One probe of the URL, with at most 30 s unless told otherwise."""
        return self.engine.probe(build_request(**({"url": url, "timeout_us": 30_000_000} | changes)), on_progress)
