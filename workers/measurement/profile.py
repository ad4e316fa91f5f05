"""The network a measurement runs through, as numbers: a name alone means something else in every tool."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Absent numbers are not shaped: `NATIVE` shapes nothing. `rtt_us` is added to the path's own round trip."""

    name: str
    down_kbit_s: int | None = None
    up_kbit_s: int | None = None
    rtt_us: int | None = None
    loss_ppm: int | None = None

    @property
    def shapes(self) -> bool:
        return any(value is not None for value in (self.down_kbit_s, self.up_kbit_s, self.rtt_us, self.loss_ppm))


NATIVE = Profile(name="native")
PROFILES = {NATIVE.name: NATIVE}
