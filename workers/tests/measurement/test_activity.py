from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.captures_sight import ProcessorTime, SightCapture, ThreadSample
from workers.measurement.compute.page.activity import MAX_STEPS, activity_of, cpu_time_of
from workers.measurement.vitals import CpuTime

ZERO_S = 1_000.0


def sample(
    at_s: float, *, tasks: float, script: float = 0.0, layout: float = 0.0, cpu: float | None = None
) -> ThreadSample:
    counters = {"TaskDuration": tasks, "ScriptDuration": script, "LayoutDuration": layout, "RecalcStyleDuration": 0.0}
    used = None if cpu is None else ProcessorTime(ours_s=cpu, machine_s=cpu, idle_s=0.0, stolen_s=0.0, waited_s={})
    return ThreadSample(monotonic_s=ZERO_S + at_s, counters=counters, processors=used)


def capture(*samples: ThreadSample, received: dict[int, int] | None = None) -> SightCapture:
    return SightCapture(samples=samples, received=received or {})


def test_work_stands_in_the_steps_in_which_it_was_done() -> None:
    seen = capture(
        sample(0.0, tasks=0, cpu=1.0),
        sample(0.1, tasks=0.08, script=0.05, cpu=1.1),
        sample(0.2, tasks=0.18, script=0.05, layout=0.06, cpu=1.3),
        received={100_003: 700, 100_015: 50},
    )
    strips = activity_of(seen, ZERO_S, 200_000)
    assert strips is not None
    assert (strips.step_us, strips.script_us, strips.layout_us) == (100_000, (50_000, 0), (0, 60_000))
    assert (strips.other_us, strips.cpu_us) == ((30_000, 40_000), (100_000, 200_000))
    assert strips.received_bytes == (700, 50)


def test_a_thread_that_could_not_answer_worked_all_the_time_between() -> None:
    strips = activity_of(capture(sample(0.0, tasks=0), sample(0.4, tasks=0.4, script=0.4)), ZERO_S, None)
    assert strips is not None
    assert strips.script_us == (100_000,) * 4
    assert strips.cpu_us == ()


def test_a_new_process_begins_to_count_anew() -> None:
    seen = capture(sample(0.0, tasks=5.0, script=4.0), sample(0.1, tasks=0.03, script=0.02))
    assert cpu_time_of(seen.samples, ZERO_S, None) == CpuTime(
        script_us=20_000, style_us=0, layout_us=0, other_us=10_000
    )


def test_what_devtools_itself_costs_is_not_the_pages() -> None:
    before = ThreadSample(monotonic_s=ZERO_S, counters={"TaskDuration": 0.0, "DevToolsCommandDuration": 0.0})
    after = ThreadSample(monotonic_s=ZERO_S + 0.1, counters={"TaskDuration": 0.03, "DevToolsCommandDuration": 0.03})
    assert cpu_time_of((before, after), ZERO_S, None) == CpuTime(script_us=0, style_us=0, layout_us=0, other_us=0)


def test_time_by_kind_ends_at_the_instant_that_is_asked_for() -> None:
    samples = (sample(0.0, tasks=0), sample(0.1, tasks=0.1, script=0.1), sample(0.3, tasks=0.3, script=0.3))
    assert cpu_time_of(samples, ZERO_S, 200_000) == CpuTime(script_us=200_000, style_us=0, layout_us=0, other_us=0)


def test_rest_after_the_load_is_not_told_and_work_is() -> None:
    samples = [sample(step / 10, tasks=0.08 if step > 5 else 0) for step in range(20)]
    strips = activity_of(capture(*samples), ZERO_S, 150_000)
    assert strips is not None
    assert len(strips.other_us) == 6


def test_nobody_looked_is_not_nothing_happened() -> None:
    assert activity_of(capture(), ZERO_S, None) is None
    assert cpu_time_of((sample(0.1, tasks=0.1),), ZERO_S, None) is None


@given(st.lists(st.tuples(st.floats(0.05, 30), st.floats(0, 1)), min_size=1, max_size=60))
def test_strips_are_bounded_and_lose_nothing(spans: list[tuple[float, float]]) -> None:
    samples, at_s, worked_s = [sample(0.0, tasks=0)], 0.0, 0.0
    for length_s, share in spans:
        at_s, worked_s = at_s + length_s, worked_s + length_s * share
        samples.append(sample(at_s, tasks=worked_s, script=worked_s))
    strips = activity_of(capture(*samples), ZERO_S, round(at_s * 1e6))
    assert strips is not None
    assert len(strips.script_us) <= MAX_STEPS
    assert abs(sum(strips.script_us) - worked_s * 1e6) <= len(strips.script_us)
    assert all(0 <= value <= strips.step_us + 1 for value in strips.script_us)
