"""The phase that grew is named, and with it where to look."""

import pytest

from backend.analysis.attribution import Cause, attribute
from backend.analysis.history import Series


def phase(before: float, after: float) -> Series:
    """Ten values on each side of 100."""
    return [float(at) for at in range(90, 110)], [before] * 10 + [after] * 10


@pytest.mark.parametrize(
    ("grown", "cause"),
    [
        ("dns_ms", Cause.RESOLVER),
        ("connect_ms", Cause.PATH),
        ("tls_ms", Cause.PATH),
        ("wait_ms", Cause.ORIGIN),
        ("download_ms", Cause.TRANSFER),
    ],
)
def test_the_phase_that_grew_says_where_to_look(grown: str, cause: Cause) -> None:
    phases = {name: phase(20, 20) for name in ("dns_ms", "connect_ms", "tls_ms", "wait_ms", "download_ms")}
    phases[grown] = phase(20, 90)
    found = attribute(phases, change_at=100)
    assert found is not None
    assert found.cause is cause
    assert found.phases[0].phase == grown
    assert (found.phases[0].before, found.phases[0].after, found.phases[0].share) == (20, 90, 1)


def test_connect_and_tls_together_are_the_path() -> None:
    found = attribute({"connect_ms": phase(20, 30), "tls_ms": phase(20, 31), "wait_ms": phase(50, 62)}, change_at=100)
    assert found is not None
    assert found.cause is Cause.PATH


def test_everything_a_little_is_nobody_alone() -> None:
    grown = {name: phase(20, 30) for name in ("dns_ms", "connect_ms", "wait_ms", "download_ms")}
    found = attribute(grown, change_at=100)
    assert found is not None
    assert found.cause is Cause.MIXED


def test_an_improvement_is_shared_out_as_well() -> None:
    found = attribute({"wait_ms": phase(90, 20), "dns_ms": phase(20, 20)}, change_at=100)
    assert found is not None
    assert found.cause is Cause.ORIGIN
    assert found.phases[0].share == 1


def test_without_values_on_both_sides_nothing_is_said() -> None:
    assert attribute({}, change_at=100) is None
    assert attribute({"wait_ms": ([1.0], [5.0])}, change_at=100) is None
    assert attribute({"wait_ms": phase(20, 20)}, change_at=100) is None
