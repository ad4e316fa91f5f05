"""Where the names of a page's hosts lead, asked of the system's resolver after a run: the CDN behind a host that
neither its answers nor its address give away.

Chrome does not tell. Nobody is asked about hosts inside: an address that is not public is no CDN's.
"""

import socket
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace

from workers.measurement.compute.deliveries import deliveries_of, undecided
from workers.measurement.messages import Failed, Measured, PageMeasurement, RunRequest

_KEPT_S = 3600.0
_MAX_NAMES = 1000
_MAX_ASKED = 20
# An answer that takes longer serves the next run.
_PATIENCE_S = 0.3
_THREADS = 4
Ask = Callable[[str], str | None]


def canonical_name(host: str) -> str | None:
    """The name at the end of a host's aliases; None when it has none, or cannot be resolved."""
    try:
        answers = socket.getaddrinfo(host, 443, type=socket.SOCK_STREAM, flags=socket.AI_CANONNAME)
    except (OSError, UnicodeError):
        return None
    name = next((str(answer[3]) for answer in answers if answer[3]), "").rstrip(".").lower()
    return name if name and name != host.lower() else None


class Names:
    """Aliases by host, kept for an hour: they change seldom, and asking costs time. Thread-safe."""

    def __init__(self, ask: Ask = canonical_name, clock: Callable[[], float] = time.monotonic) -> None:
        self._ask = ask
        self._clock = clock
        self._known: OrderedDict[str, tuple[float, str | None]] = OrderedDict()
        self._asked: dict[str, Future[None]] = {}
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="names")

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def delivered(self, outcome: Measured | Failed, request: RunRequest) -> Measured | Failed:
        """The outcome of a page run with who delivered it."""
        page = outcome.measurement
        if not isinstance(page, PageMeasurement):
            return outcome
        mapped = {mapping.host for mapping in request.page.host_map}
        rows = page.waterfall.requests
        open_hosts = [host for host in undecided(rows) if host not in mapped]
        aliases = self._of(open_hosts[:_MAX_ASKED]) if open_hosts else {}
        return replace(outcome, measurement=replace(page, deliveries=deliveries_of(rows, aliases)))

    def _of(self, hosts: Sequence[str]) -> dict[str, str]:
        wait(self._questions(hosts), timeout=_PATIENCE_S)
        with self._lock:
            found = {host: self._known[host][1] for host in hosts if host in self._known}
        return {host: alias for host, alias in found.items() if alias is not None}

    def _questions(self, hosts: Iterable[str]) -> list[Future[None]]:
        """What has to be waited for."""
        now_s = self._clock()
        with self._lock:
            for host in hosts:
                kept = self._known.get(host)
                if host not in self._asked and (kept is None or now_s - kept[0] >= _KEPT_S):
                    self._asked[host] = self._threads.submit(self._learn, host)
            return [self._asked[host] for host in hosts if host in self._asked]

    def _learn(self, host: str) -> None:
        alias = self._ask(host)
        with self._lock:
            self._known[host] = (self._clock(), alias)
            self._known.move_to_end(host)
            while len(self._known) > _MAX_NAMES:
                self._known.popitem(last=False)
            del self._asked[host]
