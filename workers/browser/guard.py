"""Which targets a browser may be sent to, judged before anything is sent.

Chrome resolves names itself, so this cannot be the only wall: the addresses that a page led to are judged again
afterwards (`compute/page/outcome.py`), and the agent's container has a firewall (`workers/firewall.py`). A verdict on a
name is kept for some minutes: asking for it before every run would warm the resolver and falsify the page's own DNS
times.
"""

import socket
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Set
from dataclasses import replace
from ipaddress import ip_address

from workers.browser.faults import BrowserError
from workers.measurement.addresses import Network, may_measure
from workers.measurement.compute.page.outcome import SILENCE_US
from workers.measurement.failure import Failure, FailureKind, failure
from workers.measurement.messages import RunRequest
from workers.measurement.page_options import Visit
from workers.measurement.page_rules import mapped_ports_fault, own_host_fault, page_faults
from workers.measurement.target import Ports, TargetError, parse_target

Resolve = Callable[[str, int], tuple[str, ...] | None]

_KEPT_S = 600.0
_MAX_NAMES = 1000


def resolve(host: str, port: int) -> tuple[str, ...] | None:
    """Every address of a host by the system's resolver, of which there may be none; None when it was not told.

    Raises BrowserError when this machine could not ask.
    """
    if host == "localhost" or host.endswith(".localhost"):
        # Chrome does not ask anybody for these (RFC 6761, 6.3), and not every resolver knows them.
        return ("127.0.0.1", "::1")
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        return None if isinstance(error, socket.gaierror) and error.errno == socket.EAI_AGAIN else ()
    except OSError as error:
        # What the resolver says is a gaierror; this is the system's word, as of too many open files.
        raise BrowserError(f"names cannot be looked up: {error.strerror}") from error
    return tuple(dict.fromkeys(str(answer[4][0]) for answer in answers))


class Guard:
    """Judges targets and addresses.

    Thread-safe. `only_private` refuses the public Internet (a browser without sandbox).
    """

    def __init__(
        self,
        *,
        allowed: tuple[Network, ...] = (),
        extra_ports: Ports = frozenset(),
        only_private: bool = False,
        resolve: Resolve = resolve,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._allowed = allowed
        self._extra_ports = extra_ports
        self._only_private = only_private
        self._resolve = resolve
        self._clock = clock
        self._verdicts: OrderedDict[tuple[str, int], tuple[float, Failure | None]] = OrderedDict()
        self._lock = threading.Lock()

    def may_measure(self, address: str) -> bool:
        """Whether a page may have led to this address."""
        return may_measure(address, allowed=self._allowed)

    def refuses(self, request: RunRequest) -> Failure | None:
        """Why a run must not be carried out, or None: by its options, the addresses in them, its URL and its steps'."""
        page = request.page
        # Which ports may be visited is this guard's to say.
        rest = replace(page, steps=tuple(step for step in page.steps if not isinstance(step, Visit)))
        for sentence in page_faults(rest).values():
            return failure(FailureKind.INVALID_REQUEST, sentence)
        fault = own_host_fault(page, request.url) or mapped_ports_fault(page, self._extra_ports)
        if fault is not None:
            return failure(FailureKind.INVALID_REQUEST, fault)
        for mapping in page.host_map:
            if (verdict := self._judge(mapping.host, (mapping.address,))) is not None:
                return verdict
        visited = [step.url for step in page.steps if isinstance(step, Visit)]
        elsewhere = {mapping.host for mapping in page.host_map} | set(page.black_holes)
        return next(filter(None, (self.refusal(url, elsewhere) for url in (*visited, request.url))), None)

    def refusal(self, url: str, elsewhere: Set[str] = frozenset()) -> Failure | None:
        """Why a target must not be loaded, or None. A name that does not resolve is left to the browser to fail at.

        Hosts in `elsewhere` are led to addresses that were judged already; where their names point does not matter.
        """
        try:
            target = parse_target(url, extra_ports=self._extra_ports)
        except TargetError as error:
            return failure(FailureKind.INVALID_URL, str(error))
        if target.host in elsewhere:
            return None
        key = (target.host, target.port)
        with self._lock:
            kept = self._verdicts.get(key)
        if kept is not None and self._clock() - kept[0] < _KEPT_S:
            return kept[1]
        asked_s = self._clock()
        addresses = self._resolve(target.host, target.port)
        if not addresses:
            return self._without_address(addresses, self._clock() - asked_s)
        verdict = self._judge(target.host, addresses)
        self._keep(key, verdict)
        return verdict

    def _without_address(self, addresses: tuple[str, ...] | None, took_s: float) -> Failure | None:
        """Not kept: a moment later the name may have one."""
        if not self._only_private:
            return None
        if addresses is not None:
            return failure(FailureKind.DNS_NOT_FOUND)
        is_silence = took_s * 1_000_000 >= SILENCE_US
        return failure(FailureKind.DNS_TIMEOUT if is_silence else FailureKind.DNS_SERVER_FAILURE)

    def _keep(self, key: tuple[str, int], verdict: Failure | None) -> None:
        with self._lock:
            self._verdicts[key] = (self._clock(), verdict)
            while len(self._verdicts) > _MAX_NAMES:
                self._verdicts.popitem(last=False)

    def _judge(self, host: str, addresses: tuple[str, ...]) -> Failure | None:
        """One bad answer refuses the name. Which one is never told: it would make us a map of the inside."""
        if not all(map(self.may_measure, addresses)):
            return failure(FailureKind.BLOCKED_DESTINATION, host)
        if self._only_private and not all(map(self._is_allowed, addresses)):
            return failure(
                FailureKind.BROWSER_FAILED,
                "its sandbox does not work here, so it loads only targets inside FIRSTBYTE_PRIVATE_TARGETS; "
                "allow user namespaces, or set FIRSTBYTE_ALLOW_UNSANDBOXED=1",
            )
        return None

    def _is_allowed(self, address: str) -> bool:
        parsed = ip_address(address)
        return any(network.version == parsed.version and parsed in network for network in self._allowed)
