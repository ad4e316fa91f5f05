"""The network a measurement runs through, as numbers: a name alone means something else in every tool."""

import math
from dataclasses import dataclass

_MAX_KBIT_S = 10_000_000
_MAX_RTT_US = 10_000_000
_MILLION = 1_000_000
_ABSENT = "-"
_FORM = "DOWN/UP/RTT/LOSS in kbit/s, kbit/s, ms and per cent, as 1600/768/300/0, with '-' for what is not shaped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Absent numbers are not shaped: `NATIVE` shapes nothing. `rtt_us` is added to the path's own round trip.

    `loss_ppm` is the share of packets lost in each direction.
    """

    name: str
    down_kbit_s: int | None = None
    up_kbit_s: int | None = None
    rtt_us: int | None = None
    loss_ppm: int | None = None

    @property
    def shapes(self) -> bool:
        return any(value is not None for value in (self.down_kbit_s, self.up_kbit_s, self.rtt_us, self.loss_ppm))


class ProfileError(ValueError):
    """A text that names no profile. Its message is a sentence for people."""


def _named(name: str, down_kbit_s: int, up_kbit_s: int, rtt_ms: int) -> Profile:
    return Profile(name=name, down_kbit_s=down_kbit_s, up_kbit_s=up_kbit_s, rtt_us=rtt_ms * 1000)


NATIVE = Profile(name="native")
# The names and numbers that the field has compared by since WebPageTest.
_USUAL = (
    _named("3gslow", 400, 400, 400),
    _named("3g", 1600, 768, 300),
    _named("3gfast", 1600, 768, 150),
    _named("4g", 9000, 9000, 170),
    _named("lte", 12_000, 12_000, 70),
    _named("dsl", 1500, 384, 50),
    _named("cable", 5000, 1000, 28),
    _named("fios", 20_000, 5000, 4),
)
PROFILES = {profile.name: profile for profile in (NATIVE, *_USUAL)}


def parse_profile(text: str) -> Profile:
    """A profile by its name, or by its numbers: see `ProfileError`'s message for their form. Raises ProfileError.

    One given by numbers is named by them, in one spelling.
    """
    known = PROFILES.get(text.strip().lower())
    if known is not None:
        return known
    parts = text.strip().split("/")
    if not 3 <= len(parts) <= 4:
        raise ProfileError(f"{text[:40]!r} is no profile. There are {', '.join(PROFILES)}; or {_FORM}.")
    down, up = (_number(part, text, most=_MAX_KBIT_S) for part in parts[:2])
    rtt = _number(parts[2], text, scale=1000, least=0, most=_MAX_RTT_US)
    loss = _number(parts[3].removesuffix("%"), text, scale=10_000, least=0, most=_MILLION - 1) if parts[3:] else None
    return Profile(
        name="/".join((_text(down), _text(up), _text(rtt, 1000), _text(loss, 10_000))),
        down_kbit_s=down,
        up_kbit_s=up,
        rtt_us=rtt,
        loss_ppm=loss,
    )


def _number(word: str, text: str, *, scale: int = 1, least: int = 1, most: int) -> int | None:
    if word.strip() == _ABSENT:
        return None
    try:
        value = float(word) * scale
    except ValueError:
        value = math.nan
    if not least <= value <= most:
        raise ProfileError(f"{word.strip()[:20]!r} in {text[:40]!r} is out of range: a profile is {_FORM}.")
    return round(value)


def _text(value: int | None, scale: int = 1) -> str:
    return _ABSENT if value is None else f"{value / scale:.10g}"
