"""The beginning of a run on the browser's two clocks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.captures_page import DevToolsEvent
from workers.measurement.captures_sight import SightCapture, ThreadSample
from workers.measurement.compute.devtools.vitals import MAX_NAME_CHARS
from workers.measurement.compute.page.sight import Zero, with_sight, zero_of
from workers.measurement.compute.page.visual import VisualProgress
from workers.measurement.messages import PageMeasurement
from workers.measurement.page_view import FilmFrame
from workers.measurement.vitals import TimingKind, UserTiming, Vitals
from workers.measurement.waterfall import Waterfall

WALL_S = 1_795_000_000.0


def asked(*readings: tuple[float, float]) -> list[DevToolsEvent]:
    """A request for each pair of readings: on the steady clock, and on the wall's."""
    return [
        DevToolsEvent("Network.requestWillBeSent", {"timestamp": monotonic_s, "wallTime": wall_s})
        for monotonic_s, wall_s in readings
    ]


def late(*delays_s: float) -> list[DevToolsEvent]:
    """Requests a tenth of a second apart, the wall clock read so much after the other one."""
    return asked(*((5 + n / 10, WALL_S + n / 10 + delay_s) for n, delay_s in enumerate(delays_s)))


def known(zero: Zero | None) -> Zero:
    assert zero is not None
    return zero


def test_without_a_request_there_is_no_beginning() -> None:
    assert zero_of([DevToolsEvent("Page.loadEventFired", {"timestamp": 5.0})]) is None


@pytest.mark.parametrize("wall_s", [-1e300, float("nan"), float("inf"), 10**400, True, "5"])
def test_what_no_clock_says_is_no_zero(wall_s: object) -> None:
    told = {"timestamp": 5.0, "wallTime": wall_s}
    assert zero_of([DevToolsEvent("Network.requestWillBeSent", told)]) is None


def test_the_first_request_is_the_beginning() -> None:
    assert known(zero_of(late(0, 0, 0))) == Zero(monotonic_s=5.0, wall_s=WALL_S, steady=True)


def test_a_clock_that_was_read_late_for_one_request_moves_nothing() -> None:
    assert known(zero_of(late(0, 0, 0, 0.2, 0, 0))).steady
    assert known(zero_of(late(0, 0, 0, 0, 0, 0.2))).steady
    first = known(zero_of(late(0.2, 0, 0, 0)))
    assert first.steady
    assert abs(first.wall_s - WALL_S) < 0.001


def test_a_clock_that_was_set_in_the_middle_is_not_steady() -> None:
    assert not known(zero_of(late(0, 0, 0, 1, 1, 1))).steady
    assert not known(zero_of(late(0, 0, 0, -1, -1, -1))).steady
    assert not known(zero_of(late(0, 1))).steady
    # Where a page asks for nothing behind it, only who looked at the clock itself knows.
    assert not known(zero_of(late(0), step_us=-1_000_000)).steady
    assert known(zero_of(late(0), step_us=1_000)).steady


@given(st.lists(st.floats(0, 0.5), max_size=20), st.integers(0, 2), st.integers(0, 2))
def test_one_good_reading_at_either_end_is_enough(delays: list[float], first: int, last: int) -> None:
    ends = [[0.5 if n != good else 0.0 for n in range(3)] for good in (first, last)]
    zero = known(zero_of(late(*ends[0], *delays, *ends[1])))
    assert zero.steady
    assert abs(zero.wall_s - WALL_S) < 0.001


def looked_at(*samples: ThreadSample) -> PageMeasurement:
    """A page whose run begins at 5 s, which is loaded at 8 s and looked at until 10 s."""
    page = PageMeasurement(waterfall=Waterfall(requests=(), connections=()), vitals=Vitals(fully_loaded_us=3_000_000))
    sight = SightCapture(samples=samples, received={})
    return with_sight(page, sight, VisualProgress(), zero=known(zero_of(late(0, 0, 0))), until_us=10_000_000)


@pytest.mark.parametrize(("last_s", "is_told"), [(9.4, False), (8.9, True), (7.9, True)])
def test_where_the_strips_end_before_the_look_does_the_page_says_so(last_s: float, is_told: bool) -> None:
    seen = looked_at(*(ThreadSample(monotonic_s=at_s, counters={}) for at_s in (5.0, last_s)))
    assert [f"after {last_s - 5:.1f} s" in warning for warning in seen.warnings] == [True] * is_told


@pytest.mark.parametrize(
    ("vitals", "start_render_us", "frames", "is_told"),
    [
        (Vitals(load_us=1_000), None, 1, True),
        (Vitals(load_us=1_000), None, 0, False),
        (Vitals(load_us=1_000), 500, 1, False),
        (Vitals(load_us=1_000, fcp_us=500), None, 1, False),
        (Vitals(), None, 1, False),
    ],
    ids=["empty", "not looked at", "changed", "painted", "not loaded"],
)
def test_a_page_that_loads_and_shows_nothing_is_said_to_be_empty(
    vitals: Vitals, start_render_us: int | None, frames: int, is_told: bool
) -> None:
    page = PageMeasurement(waterfall=Waterfall(requests=(), connections=()), vitals=vitals)
    film = tuple(FilmFrame(at_us=number, complete_ppm=0) for number in range(frames))
    progress = VisualProgress(start_render_us=start_render_us, frames=film)
    sight = SightCapture(samples=(), received={})
    seen = with_sight(page, sight, progress, zero=known(zero_of(late(0, 0, 0))), until_us=10_000_000)
    assert ["stayed empty" in warning for warning in seen.warnings] == [True] * is_told


def test_processor_time_is_counted_until_the_page_was_at_rest() -> None:
    """Half a second of script behind the last byte, and what our own last looks cost behind the rest."""
    counted = {8.0: 0.1, 9.0: 0.6, 10.0: 0.6, 10.5: 0.7}
    samples = [
        ThreadSample(monotonic_s=at_s, counters={"TaskDuration": script_s, "ScriptDuration": script_s})
        for at_s, script_s in {5.0: 0.0, **counted}.items()
    ]
    cpu = looked_at(*samples).vitals.cpu
    assert cpu is not None
    assert cpu.script_us == 600_000


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("token abcdefgh said", "token (redacted) said"),
        ("x" * (MAX_NAME_CHARS - 8) + "abcdefgh", "x" * (MAX_NAME_CHARS - 8) + "(redacted)"),
        ("x" * (MAX_NAME_CHARS - 7) + "abcdefg", "x" * (MAX_NAME_CHARS - 7) + "(redacted)"),
        ("x" * (MAX_NAME_CHARS - 1) + "a", "x" * (MAX_NAME_CHARS - 1) + "(redacted)"),
        ("y" * MAX_NAME_CHARS, "(redacted)"),
        ("z" * 40 + "x" * (MAX_NAME_CHARS - 47) + "abcdefg", "(redacted)" + "x" * (MAX_NAME_CHARS - 47) + "(redacted)"),
        ("token abcdefg", "token abcdefg"),
        ("", ""),
    ],
)
def test_no_name_that_was_cut_ends_with_the_beginning_of_a_secret(name: str, told: str) -> None:
    secrets = frozenset({"abcdefgh", "z" * 40, "y" * (3 * MAX_NAME_CHARS)})
    timing = UserTiming(kind=TimingKind.MARK, name=name, at_us=1)
    page = PageMeasurement(
        waterfall=Waterfall(requests=(), connections=()), vitals=Vitals(user_timings=(timing, timing))
    )
    sight = SightCapture(samples=(), received={})
    seen = with_sight(page, sight, VisualProgress(), zero=None, until_us=None, secrets=secrets)
    assert [one.name for one in seen.vitals.user_timings or ()] == [told, told]
