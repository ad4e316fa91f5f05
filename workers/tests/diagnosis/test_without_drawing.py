"""What hosts cost, on a terminal and for programs."""

from dataclasses import replace

import pytest

from workers.diagnosis.without.cost import cost_of
from workers.diagnosis.without.document import without_document
from workers.diagnosis.without.drawing import draw_cost
from workers.diagnosis.without.samples import LoadPair, Metric, Side
from workers.measurement.canvas import Canvas, columns_of
from workers.measurement.finding import FindingId
from workers.tests.commands.published import must_fit
from workers.tests.diagnosis.load_pairs import DISTURBED, FAILED, HOST, USUAL, pair, sample, without
from workers.tests.diagnosis.test_without_cost import HOSTS, pairs_of
from workers.tests.diagnosis.test_without_verdict import SOONER

CAUSE = (FindingId.PAGE_THIRD_PARTY_BLOCKING, HOST)
BROUGHT = frozenset({"www.example", HOST, "pixel.example"})


def much() -> list[LoadPair]:
    """All there is to tell."""
    whole = sample(asked=BROUGHT, estimates_us={CAUSE: 310_000})
    lesser = [
        without({Metric.LCP: USUAL[Metric.LCP] + one, Metric.BYTES: 380_000, Metric.REQUESTS: 26}, largest="h1")
        for one in SOONER
    ]
    return [*(pair(whole, one) for one in lesser), pair(whole, DISTURBED)]


def test_a_file_gets_the_verdict_each_metric_and_what_to_know() -> None:
    lines = draw_cost(cost_of(HOSTS, pairs_of(Metric.LCP, SOONER)), Canvas(rows=None)).splitlines()
    assert lines[0].startswith("Without tags.example the largest paint comes 332 ms sooner")
    assert "  LCP             1,200 ms    868 ms  332 ms sooner (318 ms to 345 ms)" in lines
    told = draw_cost(cost_of(HOSTS, much()), Canvas(rows=None))
    for text in (
        "! Without tags.example the largest paint is another element: h1 instead of img.hero.",
        "! 1 pair of loads left out: the machine was busy with other work.",
        "  bytes           500.0 kB  380.0 kB  120.0 kB less (120.0 kB to 120.0 kB)",
        "  requests              30        26  4 fewer (4 to 4)",
        "  TBT                 0 ms      0 ms  no difference to see (0 ms to 0 ms; 17 ms would have been",
        "  estimated 310 ms: A host outside the site's domain holds the first paint up (tags.example)",
        "  What goes with it: pixel.example",
    ):
        assert text in told.splitlines()


@pytest.mark.parametrize(("columns", "rows"), [(48, 10), (60, 23), (80, 23), (100, 40), (120, 12)])
def test_a_terminal_gets_one_screen_with_the_verdict_and_what_was_left_out(columns: int, rows: int) -> None:
    cost = cost_of(HOSTS, much())
    lines = draw_cost(cost, Canvas(width=columns, rows=rows, remedy="--all")).splitlines()
    assert len(lines) <= rows
    assert max(map(columns_of, lines)) <= columns
    assert lines[0].startswith("Without tags.example")
    whole = draw_cost(cost, Canvas(width=columns, rows=None)).splitlines()
    assert max(map(columns_of, whole)) <= columns
    assert ("--all shows all" in lines[-1]) is (len(whole) > rows)


def test_the_verdict_is_told_on_a_screen_that_holds_no_more() -> None:
    lines = draw_cost(cost_of(HOSTS, much()), Canvas(width=60, rows=1, remedy="--all")).splitlines()
    assert " ".join(lines[:-1]) == cost_of(HOSTS, much()).sentence


def test_what_failed_is_told_with_what_to_do_where_nothing_could_be_compared() -> None:
    told = draw_cost(cost_of(HOSTS, [pair(FAILED, FAILED)]), Canvas())
    assert "Failed (" in told
    assert "  → " in told
    assert "Failed (" not in draw_cost(cost_of(HOSTS, [*much(), pair(FAILED, sample())]), Canvas(rows=None))


def test_names_are_told_as_people_write_them() -> None:
    idn = "xn--bcher-kva.example"
    pairs = [pair(sample(asked=frozenset({idn})), sample(asked=frozenset({idn})))] * 8
    assert "bücher.example" in draw_cost(cost_of((idn,), pairs), Canvas())


def test_the_document_has_all_of_it_and_fits_its_schema() -> None:
    pairs = [*much(), pair(FAILED, sample(), first=Side.WITHOUT)]
    document = without_document("https://www.example/", cost_of(HOSTS, pairs), pairs)
    must_fit(document)
    assert (document["verdict"], document["pairs"], document["hosts"]) == ("sooner", 10, [HOST])
    assert list(document["metrics"]) == [
        "lcp_ms", "fcp_ms", "start_render_ms", "speed_index", "tbt_ms", "fully_loaded_ms", "bytes", "requests",
    ]  # fmt: skip
    lcp = document["metrics"]["lcp_ms"]
    assert (lcp["verdict"], lcp["with"], lcp["without"]) == ("sooner", 1200.0, 867.5)
    assert lcp["difference"]["low"] < lcp["difference"]["estimate"] < lcp["difference"]["high"] < 0
    assert document["metrics"]["bytes"]["difference"]["estimate"] == -120_000
    assert document["left_out"] == {"disturbed": 1, "failed": 1}
    assert document["gone_hosts"] == ["pixel.example"]
    assert [(one["id"], one["host"], one["saving_ms"]) for one in document["estimates"]] == [(*CAUSE, 310.0)]
    assert len(document["loads"]) == 12
    assert document["loads"][0]["first"] == "with"
    assert document["loads"][0]["with"]["lcp_ms"] == 1200.0
    assert (document["loads"][10]["without"]["left_out"], document["loads"][10]["without"]["lcp_ms"]) == (
        "disturbed",
        None,
    )
    assert document["error"]["kind"] == "page_timeout"


@pytest.mark.parametrize("pairs", [[], pairs_of(Metric.LCP, SOONER[:3]), [pair(FAILED, FAILED)]])
def test_where_there_is_little_to_tell_the_document_has_the_same_fields(pairs: list[LoadPair]) -> None:
    document = without_document("https://www.example/", cost_of(HOSTS, pairs), pairs)
    must_fit(document)
    assert set(document) == set(without_document("", cost_of(HOSTS, much()), much()))
    assert document["verdict"] == "inconclusive"


def test_a_metric_that_no_pair_has_is_null() -> None:
    blank = sample({Metric.SPEED_INDEX: None})
    document = without_document("", cost_of(HOSTS, [pair(blank, replace(blank))] * 8), [])
    assert document["metrics"]["speed_index"] is None
