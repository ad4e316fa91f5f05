"""What Chrome's network log says of who got a request its connection, and which one that was.

A request is led to its connection by identity alone. QUIC: the request names its session. HTTP/2: the session names,
with each request's headers, the job that they came from. HTTP/1.1: the job was handed a socket. Chrome's new pool
hands a socket to a job without naming it, but in one go: the job that ends next has it.
"""

from collections.abc import Callable
from typing import TypeVar

from workers.measurement.compute.netlog.events import NetEvent, Phase
from workers.measurement.compute.netlog.log import NetworkLog
from workers.measurement.compute.netlog.nouns import MAX_SOURCES, NetHop

Handlers = dict[str, Callable[[NetEvent], None]]
N = TypeVar("N", int, bool)

# Chrome's numbers for a socket that nobody has used or kept yet, and for one that was used.
_FRESH, _USED = 0, 2
_OWN_JOB = "HTTP_STREAM_POOL_JOB_CONTROLLER_JOB_BOUND"
# The first that a client may open (RFC 9113, 5.1.1).
_FIRST_STREAM = 1


class Links:
    """Fills `log.controllers` and, of openers, what they belong to. `handlers` takes the events by name."""

    def __init__(self, log: NetworkLog) -> None:
        self._log = log
        self._job_controllers: dict[int, int] = {}
        self._job_sockets: dict[int, int] = {}
        self._job_openers: dict[int, int] = {}
        self._session_sockets: dict[int, int] = {}
        self._carried: dict[int, int] = {}
        self._found: dict[int, int] = {}
        self._handed: dict[int, int] = {}
        self._follows: dict[int, bool] = {}
        self._handle: int | None = None
        self._direct: int | None = None
        self.handlers: Handlers = {
            "HTTP_STREAM_JOB": self._job,
            "BOUND_TO_QUIC_SESSION_POOL_JOB": self._tries_quic,
            "HTTP_STREAM_JOB_BOUND_TO_QUIC_STREAM_FACTORY_JOB": self._tries_quic,
            "SOCKET_POOL_BOUND_TO_CONNECT_JOB": self._opened_by,
            "SOCKET_POOL_BOUND_TO_SOCKET": self._job_socket,
            "SOCKET_POOL_REUSED_AN_EXISTING_SOCKET": self._reused,
            "HTTP2_SESSION_INITIALIZED": self._session,
            "HTTP2_SESSION_POOL_FOUND_EXISTING_SESSION": self._finds,
            "HTTP2_SESSION_SEND_HEADERS": self._carries,
            "HTTP_STREAM_JOB_CONTROLLER_BOUND": self._bound,
            "HTTP_STREAM_POOL_JOB_CONTROLLER_FOUND_EXISTING_SPDY_SESSION": self._shares,
            "HTTP_STREAM_POOL_JOB_CONTROLLER_FOUND_EXISTING_QUIC_SESSION": self._shares,
            "HTTP_STREAM_POOL_JOB_CONTROLLER_JOB_BOUND": self._pool_job,
            "HTTP_STREAM_POOL_JOB_ALIVE": self._pool_job_ends,
            "HTTP_STREAM_POOL_GROUP_HANDLE_CREATED": self._hands_out,
        }

    def resolve(self, hop: NetHop) -> None:
        """Leads a request to its connection, as far as the log tells, once all events were taken."""
        hop.opener = hop.manager if hop.job is None else self._job_openers.get(hop.job)
        if hop.follows is None:
            known = (self._follows.get(who) for who in (hop.job, hop.controller) if who is not None)
            hop.follows = next((one for one in known if one is not None), None)
        if hop.link is not None:
            return
        makers = [maker for maker in (hop.job, hop.manager) if maker is not None]
        if hop.protocol in (None, "h2"):
            sessions = [] if hop.session is None else [hop.session]
            sessions += [where[maker] for where in (self._carried, self._found) for maker in makers if maker in where]
            # A session that was there before the log began stands for its socket, which is not told.
            hop.link = self._session_sockets.get(sessions[0], sessions[0]) if sessions else None
        if hop.link is None:
            handed = None if hop.controller is None else self._handed.get(hop.controller)
            hop.link = handed if hop.job is None else self._job_sockets.get(hop.job)

    def _note(self, where: dict[int, N], key: int, value: N | None) -> None:
        if value is None:
            return
        if len(where) >= MAX_SOURCES:
            self._log.truncated = True
            return
        where[key] = value

    # The classic pool

    def _job(self, event: NetEvent) -> None:
        if event.phase is Phase.BEGIN:
            self._direct = None
            self._note(self._job_controllers, event.source, event.dependency)

    def _tries_quic(self, event: NetEvent) -> None:
        self._tries(event.source, event.dependency)

    def _opened_by(self, event: NetEvent) -> None:
        self._note(self._job_openers, event.source, event.dependency)
        self._tries(event.source, event.dependency)

    def _tries(self, job: int, opener: int | None) -> None:
        controller = self._job_controllers.get(job)
        if controller is not None and opener is not None:
            self._log.add_try(controller, opener)

    def _job_socket(self, event: NetEvent) -> None:
        self._note(self._job_sockets, event.source, event.dependency)

    def _reused(self, event: NetEvent) -> None:
        self._note(self._follows, event.source, True)

    # Sessions of HTTP/2

    def _session(self, event: NetEvent) -> None:
        self._note(self._session_sockets, event.source, event.dependency)

    def _finds(self, event: NetEvent) -> None:
        self._note(self._found, event.source, event.dependency)

    def _carries(self, event: NetEvent) -> None:
        if event.dependency is not None:
            self._note(self._carried, event.dependency, event.source)
            if (later := follows(event)) is not None:
                self._note(self._follows, event.dependency, later)

    # The new pool

    def _bound(self, event: NetEvent) -> None:
        # Both sides write it; the controller's is the second. Without a job of its own, an idle socket follows, which
        # cannot be told where jobs are not.
        self._direct = event.source if _OWN_JOB in self._log.known else None

    def _shares(self, event: NetEvent) -> None:
        self._direct = None

    def _pool_job(self, event: NetEvent) -> None:
        self._direct = None
        if event.dependency is not None:
            self._note(self._job_controllers, event.dependency, event.source)

    def _hands_out(self, event: NetEvent) -> None:
        # A socket that was never idle was made for a job.
        if self._direct is not None and event.number("reuse_type") != _FRESH:
            self._note(self._handed, self._direct, event.dependency)
            if event.number("reuse_type") == _USED:
                self._note(self._follows, self._direct, True)
            self._direct = None
        else:
            self._handle = event.dependency

    def _pool_job_ends(self, event: NetEvent) -> None:
        if event.phase is not Phase.END:
            return
        controller = self._job_controllers.get(event.source)
        if controller is not None and _is_alone(event):
            self._note(self._handed, controller, self._handle)
        self._handle = None


def _is_alone(event: NetEvent) -> bool:
    """Whether what a job got carries one request at a time. Where nobody agreed on a protocol, it does (no TLS)."""
    agreed = str(event.params.get("negotiated_protocol", ""))
    return agreed.startswith("http/1") or (agreed == "unknown" and not event.params.get("net_error"))


def follows(event: NetEvent) -> bool | None:
    """Whether a session of HTTP/2 had carried a request before the one whose headers it sends."""
    stream = event.number("stream_id")
    return None if stream is None else stream > _FIRST_STREAM
