from dataclasses import replace

import pytest

from backend.web.page_facts import PageFacts, page_facts
from backend.web.tests import measurements
from workers.measurement.messages import PageMeasurement
from workers.measurement.page_options import PageState
from workers.measurement.page_view import Activity, ConsoleLevel, ConsoleMessage, HostDelivery, RepeatView, ViewSample
from workers.measurement.timing import Span
from workers.measurement.vitals import CpuTime, TimingKind, UserTiming, Vitals


def facts(**changes: object) -> PageFacts:
    return page_facts(replace(measurements.page(30), **changes))  # type: ignore[arg-type]  # fields by name


def view(load: int, lcp_us: int | None, state: PageState = PageState.COLD, failure: str | None = None) -> ViewSample:
    vitals = Vitals(lcp_us=lcp_us, cls=0.1)
    return ViewSample(load=load, state=state, vitals=vitals, requests=30, received_bytes=1_200, failure=failure)


def test_types_and_hosts_add_up_to_the_page() -> None:
    told, page = facts(), measurements.page(30)
    assert sum(part.requests for part in told.types) == len(page.waterfall.requests)
    assert sum(part.requests for part in told.hosts) == len(page.waterfall.requests)
    assert sum(part.connections for part in told.hosts) == len(page.waterfall.connections)


def test_of_the_repeat_view_the_same_is_told_as_of_the_first() -> None:
    page, second = measurements.page(30), measurements.page(4)
    vitals = Vitals(cpu=CpuTime(script_us=5_000, style_us=0, layout_us=0, other_us=0), long_tasks=())
    repeat = RepeatView(state=PageState.WARM_CACHE, waterfall=second.waterfall, vitals=vitals)
    said = ConsoleMessage(at_us=1, level=ConsoleLevel.ERROR, text="only at first")
    told = page_facts(replace(page, repeat=repeat, console=(said,)), "repeat")
    assert sum(part.requests for part in told.types) == len(second.waterfall.requests)
    assert sum(part.requests for part in told.hosts) == len(second.waterfall.requests)
    assert (told.busy[0].time, told.console) == ("5.0 ms", ())


def test_who_delivers_a_host_stands_beside_it_and_nobody_is_guessed() -> None:
    host = facts().hosts[0].name
    told = facts(deliveries=(HostDelivery(host=host, cdn="Fastly", evidence="header x-served-by"),))
    assert [part.cdn for part in told.hosts if part.name == host] == ["Fastly"]
    assert {part.cdn for part in told.hosts if part.name != host} == {"\N{EN DASH}"}


@pytest.mark.parametrize(
    ("cdn", "evidence", "told"),
    [
        ("Cloudflare", "header server: cloudflare", "by header server: cloudflare"),
        (None, "headers of Akamai and Fastly", "not certain: headers of Akamai and Fastly"),
        (None, None, ""),
    ],
)
def test_what_shows_who_delivers_a_host_is_told_with_it(cdn: str | None, evidence: str | None, told: str) -> None:
    host = facts().hosts[0].name
    shown = facts(deliveries=(HostDelivery(host=host, cdn=cdn, evidence=evidence),))
    assert shown.hosts[0].evidence == told


def test_several_loads_have_medians_and_quartiles_and_one_load_has_no_table() -> None:
    assert facts(samples=(view(1, 500_000),)).views == ()
    (views,) = facts(
        samples=(view(1, 900_000), view(2, 700_000), view(3, 500_000), view(4, None, failure="timeout"))
    ).views
    assert (views.of, views.failed, views.load) == (4, 1, 2)
    lines = {line.name: line for line in views.lines}
    largest = lines["Largest paint"]
    assert (largest.shown, largest.median, largest.count) == ("700 ms", "700 ms", 3)
    assert largest.quartiles == "600 ms \N{EN DASH} 800 ms"
    assert (lines["Layout shift"].median, lines["Transferred"].median) == ("0.100", "1.2 kB")


def test_a_second_visit_is_told_even_if_there_was_one_only() -> None:
    samples = (view(1, 900_000), view(1, 300_000, PageState.WARM_CACHE))
    (views,) = facts(samples=samples).views
    assert views.state == "second visit, with the cache"
    assert views.lines[0].shown == "300 ms"


def test_the_main_thread_is_told_by_kind_and_by_its_long_tasks() -> None:
    cpu = CpuTime(script_us=75_000, style_us=5_000, layout_us=10_000, other_us=10_000)
    tasks = (Span(start_us=0, end_us=80_000), Span(start_us=100_000, end_us=160_000))
    told = facts(vitals=Vitals(cpu=cpu, long_tasks=tasks, tbt_us=40_000))
    assert next((kind.name, kind.share) for kind in told.busy) == ("Scripts", "75 %")
    assert told.tasks == (
        "2 tasks held the main thread for more than 50 ms, the longest for 80 ms; "
        "from the first paint on blocking time is 40 ms."
    )
    assert facts(vitals=Vitals(long_tasks=tasks)).tasks.endswith("the longest for 80 ms.")
    assert facts(vitals=Vitals(long_tasks=())).tasks.startswith("No task")
    assert facts(vitals=Vitals()).tasks == ""
    watched = Activity(step_us=100_000, script_us=(100_000,))
    assert facts(vitals=Vitals(), activity=watched).tasks.endswith("is not known.")


def test_what_the_page_measured_is_told_by_name() -> None:
    timings = (
        UserTiming(kind=TimingKind.MEASURE, name="a\u202eb", at_us=20_000, duration_us=45_000),
        UserTiming(kind=TimingKind.ELEMENT, name="hero", at_us=300_000),
    )
    told = facts(vitals=Vitals(user_timings=timings)).timings
    assert [(one.kind, one.at, one.length) for one in told] == [
        ("measure", "20 ms", "45 ms"),
        ("element painted", "300 ms", ""),
    ]
    assert "\u202e" not in told[0].name
    assert facts(vitals=Vitals()).timings == ()


def test_what_the_console_said_cannot_do_anything_here() -> None:
    message = ConsoleMessage(
        at_us=None, level=ConsoleLevel.ERROR, text="a\u202eb" + "x" * 900, url="https://a/b.js", line=7
    )
    (told,) = facts(console=(message,)).console
    assert "\u202e" not in told.text
    assert len(told.text) < 600
    assert (told.at, told.source) == ("\N{EN DASH}", "https://a/b.js:7")


def test_a_page_that_saw_nothing_has_no_facts() -> None:
    page = measurements.page(30)
    empty = page_facts(PageMeasurement(waterfall=replace(page.waterfall, requests=(), connections=()), vitals=Vitals()))
    assert empty == PageFacts(views=(), types=(), hosts=(), busy=(), tasks="", timings=(), console=())
