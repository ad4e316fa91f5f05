"""A client and a server, each in a network of its own, a delay link between them, and a name server at the far end.

See `lab` for the guide.
"""

import atexit
import socket
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from ipaddress import ip_interface
from types import TracebackType
from typing import Any, Self, overload

from workers.shaping.cable import Cable, End, Plug, furnish, make_home
from workers.shaping.links import Links
from workers.shaping.namespace import Namespace
from workers.shaping.netlink import RouteMetrics
from workers.shaping.settings import Drop, Impairment, LinkSettings, Overtaken
from workers.tests.netlab.capture import Capture
from workers.tests.netlab.programs import start_inside
from workers.tests.servers import DnsServer, Zone
from workers.tests.waiting import wait_for

NAME = "www.lab.test"
NETWORKS = "10.77.0.0/24,fd77::/64"
_CLIENT = ("10.77.0.2/24", "fd77::2/64")
_SERVER = ("10.77.0.1/24", "fd77::1/64")
_CARRIER_LOCK = threading.Lock()


@cache
def _make_carrier() -> tuple[Links, Namespace]:
    junction = Namespace("junction")
    links = Links()
    atexit.register(links.close)
    return links, junction


def _carrier() -> tuple[Links, Namespace]:
    """The process that carries the links of all labs of this process, and where their ends are."""
    with _CARRIER_LOCK:
        return _make_carrier()


class LabNetwork:
    """Everything of a lab but what measures."""

    def __init__(
        self,
        *,
        rtt_ms: float,
        rtt6_ms: float | None = None,
        rate_kbit_s: int | None = None,
        up_kbit_s: int | None = None,
        loss: Sequence[Drop] = (),
        loss_ppm: int = 0,
        overtaken: Overtaken | None = None,
        delayed_ack_ms: float | None = None,
        impairment: Impairment | None = None,
        seed: int = 1,
        server_iw: int = 10,
        server_congestion: str = "cubic",
        ipv6: bool = False,
    ) -> None:
        self._numbers = LinkSettings(
            rtt_us=round(rtt_ms * 1000),
            rtt6_us=None if rtt6_ms is None else round(rtt6_ms * 1000),
            down_kbit_s=rate_kbit_s,
            up_kbit_s=up_kbit_s,
            loss_ppm=loss_ppm,
            drops=tuple(loss),
            overtaken=overtaken,
            delayed_ack_us=None if delayed_ack_ms is None else round(delayed_ack_ms * 1000),
            impairment=impairment,
            seed=seed,
        )
        self.server_address4, self.server_address6 = (str(ip_interface(text).ip) for text in _SERVER)
        self.server_address = self.server_address6 if ipv6 else self.server_address4
        self.zone = Zone()
        (self.zone.aaaa if ipv6 else self.zone.a)[NAME] = [self.server_address]
        self._server_metrics = RouteMetrics(congestion_control=server_congestion, initial_window=server_iw)
        self._stack = ExitStack()
        self._gone = threading.Event()

    def __enter__(self) -> Self:
        with self._stack:
            links, junction = _carrier()
            self.client = self._stack.enter_context(Namespace("client"))
            self.server = self._stack.enter_context(Namespace("server"))
            self._cable = Cable(links, junction)
            client, server = Plug(network=self.client), Plug(network=self.server)
            self._cable.join(client, server, self._numbers)
            self._stack.callback(self._cable.close)
            make_home(self.client)
            make_home(self.server)
            furnish(client, End(addresses=_CLIENT, metrics=RouteMetrics(congestion_control="cubic")))
            furnish(server, End(addresses=_SERVER, metrics=self._server_metrics))
            self.server.sysctl("net.ipv4.ip_unprivileged_port_start", 0)
            names = self.server.call(lambda: DnsServer(self.zone.answer, host=self.server_address4, port=53))
            self._stack.enter_context(names)
            self._stack.callback(self._gone.set)
            self._stack = self._stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def shape(self, **changes: Any) -> None:
        """Other numbers for the link from now on, by the keywords of LinkSettings; connections are counted anew."""
        self._cable.change(replace(self._numbers, **changes))

    def report(self) -> dict[str, int]:
        """See `workers.shaping.link.Link.report`."""
        return self._cable.report()

    @overload
    def run_server(self, server: Sequence[str]) -> subprocess.Popen[bytes]: ...
    @overload
    def run_server(self, server: Callable[[threading.Event], None]) -> threading.Thread: ...
    def run_server(
        self, server: Sequence[str] | Callable[[threading.Event], None]
    ) -> subprocess.Popen[bytes] | threading.Thread:
        """A program, or a function in a thread, inside the server's network. It is ended with the lab."""
        if callable(server):
            return self._run_thread(server)
        process = start_inside(self.server, server)
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return process

    def wait_for_port(self, port: int, address: str | None = None) -> None:
        """Until somebody listens on that port of the server, as seen from inside, without the link's delay."""
        where = (address or self.server_address, port)
        wait_for(lambda: self.server.call(lambda: _accepts(where)), f"a server on {where}")

    def capture(self) -> Capture:
        """The packets at the client's end."""
        return Capture(self.client)

    def _run_thread(self, server: Callable[[threading.Event], None]) -> threading.Thread:
        thread = threading.Thread(target=server, args=(self._gone,), daemon=True)
        self.server.call(thread.start)
        self._stack.callback(thread.join)
        self._stack.callback(self._gone.set)
        return thread


def _accepts(where: tuple[str, int]) -> bool:
    try:
        with socket.create_connection(where, timeout=2):
            return True
    except OSError:
        return False
