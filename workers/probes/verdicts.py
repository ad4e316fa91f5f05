"""Which chains were found in order a short while ago: the same bytes for the same host need not be verified again.

Verification is a quarter of what OpenSSL does in a handshake, and the same site is asked every minute. Chrome keeps its
verdicts as long. Only a chain without any fault is remembered: what is wrong is looked at each time.
"""

import time
from collections.abc import Callable
from hashlib import sha256

from workers.measurement.compute.chain import chain_certificates

_LIFE_S = 1800.0
_MOST = 8192

Key = tuple[str, bytes]


def key_of(host: str, message: bytes) -> Key:
    """Of a Certificate message: all that verification looks at, but for the time."""
    return host, sha256(message).digest()


class Verdicts:
    """For use in one thread. `clock` gives seconds since 1970."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._until_s: dict[Key, float] = {}
        self._clock = clock

    def hold(self, key: Key) -> bool:
        """Whether that chain is still known to be in order for that host."""
        until_s = self._until_s.get(key)
        return until_s is not None and self._clock() < until_s

    def keep(self, key: Key, chain: tuple[bytes, ...]) -> None:
        """Half an hour, but never beyond the life of any certificate (DER). The oldest verdict makes room."""
        certificates = chain_certificates(chain)
        ends_s = [one.not_after.timestamp() for one in certificates if one is not None]
        if len(ends_s) < len(certificates):
            return
        self._until_s.pop(key, None)
        if len(self._until_s) >= _MOST:
            del self._until_s[next(iter(self._until_s))]
        self._until_s[key] = min(self._clock() + _LIFE_S, *ends_s)
