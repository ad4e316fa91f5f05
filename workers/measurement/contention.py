"""When the times of a page load are not the page's: other work of the machine kept its browser waiting."""

from typing import Protocol

# Below both, what a page loses to others is within what its times differ from load to load.
_SHARE, _LEAST_US = 0.1, 50_000


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
