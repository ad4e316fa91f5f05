"""What the CDN page says and draws, from comparisons alone."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest

from backend.compare.models import Pairing
from backend.compare.queries import PERIODS, Comparison, Hits, RegionComparison, RegionHits
from backend.compare.samples import Window
from backend.fleet.models import Region
from backend.runs.tests.factories import NOW
from backend.sites.models import Monitor
from backend.web import units
from backend.web.cdn.bars import leg_bars, scale_of
from backend.web.cdn.caches import difference_of, hit_rows
from backend.web.cdn.export import document_of, table_of
from backend.web.cdn.words import advice, first_verdict_in, never_comes, none_succeeds, reasons_text, title_of
from workers.diagnosis.pair.samples import LegSample, PairRun, PairSample
from workers.diagnosis.pair.verdict import compare
from workers.measurement.finding import Diagnosis
from workers.measurement.pair import CacheState
from workers.measurement.timing import Phases


@pytest.mark.parametrize("reused", [False, True])
def test_a_verdict_that_cannot_come_is_not_promised(reused: bool) -> None:
    sample = PairSample(a=LegSample(phases=Phases(), status=301), b=LegSample(phases=Phases(), status=200))
    runs = [PairRun(cold=sample, reused=sample)] * 40
    one = compared(Region(code="eu", name="Frankfurt"), runs)
    assert title_of([one], reused=reused).text == "Nothing to compare"
    assert never_comes(one.of(reused=reused)) == "40 pairs had answers of different status and are left out."


def test_pairs_whose_answers_differ_were_measured_beside_others_that_failed() -> None:
    unlike = PairSample(a=LegSample(phases=Phases(), status=301), b=LegSample(phases=Phases(), status=200))
    one = compared(Region(code="eu", name="Frankfurt"), [PairRun(cold=unlike, reused=unlike)] * 5)
    other = compared(Region(code="us", name="Virginia"), [])
    assert not none_succeeds([replace(one, failed=1)])
    assert not none_succeeds([one, replace(other, failed=1)])
    assert none_succeeds([replace(other, failed=1)])
    assert title_of([one, replace(other, failed=1)], reused=False).text != "No pair could be measured on both legs"


def sample(us: int, cache: CacheState = CacheState.UNKNOWN) -> LegSample:
    return LegSample(
        phases=Phases(connect_us=10_000, tls_us=10_000, wait_us=us - 25_000, download_us=5_000), status=200, cache=cache
    )


def region(name: str, cdn_ms: float, origin_ms: float, *, pairs: int = 24, spread_ms: float = 1) -> RegionComparison:
    random = Random(name)
    runs = [
        PairRun(
            cold=PairSample(
                a=sample(round(1000 * (cdn_ms + random.uniform(-spread_ms, spread_ms))), CacheState.MISS),
                b=sample(round(1000 * (origin_ms + random.uniform(-spread_ms, spread_ms)))),
            )
        )
        for _ in range(pairs)
    ]
    return compared(Region(code=name.lower(), name=name), runs)


def compared(region: Region, runs: Sequence[PairRun]) -> RegionComparison:
    found = compare(runs)
    return RegionComparison(
        region=region,
        cold=found.cold,
        reused=found.reused,
        failed=0,
        last_failure=None,
        newest=None,
        diagnosis=Diagnosis(),
    )


FASTER, SLOWER = region("Virginia", 60, 410), region("Frankfurt", 121, 100)
SAME, UNSURE = region("Oslo", 100, 100), region("Paris", 104, 100, spread_ms=60)
EARLY = region("Lagos", 60, 100, pairs=7)


@pytest.mark.parametrize(
    ("regions", "level", "title"),
    [
        ([FASTER, SLOWER, SAME, UNSURE], "warn", "The CDN helps in 1 of 4 regions and costs 21 ms in Frankfurt"),
        ([FASTER], "good", "The CDN helps in Virginia: 350 ms faster"),
        ([FASTER, region("Tokyo", 50, 90)], "good", "The CDN helps in both regions: 350 ms faster in Virginia"),
        ([SLOWER], "bad", "The CDN costs 21 ms in Frankfurt"),
        ([SLOWER, region("Rome", 112, 100)], "bad", "The CDN costs 21 ms in Frankfurt and 12 ms in Rome"),
        (
            [SLOWER, region("Rome", 110, 100), region("Bern", 140, 100)],
            "bad",
            "The CDN costs up to 40 ms in 3 regions",
        ),
        ([SAME, UNSURE], "info", "The CDN makes no difference in 1 of 2 regions"),
        ([UNSURE], "info", "Not conclusive in Paris: whether the CDN helps cannot be said yet"),
        ([FASTER, EARLY], "good", "The CDN helps in Virginia: 350 ms faster"),
        ([EARLY], "info", "7 of 20 pairs; first verdict after 20"),
        ([], "info", "0 of 20 pairs; first verdict after 20"),
    ],
)
def test_one_sentence_says_it_for_all_regions(regions: list[RegionComparison], level: str, title: str) -> None:
    word = title_of(regions, reused=False)
    assert (word.level, word.text) == (level, title)


def test_the_reason_is_that_of_the_region_where_it_hurts_and_comes_with_advice() -> None:
    sentences = reasons_text([FASTER, SLOWER, UNSURE], reused=False)
    assert sentences[0] == "Median difference: \N{MINUS SIGN}350 ms in Virginia, +21 ms in Frankfurt."
    assert sentences[1].startswith("Frankfurt: 24 of 24 answers of the CDN did not come from its cache")
    assert sentences[2] == "Not conclusive in Paris."
    assert (advice([FASTER, SLOWER], reused=False) or "").startswith("Let the CDN keep this asset")
    assert advice([FASTER, UNSURE], reused=False) is None


@pytest.mark.parametrize(
    ("pairs", "interval_s", "text"),
    [(12, 300, "about 40 min"), (19, 30, "about 1 min"), (0, 3_600, "about 20 h"), (20, 300, "about 1 min")],
)
def test_when_the_first_verdict_comes_follows_from_the_pace(pairs: int, interval_s: int, text: str) -> None:
    assert text in first_verdict_in(pairs, interval_s)


def test_no_verdict_is_promised_where_fewer_pairs_come_than_are_looked_at_together() -> None:
    a_day = PERIODS["24h"]
    assert first_verdict_in(17, 4_320, a_day) == "first verdict in about 4 h"
    assert first_verdict_in(17, 4_321, a_day) == "too few come in 24 h"
    assert "first verdict" in first_verdict_in(17, 4_321)
    assert first_verdict_in(0, 86_400) == "too few come in 7 days"


def test_both_legs_stand_on_one_axis_whose_quarters_are_round() -> None:
    scale = scale_of([FASTER.cold, SLOWER.cold])
    assert scale.text == "0 to 600 ms, a line every 150 ms"
    cdn, origin = leg_bars(FASTER.cold, scale)
    assert (cdn.name, cdn.time, origin.time) == ("CDN", "60 ms", "410 ms")
    assert sum(bar.width for bar in origin.bars) == pytest.approx(100 * 410 / 600, abs=0.5)
    assert [bar.phase for bar in cdn.bars] == ["connect", "tls", "wait", "download"]
    assert "waiting" in cdn.spoken


def test_where_nothing_was_measured_the_axis_has_no_length_to_tell() -> None:
    assert scale_of([]).text == ""
    assert scale_of([region("Quito", 60, 410, pairs=0).cold]).text == ""


def test_a_cell_that_a_spreadsheet_would_take_for_a_formula_is_text() -> None:
    evil = replace(FASTER, region=Region(code="=cmd", name="Evil"))
    monitor = Monitor(url="https://a.example/", pair={"url": "https://b.example/", "address": None})
    pairing = Pairing(name="a", monitor=monitor, compared_from=NOW)
    window = Window(since=NOW, until=NOW)
    comparison = Comparison(pairing=pairing, window=window, regions=(evil,), cold=evil.cold, reused=evil.reused)
    assert "\r\n'=cmd,cold," in table_of(comparison)
    assert document_of(comparison)["regions"][0]["region"] == "=cmd"


def region_hits(*buckets: tuple[int, int]) -> RegionHits:
    return RegionHits(
        region=Region(name="Frankfurt"),
        since=NOW - timedelta(hours=len(buckets)),
        width=timedelta(hours=1),
        buckets=tuple(Hits(hits=hits, told=told) for hits, told in buckets),
    )


def test_the_hit_rate_is_drawn_bar_by_bar_and_said_in_words() -> None:
    (row,) = hit_rows([region_hits((4, 4), (0, 0), (1, 2), (0, 4))])
    assert (row.name, row.rate, row.answers, row.width) == ("Frankfurt", "50 %", "10 answers", 40)
    assert [(bar.x, bar.y, bar.height) for bar in row.bars] == [(1, 0, 36), (21, 18, 18), (31, 34.5, 1.5)]
    assert row.spoken.startswith("Frankfurt: 50 % hits over the whole period; ")
    assert "1 of 2" in row.spoken


def test_without_a_word_from_any_cache_there_is_no_drawing() -> None:
    assert hit_rows([region_hits((0, 0)), region_hits((0, 0))]) == []
    silent, telling = hit_rows([region_hits((0, 0)), region_hits((1, 1))])
    assert (silent.rate, silent.answers, silent.bars) == (units.ABSENT, "no answer said so", ())
    assert telling.answers == "1 answer"


@pytest.mark.parametrize(
    ("cdn", "origin", "text"),
    [
        (410, 520, "21 % less than the origin"),
        (2_000, 500, "300 % more than the origin"),
        (1_000, 1_004, ""),
        (None, 5, ""),
        (5, 0, ""),
    ],
)
def test_bytes_that_differ_are_said_to(cdn: float | None, origin: float | None, text: str) -> None:
    assert difference_of(cdn, origin) == text
