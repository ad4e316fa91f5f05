"""How much may be asked: counters in Redis, one for each caller and stretch of time.

The headers are those of draft-ietf-httpapi-ratelimit-headers-10: what the policy is, and how much of it is left.
"""

import logging
from dataclasses import dataclass
from math import ceil
from time import time
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.cache import cache
from redis.exceptions import RedisError

from backend.api.v1.problems import TOO_MANY_REQUESTS, ProblemError

if TYPE_CHECKING:
    from backend.api.v1.access import Caller

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """So many requests in so long a window; of one caller, or of a whole organisation."""

    name: str
    quota: int
    window_s: int
    of_organisation: bool = False

    @property
    def header(self) -> str:
        return f'"{self.name}";q={self.quota};w={self.window_s}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What is left of a policy, and in how many seconds its window ends."""

    policy: Policy
    remaining: int
    reset_s: int

    @property
    def header(self) -> str:
        return f'"{self.policy.name}";r={self.remaining};t={self.reset_s}'


DEFAULT = Policy(name="default", quota=settings.API_REQUESTS_PER_MINUTE, window_s=60)
# Tests cost browsers and other people's servers, so an organisation has so many, whichever token asks for them.
TESTS = Policy(name="tests", quota=240, window_s=3600, of_organisation=True)
# Reading a file takes up to seconds of a processor.
IMPORTS = Policy(name="imports", quota=120, window_s=3600, of_organisation=True)


def take(policy: Policy, caller: "Caller", *, count: int = 1) -> Standing:
    """Counts a request. Raises ProblemError (429) when nothing is left."""
    now = time()
    window, into = divmod(now, policy.window_s)
    reset_s = max(1, ceil(policy.window_s - into))
    used = _count(_key(policy, caller, int(window)), count, policy.window_s)
    standing = Standing(policy=policy, remaining=max(0, policy.quota - used), reset_s=reset_s)
    if used > policy.quota:
        raise ProblemError(
            TOO_MANY_REQUESTS,
            f"There may be {policy.quota} in {policy.window_s} s ({policy.name}); wait {reset_s} s.",
            headers={"Retry-After": str(reset_s), **headers([standing])},
        )
    return standing


def headers(standings: list[Standing]) -> dict[str, str]:
    """`RateLimit-Policy` and `RateLimit` for an answer."""
    return {
        "RateLimit-Policy": ", ".join(standing.policy.header for standing in standings),
        "RateLimit": ", ".join(standing.header for standing in standings),
    }


def _key(policy: Policy, caller: "Caller", window: int) -> str:
    whom = f"organisation:{caller.organisation.pk}" if policy.of_organisation else caller.key
    return f"limit:{policy.name}:{whom}:{window}"


def _count(key: str, count: int, window_s: int) -> int:
    """How many there were in the window with this one. Without Redis nothing is counted, and all are answered."""
    try:
        cache.add(key, 0, timeout=2 * window_s)
        return cache.incr(key, count)
    except (RedisError, OSError, ValueError) as error:
        log.warning("requests are not counted: %s", error)
        return count
