import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from backend.web.tests import measurements
from backend.web.waterfall.axis import axis_of
from backend.web.waterfall.data import film_data
from backend.web.waterfall.film import film_text
from backend.web.waterfall.rows import own_axis
from backend.web.waterfall.strips import STRIP_HEIGHT, strips_of
from workers.measurement.messages import PageMeasurement
from workers.measurement.page_view import Activity, Film
from workers.measurement.timing import Span
from workers.measurement.vitals import Vitals
from workers.measurement.waterfall import Waterfall

NOTHING = PageMeasurement(waterfall=Waterfall(requests=(), connections=()), vitals=Vitals())
AXIS = axis_of(0, 1_000_000)


def test_every_strip_says_in_words_what_it_shows() -> None:
    page = measurements.eventful_page(30)
    strips = strips_of(page, own_axis(page))
    assert [strip.name for strip in strips] == ["Bandwidth in", "Processor", "Main thread", "Long tasks"]
    assert strips[0].spoken.endswith("Mbit/s at most")
    assert strips[3].spoken == "Long tasks: 2 long tasks, the longest 120 ms"


def test_what_was_not_recorded_has_no_strip() -> None:
    assert strips_of(NOTHING, AXIS) == ()
    assert strips_of(replace(NOTHING, activity=Activity(step_us=0, cpu_us=(1,))), AXIS) == ()


def test_that_there_were_no_long_tasks_is_said() -> None:
    (strip,) = strips_of(replace(NOTHING, vitals=Vitals(long_tasks=())), AXIS)
    assert (strip.top, strip.shapes) == ("none longer than 50 ms", ())


def test_of_a_thread_that_never_told_long_tasks_are_not_known() -> None:
    looping = replace(NOTHING, activity=Activity(step_us=100_000, script_us=(100_000,) * 60))
    *_, strip = strips_of(looping, AXIS)
    assert (strip.name, strip.top, strip.shapes) == ("Long tasks", "not known", ())
    assert strip.spoken.startswith("Long tasks: not known")
    *_, told = strips_of(replace(looping, vitals=Vitals(long_tasks=())), AXIS)
    assert told.top == "none longer than 50 ms"


def test_what_exceeds_fifty_milliseconds_of_a_task_is_drawn_higher() -> None:
    task = Span(start_us=100_000, end_us=250_000)
    (strip,) = strips_of(replace(NOTHING, vitals=Vitals(long_tasks=(task,))), AXIS)
    first, beyond = strip.shapes
    assert first.path.startswith(f"M{AXIS.x(100_000):g},40 {AXIS.x(100_000):g},20 {AXIS.x(150_000):g},20")
    assert beyond.path.startswith(f"M{AXIS.x(150_000):g},40 {AXIS.x(150_000):g},0 {AXIS.x(250_000):g},0")


def test_a_strip_says_how_much_there_was_and_not_how_much_there_could_have_been() -> None:
    activity = Activity(step_us=100_000, cpu_us=(20_000, 130_000), script_us=(10_000, 40_000), style_us=(25_000,))
    processor, main_thread, _ = strips_of(replace(NOTHING, activity=activity), AXIS)
    assert processor.top == "130 % of a core at most"
    assert main_thread.top == "40 % busy at most"


def test_kinds_of_work_lie_on_each_other() -> None:
    activity = Activity(step_us=100_000, script_us=(50_000,), style_us=(25_000,), other_us=(0,))
    strip, _ = strips_of(replace(NOTHING, activity=activity), axis_of(0, 99_000))
    assert [(shape.kind, shape.name) for shape in strip.shapes] == [
        ("script", "script 50 ms"),
        ("style", "style 25 ms"),
    ]
    assert [numbers(shape.path) for shape in strip.shapes] == [{20.0, 40.0}, {10.0, 20.0}]


@given(st.lists(st.integers(0, 10**9), max_size=40), st.integers(1, 10**6))
def test_no_strip_leaves_its_box(values: list[int], step_us: int) -> None:
    activity = Activity(step_us=step_us, received_bytes=tuple(values), cpu_us=tuple(values), script_us=tuple(values))
    for strip in strips_of(replace(NOTHING, activity=activity), AXIS):
        for shape in strip.shapes:
            assert all(0 <= y <= STRIP_HEIGHT for y in numbers(shape.path))


def test_the_film_is_told_in_words() -> None:
    film = film_data(measurements.eventful_page(30).film, "/film")
    assert film is not None
    assert film_text(film) == "Screen: 5 pictures; first change at 400 ms, complete at 1.01 s"


def test_a_film_without_pictures_is_none() -> None:
    assert film_data(Film(frames=(), width=160, height=100, columns=10), "/film") is None
    assert film_data(None, "/film") is None


def numbers(path: str) -> set[float]:
    return {float(y) for y in re.findall(r",([-\d.]+)", path)}
