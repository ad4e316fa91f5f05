"""The phase that grew is named, and with it where to look."""

import numpy as np
import pytest

from backend.analysis.attribution import Cause, attribute
from backend.analysis.history import Series
from backend.analysis.settings import DAY_S, HOUR_S


def phase(before: float, after: float) -> list[Series]:
    """Of one region, ten values on each side of 100."""
    return [([float(at) for at in range(90, 110)], [before] * 10 + [after] * 10)]


@pytest.mark.parametrize(
    ("grown", "cause"),
    [
        ("dns_ms", Cause.RESOLVER),
        ("connect_ms", Cause.PATH),
        ("tls_ms", Cause.HANDSHAKE),
        ("wait_ms", Cause.ORIGIN),
        ("download_ms", Cause.TRANSFER),
        ("redirects_ms", Cause.REDIRECTS),
    ],
)
def test_the_phase_that_grew_says_where_to_look(grown: str, cause: Cause) -> None:
    phases = {name: phase(20, 20) for name in ("dns_ms", "connect_ms", "tls_ms", "wait_ms", "download_ms")}
    phases[grown] = phase(20, 90)
    found = attribute(phases, change_at=100, level_since=100, change=70)
    assert found is not None
    assert found.cause is cause
    assert found.phases[0].phase == grown
    assert (found.phases[0].before, found.phases[0].after, found.phases[0].share) == (20, 90, 1)


@pytest.mark.parametrize("every_s", [300, 900, 3600])
def test_a_phase_that_takes_longer_every_day_at_this_hour_has_not_grown(every_s: float) -> None:
    """The busiest hour of a server, in which its handshakes became slower."""
    change_at, random = 20_000 * DAY_S, np.random.default_rng(1)
    times = np.arange(change_at - DAY_S, change_at + max(HOUR_S, 4 * every_s), every_s)
    busy = 1 + 0.25 * np.cos(2 * np.pi * (times - change_at) / DAY_S)
    tls = np.where(times < change_at, 34, 66)
    phases = {
        name: [(times.tolist(), (values * np.exp(random.normal(0, 0.05, times.size))).tolist()) for _ in range(3)]
        for name, values in {"tls_ms": tls, "wait_ms": 138 * busy}.items()
    }
    found = attribute(phases, change_at=change_at, level_since=change_at, change=32)
    assert found is not None
    assert found.cause is Cause.HANDSHAKE
    assert found.phases[0].share > 0.7


def test_connect_and_tls_together_are_the_path() -> None:
    found = attribute(
        {"connect_ms": phase(20, 30), "tls_ms": phase(20, 31), "wait_ms": phase(50, 62)},
        change_at=100,
        level_since=100,
        change=33,
    )
    assert found is not None
    assert found.cause is Cause.PATH


def test_a_longer_way_is_the_path_with_two_round_trips_of_tls_as_well() -> None:
    grown = {"connect_ms": phase(20, 50), "tls_ms": phase(45, 105), "wait_ms": phase(50, 80)}
    found = attribute(grown, change_at=100, level_since=100, change=120)
    assert found is not None
    assert found.cause is Cause.PATH


def test_everything_a_little_is_nobody_alone() -> None:
    grown = {name: phase(20, 30) for name in ("dns_ms", "connect_ms", "wait_ms", "download_ms")}
    found = attribute(grown, change_at=100, level_since=100, change=40)
    assert found is not None
    assert found.cause is Cause.MIXED


def test_an_improvement_is_shared_out_as_well() -> None:
    found = attribute({"wait_ms": phase(90, 20), "dns_ms": phase(20, 20)}, change_at=100, level_since=100, change=-70)
    assert found is not None
    assert found.cause is Cause.ORIGIN
    assert found.phases[0].share == 1


def test_without_values_on_both_sides_nothing_is_said() -> None:
    assert attribute({}, change_at=100, level_since=100, change=1) is None
    assert attribute({"wait_ms": [([1.0], [5.0])]}, change_at=100, level_since=100, change=1) is None
    assert attribute({"wait_ms": phase(20, 20)}, change_at=100, level_since=100, change=1) is None


def test_a_cache_that_missed_by_chance_is_no_phase_that_grew() -> None:
    """A name that is found in the cache twice in three times, and in four of the nine runs since."""
    dns = [1.0, 1.0, 30.0] * 30
    times = [float(at) for at in range(99)]
    found = attribute(
        {
            "dns_ms": [(times, [*dns, *[30.0, 1.0] * 4, 30.0])],
            "connect_ms": [(times, [12.0 + at % 5 for at in range(90)] + [40.0 + at for at in range(9)])],
        },
        change_at=90,
        level_since=90,
        change=30,
    )
    assert found is not None
    assert [phase.phase for phase in found.phases] == ["connect_ms"]
    assert found.cause is Cause.PATH


def test_regions_that_differ_are_not_taken_for_a_phase_that_changed() -> None:
    """The far region is measured less often since: its long handshakes do not become short by that."""
    near, far = [float(at) for at in range(200)], [float(at) for at in range(100, 200, 10)]
    found = attribute(
        {
            "tls_ms": [
                (near, [20.0 + at % 3 for at in range(200)]),
                ([*[float(at) for at in range(100)], *far], [200.0 + at % 3 for at in range(110)]),
            ],
            "wait_ms": [
                (near, [50.0 + at % 3 + 40 * (at >= 100) for at in range(200)]),
                ([*[float(at) for at in range(100)], *far], [50.0 + at % 3 + 40 * (at >= 100) for at in range(110)]),
            ],
        },
        change_at=100,
        level_since=100,
        change=40,
    )
    assert found is not None
    assert [phase.phase for phase in found.phases] == ["wait_ms"]
    assert found.phases[0].after - found.phases[0].before == pytest.approx(40, abs=1)


def test_phases_that_explain_less_than_half_of_a_change_are_not_its_cause() -> None:
    """A page that is drawn 800 ms later is not so for a document that came 12 ms later."""
    assert attribute({"wait_ms": phase(100, 112)}, change_at=100, level_since=100, change=800) is None
    assert attribute({"wait_ms": phase(112, 100)}, change_at=100, level_since=100, change=12) is None


def test_what_it_was_like_before_the_level_of_now_is_no_part_of_that() -> None:
    """Nine hundred at first, of which a tenth is left."""
    times = [float(at) for at in range(80, 120)]
    phases = {"wait_ms": [(times, [20.0] * 20 + [900.0] * 10 + [90.0] * 10)]}
    found = attribute(phases, change_at=100, level_since=110, change=70)
    assert found is not None
    assert (found.phases[0].before, found.phases[0].after) == (20, 90)
