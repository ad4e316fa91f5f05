"""How numbers become text, on every page. `frontend/src/format.ts` is the twin; one golden table tests both.

Milliseconds below one second, seconds with two decimals above, decimal kB and MB; halves round up. Absent is a dash.
"""

from math import floor

ABSENT = "\N{EN DASH}"
_MS = 1_000
_S = 1_000_000


def duration(us: int | None) -> str:
    """`0.08 ms`, `4.2 ms`, `317 ms`, `1.84 s`."""
    if us is None:
        return ABSENT
    if us < 0:
        return "\N{MINUS SIGN}" + duration(-us)
    if us == 0:
        return "0 ms"
    if us < 995:
        return f"{_decimal(us, _MS, 2)} ms"
    if us < 9_950:
        return f"{_decimal(us, _MS, 1)} ms"
    if us < 999_500:
        return f"{_decimal(us, _MS, 0)} ms"
    return f"{_decimal(us, _S, 2)} s"


def size(count_bytes: int | None) -> str:
    """`312 B`, `4.2 kB`, `73 kB`, `1.3 MB`."""
    if count_bytes is None:
        return ABSENT
    if count_bytes < 1_000:
        return f"{count_bytes} B"
    if count_bytes < 9_950:
        return f"{_decimal(count_bytes, 1_000, 1)} kB"
    if count_bytes < 999_500:
        return f"{_decimal(count_bytes, 1_000, 0)} kB"
    if count_bytes < 999_950_000:
        return f"{_decimal(count_bytes, 1_000_000, 1)} MB"
    return f"{_decimal(count_bytes, 1_000_000_000, 1)} GB"


def count(number: int | None) -> str:
    """`1,204`."""
    return ABSENT if number is None else f"{number:,}"


def age(seconds: int) -> str:
    """`12 s ago`, `3 min ago`, `5 h ago`, `9 days ago`; what lies ahead (a clock that is off) is `now`."""
    if seconds < 1:
        return "now"
    if seconds < 60:
        return f"{seconds} s ago"
    if seconds < 3_600:
        return f"{seconds // 60} min ago"
    if seconds < 172_800:
        return f"{seconds // 3_600} h ago"
    return f"{seconds // 86_400:,} days ago"


def interval(seconds: int) -> str:
    """`30 s`, `15 min`, `2 h`: the largest unit that needs no fraction."""
    for unit_s, name in ((3_600, "h"), (60, "min")):
        if seconds % unit_s == 0:
            return f"{seconds // unit_s} {name}"
    return f"{seconds} s"


def share_of_time(share: float | None) -> str:
    """`99.953 %`. Rounded down: what was not up all the time is never `100 %`."""
    if share is None:
        return ABSENT
    return "100 %" if share == 1 else f"{100 * floored_share(share):.3f} %"


def floored_share(share: float) -> float:
    """The same as a number, from 0 to 1, to a thousandth of a per cent."""
    # What binary fractions lose is no thousandth of a per cent.
    return 1.0 if share == 1 else min(floor(share * 100_000 + 1e-6), 99_999) / 100_000


def short_duration(us: int) -> str:
    """For an axis: no trailing zeros, `0`, `0.5 ms`, `200 ms`, `1.5 s`; before zero with a minus sign."""
    if us < 0:
        return "\N{MINUS SIGN}" + short_duration(-us)
    if us == 0:
        return "0"
    unit, name = (_S, "s") if us >= _S else (_MS, "ms")
    return f"{_decimal(us, unit, 3).rstrip('0').rstrip('.')} {name}"


def parts_text(parts_us: list[int]) -> list[str]:
    """Parts of one total as text of one precision that adds up as it is shown: `['9.0 ms', '30.2 ms']`.

    Tenths of a millisecond, or hundredths when the total is below 10 ms. What rounding loses goes to the parts that
    lost most. A part that is there, and rounds to none of them, is said to be less than one: `< 0.1 ms`.
    """
    places = 2 if sum(parts_us) < 10 * _MS else 1
    step_us = _MS // 10**places
    floors = [us // step_us for us in parts_us]
    missing = _steps(sum(parts_us), step_us) - sum(floors)
    by_loss = sorted(range(len(parts_us)), key=lambda i: (-(parts_us[i] % step_us), i))
    for i in by_loss[: max(missing, 0)]:
        floors[i] += 1
    return [
        f"{'' if steps or not us else '< '}{_decimal(max(steps, min(us, 1)) * step_us, _MS, places)} ms"
        for us, steps in zip(parts_us, floors, strict=True)
    ]


def total_text(parts_us: list[int]) -> str:
    """The sum of the parts in the same precision as `parts_text`."""
    places = 2 if sum(parts_us) < 10 * _MS else 1
    return f"{_decimal(sum(parts_us), _MS, places)} ms"


def _steps(us: int, step_us: int) -> int:
    return (2 * us + step_us) // (2 * step_us)


def _decimal(value: int, unit: int, places: int) -> str:
    scale: int = 10**places
    steps = (2 * value * scale + unit) // (2 * unit)
    whole, fraction = divmod(steps, scale)
    return f"{whole:,}.{fraction:0{places}d}" if places else f"{whole:,}"
