"""When the times of a run are not its target's: other work of the machine kept a browser or a probe waiting."""

from typing import Protocol

# Below both, what a page loses to others is within what its times differ from load to load.
_SHARE, _LEAST_US = 0.1, 50_000
# Less is within what a probe's own times differ.
_LEAST_OF_PROBE_US = 5_000


class LoadTimes(Protocol):
    """What it takes to tell, in microseconds; `contention_us` as in Vitals."""

    @property
    def lcp_us(self) -> int | None: ...
    @property
    def load_us(self) -> int | None: ...
    @property
    def visually_complete_us(self) -> int | None: ...
    @property
    def contention_us(self) -> int | None: ...


def settled_us(times: LoadTimes) -> int | None:
    """When a page had loaded and was painted; None of one that never came so far."""
    told = (times.lcp_us, times.load_us, times.visually_complete_us)
    return max((at_us for at_us in told if at_us is not None), default=None)


def is_contended(times: LoadTimes) -> bool:
    """Whether the browser waited so long for processors that others had that its times are not the page's."""
    settled, waited_us = settled_us(times), times.contention_us
    return settled is not None and waited_us is not None and waited_us >= max(_LEAST_US, _SHARE * settled)


def contention_told(times: LoadTimes) -> str | None:
    """A sentence for people; None where there is nothing to tell."""
    if not is_contended(times):
        return None
    return (
        "The machine of this browser was busy with other work, and kept it waiting for "
        f"{(times.contention_us or 0) / 1e6:.2f} s: do not compare these times."
    )


def is_probe_contended(contention_us: int | None, ttfb_us: int | None) -> bool:
    """Whether the first byte of a probe or a pair may have come so much sooner than is told, since it looked late."""
    if contention_us is None or ttfb_us is None:
        return False
    return contention_us >= max(_LEAST_OF_PROBE_US, _SHARE * ttfb_us)


def probe_contention_told(contention_us: int | None) -> str:
    """A sentence for people on one that is contended; who stood still may not have looked for longer than it took."""
    return (
        "The machine of this agent was busy with other work or stood still when an answer came, and did not look for "
        f"{(contention_us or 0) / 1e6:.2f} s: it may have begun sooner than is told here. Do not compare these times."
    )
