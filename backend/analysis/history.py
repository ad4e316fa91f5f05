"""What a detector asks of the past."""

from collections.abc import Mapping, Sequence
from typing import Protocol

# Times in Unix seconds, in order, and the values measured then. Failed checks are left out.
Series = tuple[Sequence[float], Sequence[float]]


class History(Protocol):
    """The past of one metric of one monitor. Asked once a day, and when an alert opens or changes."""

    def samples(self, since: float, until: float) -> Mapping[str, Series]:
        """By region, what was measured in since < at <= until; the sample being observed is among it."""

    def deploys(self, since: float, until: float) -> Sequence[float]:
        """When new versions were deployed in since < at <= until, in order."""
