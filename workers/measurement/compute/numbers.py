"""Numbers out of JSON that anybody may have written: some that are none, and some that nothing was measured with."""

# Beyond it not every whole number has a place in JSON's readers, and no clock, size or code is as large.
_MAX = 2**53
# A thousand years in seconds, and more in milliseconds than any request takes: what says more would only overflow.
_MAX_CLOCK = 2**35


def number_of(value: object) -> float | None:
    """A number as it is; None for what is none, such as infinity, and for what is larger than anything is."""
    return _within(_MAX, value)


def clock_of(value: object) -> float | None:
    """The same of what a clock says, in seconds or milliseconds."""
    return _within(_MAX_CLOCK, value)


def _within(limit: int, value: object) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value if -limit <= value <= limit else None
