"""What a deep probe does after its journey, led from the caller's thread: one connection after another, never at once.

Each is made in the engine's thread; what it means, and so which one follows, is computed here.
"""

import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from random import Random
from typing import Any, Protocol

from workers.measurement.captures_probe import ProbeCapture
from workers.measurement.compute.probe.evidence import Deeper
from workers.measurement.compute.probe.trial_plan import Scope, Step, next_step, planned
from workers.measurement.evidence import Trial
from workers.measurement.messages import RunRequest
from workers.measurement.target import is_allowed
from workers.probes.dns import Resolution, look_deeper
from workers.probes.exchange import Asking, Tell
from workers.probes.guard import has_route
from workers.probes.http3 import advertised_port
from workers.probes.issuers import verify_with_issuers
from workers.probes.journey import Place
from workers.probes.link import Kit
from workers.probes.loop import Wait
from workers.probes.sessions import Sessions
from workers.probes.trial import Visit

# All trials together; the journey has its own time.
_TOTAL_NS = 120_000_000_000
# A trial may take much longer than the journey's last hop did, but not as long as one that never ends.
_PATIENCE_FACTOR = 10
_LEAST_PATIENCE_US = 5_000_000
_NAMES_US = 5_000_000
_ISSUER_US = 5_000_000
_H3 = "h3"
# At so many other addresses it is tried whether sessions are shared; a CDN's name has dozens.
_MOST_ELSEWHERE = 2
# What leaves in one flight with a ClientHello of two packets, where the first window is ten.
_MOST_EARLY_BYTES = 10_000


# Told how many connections there are, the journey's own among them, and to how many it comes as far as is known by now.
OnConnection = Callable[[int, int], None]


class Work(Protocol):
    """Has a coroutine of network work run in the engine's thread, and waits for it."""

    def __call__(self, begin: Callable[[Kit, Tell], Coroutine[Wait, None, Any]]) -> Any: ...


def look_deeper_at(
    request: RunRequest, capture: ProbeCapture, place: Place, kit: Kit, work: Work, told: OnConnection | None
) -> Deeper:
    """Everything about the place where a journey ended that one connection cannot tell."""
    return _Dive(request, capture, place, kit, work, told or _nobody).run()


def _nobody(_made: int, _planned: int) -> None:
    """Nobody waits for it."""


def _early_bytes(place: Place, kit: Kit) -> int:
    """How long a request is; HTTP/2 says it in fewer."""
    asking = Asking(target=place.target, user_agent=kit.settings.user_agent, headers=place.headers)
    return len(asking.spoken(trusted=True))


class _Dive:
    def __init__(
        self, request: RunRequest, capture: ProbeCapture, place: Place, kit: Kit, work: Work, told: OnConnection
    ) -> None:
        self._request = request
        self._place = place
        self._kit = kit
        self._work = work
        self._told = told
        self._run_ns = capture.before.monotonic_ns
        self._until_ns = time.monotonic_ns() + _TOTAL_NS
        self._deeper = Deeper.of(capture)
        self._other_family = False
        early_bytes = _early_bytes(place, kit)
        self._given_up = {Trial.EARLY_DATA} if early_bytes > _MOST_EARLY_BYTES else set()
        self._sessions = Sessions(Random(request.run_id.int), early_bytes)
        kind = Trial.CLASSICAL if place.classical else Trial.FULL
        self._sessions.keep(kind, place.recorder, place.session, None)
        self._sessions.turn += len(self._deeper.own)

    def run(self) -> Deeper:
        self._ask_names()
        self._ask_for_issuers()
        self._other_family = self._work(lambda _, __: self._can_try_other_family())
        while time.monotonic_ns() < self._until_ns:
            seen, scope = self._deeper.seen, self._scope()
            self._told(len(seen), planned(seen, scope))
            step = next_step(seen, scope)
            if step is None:
                break
            if self._sessions.used_up(step.trial):
                self._get_session(step.trial)
            else:
                self._make(step)
        self._deeper.quic_passes = self._learn_of_quic()
        self._deeper.ipv6_passes = self._kit.network.ipv6.holds(time.monotonic_ns())
        return self._deeper

    def _learn_of_quic(self) -> bool:
        """A firewall of our own must not be told of as that of every site: while anybody answers, there is none."""
        over_quic = (one.handshake for one in self._deeper.seen if one.trial is Trial.HTTP3)
        if any(shaken is not None and shaken.ended_us is not None for shaken in over_quic):
            self._kit.network.quic.last_ns = time.monotonic_ns()
        return self._kit.network.quic.holds(time.monotonic_ns())

    def _get_session(self, kind: Trial) -> None:
        """From a further connection, for trials of that kind; they are given up when it leaves none."""
        self._make(Step(trial=Trial.CLASSICAL if self._place.classical else Trial.FULL))
        if self._sessions.used_up(kind):
            self._given_up.add(kind)

    def _make(self, step: Step) -> None:
        visit = Visit(
            kit=self._kit,
            place=self._place,
            step=step,
            sessions=self._sessions,
            ignore_certificate_errors=self._request.ignore_certificate_errors,
            deadline_ns=self._deadline_ns(self._patience_us),
            http3_port=self._http3_port(),
        )
        self._deeper.add(self._work(lambda _, __: visit.run()), self._run_ns)

    def _ask_names(self) -> None:
        place, kit = self._place, self._kit
        found = Resolution(addresses=place.addresses, lookup=place.lookup)
        deadline_ns = self._deadline_ns(_NAMES_US)
        names = self._work(
            lambda _, __: look_deeper(
                place.target.host, place.target.port, found, kit.names, kit.settings.names, deadline_ns=deadline_ns
            )
        )
        self._deeper.names.append(names)
        if self._place.other_address is None:
            # A name server may be too slow the first time to tell of the other family.
            self._place = replace(place, addresses=names.addresses or place.addresses)

    def _ask_for_issuers(self) -> None:
        deadline_ns = self._deadline_ns(_ISSUER_US)
        shaken = self._place.recorder.handshake
        if shaken is not None:
            self._deeper.issuer_verified = self._work(lambda _, __: verify_with_issuers(self._kit, shaken, deadline_ns))

    async def _can_try_other_family(self) -> bool:
        """Asked in the engine's thread, which may live in a network of its own."""
        other = self._place.other_address
        return self._kit.settings.family is None and other is not None and has_route(other)

    def _scope(self) -> Scope:
        place = self._place
        return Scope(
            secure=place.target.secure,
            other_family=self._other_family,
            http3=self._http3_port() is not None,
            classical=place.classical,
            elsewhere=place.elsewhere[:_MOST_ELSEWHERE],
            given_up=frozenset(self._given_up),
        )

    def _http3_port(self) -> int | None:
        """Where the server, or its name, says that it speaks HTTP/3: no other port than any target may have."""
        target, settings = self._place.target, self._kit.settings
        headers = (header for one in self._deeper.seen for asked in one.exchanges for header in asked.headers)
        port = advertised_port(header.value for header in headers if header.name.lower() == "alt-svc")
        if port is None and any(name.https and _H3 in name.https.protocols for name in self._deeper.names):
            port = target.port
        if port is None or (port != target.port and not is_allowed(port, settings.extra_ports)):
            return None
        return port

    def _deadline_ns(self, most_us: int) -> int:
        now_ns = time.monotonic_ns()
        return min(self._until_ns, now_ns + min(self._request.timeout_us, most_us) * 1000)

    @property
    def _patience_us(self) -> int:
        ended = self._deeper.own[-1].ended_us if self._deeper.own else None
        return max(_LEAST_PATIENCE_US, _PATIENCE_FACTOR * (ended or 0))
