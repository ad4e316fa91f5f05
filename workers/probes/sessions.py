"""TLS sessions that connections of a deep probe leave to later ones."""

from collections import Counter
from dataclasses import dataclass, field
from random import Random

from OpenSSL import SSL

from workers.measurement.compute.probe.handshake_messages import tickets_of
from workers.measurement.evidence import Trial
from workers.measurement.tls_records import TLS13
from workers.probes.bindings import max_early_data_bytes
from workers.probes.recorder import HopRecorder

_MAX_SESSIONS = 24
# Whose connections offer no TLS 1.3.
OLD = frozenset({Trial.TLS12, Trial.TLS12_TICKET, Trial.TLS12_SESSION_ID})
# Whose sessions are continued by ticket.
_BY_TICKET = frozenset({Trial.TLS12, Trial.TLS12_TICKET})
# Whose sessions a trial takes up.
_OF_BROWSERS = frozenset({Trial.FULL, Trial.RESUMED, Trial.EARLY_DATA, Trial.DELAYED_ACK, Trial.CLASSICAL})
_SOURCES = {
    Trial.RESUMED: _OF_BROWSERS,
    Trial.RESUMED_ELSEWHERE: _OF_BROWSERS,
    Trial.TLS12_TICKET: _BY_TICKET,
    Trial.TLS12_SESSION_ID: frozenset({Trial.TLS12_SESSION_ID}),
}


@dataclass(frozen=True, slots=True)
class _Kept:
    """`turn` counts the connections to the server that there were when it was made."""

    kind: Trial
    session: SSL.Session
    turn: int

    def fits(self, kind: Trial, early_bytes: int) -> bool:
        if kind is Trial.EARLY_DATA:
            return self.kind not in OLD and max_early_data_bytes(self.session) >= early_bytes
        return self.kind in _SOURCES.get(kind, ())


@dataclass(slots=True)
class Sessions:
    """Each is taken up once, as clients do.

    Behind one address servers may take turns, without knowing each other's sessions. So sessions are taken that are
    now so many, now so many connections old: if always the same, all attempts would meet the same fate.

    `early_bytes` is the length of the request that is to be sent early.
    """

    random: Random
    early_bytes: int = 1
    turn: int = 0
    _kept: list[_Kept] = field(default_factory=list)
    _given: set[Trial] = field(default_factory=set)
    _ages: dict[Trial, Counter[tuple[int, int]]] = field(default_factory=dict)

    def keep(self, kind: Trial, recorder: HopRecorder, session: SSL.Session | None, taken_turn: int | None) -> None:
        """One that can be taken up again: of TLS 1.3 only with a ticket of this very connection, since some servers
        take each only once. What is to be continued by ticket, and began anew without being given one, could be by its
        id alone. `taken_turn` is that of the session that the connection took up itself."""
        done, notes = recorder.handshake, recorder.notes
        if done is None or notes is None or session is None or len(self._kept) >= _MAX_SESSIONS:
            return
        ticket = tickets_of(tuple(notes.messages), done.version).number > 0
        if not ticket and (done.version == TLS13 or (kind in _BY_TICKET and not done.resumed)):
            return
        same = done.resumed and not ticket and taken_turn is not None
        self._kept.append(_Kept(kind, session, taken_turn if same and taken_turn is not None else self.turn))
        self._given.add(kind)

    def take(self, kind: Trial) -> tuple[SSL.Session, int] | None:
        """For a trial of that kind, with its turn; None where there is none."""
        fitting = [one for one in self._kept if one.fits(kind, self.early_bytes)]
        if not fitting:
            return None
        met = self._ages.setdefault(kind, Counter())
        chosen = min(fitting, key=lambda one: (self._times_met(met, one), self.random.random()))
        met.update(_remainders(self.turn - chosen.turn))
        self._kept.remove(chosen)
        return chosen.session, chosen.turn

    def used_up(self, kind: Trial) -> bool:
        """Whether servers gave sessions for such trials, of which none is left: then a trial would tell nothing."""
        given = kind is Trial.EARLY_DATA or bool(self._given & _SOURCES.get(kind, frozenset()))
        return given and not any(one.fits(kind, self.early_bytes) for one in self._kept)

    def _times_met(self, met: Counter[tuple[int, int]], one: _Kept) -> int:
        return sum(met[remainder] for remainder in _remainders(self.turn - one.turn))


def _remainders(age: int) -> tuple[tuple[int, int], ...]:
    """What decides which of two or three servers that take turns it is."""
    return (2, age % 2), (3, age % 3)
