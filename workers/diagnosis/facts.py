"""Evidence in a finding: named values, times in milliseconds."""

from workers.measurement.finding import Fact, FactValue


def facts(**values: FactValue) -> tuple[Fact, ...]:
    """One fact for each value that is known, in the order given."""
    return tuple(Fact(name=name, value=value) for name, value in values.items() if value is not None)


def in_ms(us: float | None) -> float | None:
    """Milliseconds with two decimals: finer than any of it was measured."""
    return None if us is None else round(us / 1000, 2)


def seen(times: int, of: int) -> str:
    """ "3 of 3"."""
    return f"{times} of {of}"
