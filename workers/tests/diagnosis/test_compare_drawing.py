"""Comparisons as text: what is said, and that it fits."""

import re
from random import Random

import pytest

from workers.diagnosis.pair.cdn import diagnosis_of_pairs
from workers.diagnosis.pair.document import Asked
from workers.diagnosis.pair.drawing import draw_comparison
from workers.diagnosis.pair.samples import ANY_TWO, CDN_AND_ORIGIN, Names, PairRun
from workers.diagnosis.pair.verdict import compare
from workers.measurement.canvas import Canvas
from workers.measurement.pair import CacheState
from workers.tests.diagnosis.noise import calm, leg, series

SGR = re.compile(r"\x1b\[[0-9]+m")


def drawn(runs: list[PairRun], canvas: Canvas, names: Names = CDN_AND_ORIGIN) -> list[str]:
    asked = Asked(a="https://cdn.example.org/", b="https://www.example.org/", names=names)
    found = compare(runs, names=names)
    diagnosis = diagnosis_of_pairs(runs, found, host="cdn.example.org")
    return draw_comparison(asked, found, diagnosis, canvas).splitlines()


def runs(count: int, apart_us: float) -> list[PairRun]:
    random = Random(count)
    cold, reused = series(random, count, calm, apart_us=apart_us), series(random, count, calm, apart_us=apart_us)
    return [PairRun(cold=one, reused=other) for one, other in zip(cold, reused, strict=True)]


@pytest.mark.parametrize("width", [20, 48, 80, 200])
@pytest.mark.parametrize("names", [CDN_AND_ORIGIN, ANY_TWO])
@pytest.mark.parametrize("count", [1, 12, 25])
def test_every_line_fits_the_terminal(width: int, names: Names, count: int) -> None:
    lines = drawn(runs(count, 40_000), Canvas(width=width), names)
    assert max(map(len, lines)) <= max(48, width)


def test_a_cdn_that_is_slower_is_a_cause_with_what_to_do() -> None:
    told = "\n".join(drawn(runs(25, 40_000), Canvas(rows=24)))
    assert "● The CDN is slower than the origin (cdn.example.org) · costs 40" in told
    assert "page.cdn_slower_than_origin" in told
    assert "→ Look at which phase is slower" in told
    assert "page.cdn_slower_than_origin" not in "\n".join(drawn(runs(25, -40_000), Canvas()))
    assert "page.cdn_slower_than_origin" not in "\n".join(drawn(runs(25, 40_000), Canvas(), ANY_TWO))


def test_two_addresses_that_are_no_cdn_and_origin_are_named_once_at_the_top() -> None:
    told = "\n".join(drawn(runs(25, 40_000), Canvas(), ANY_TWO))
    assert "\na: https://cdn.example.org/\nb: https://www.example.org/\n" in told
    assert "https://" not in "\n".join(drawn(runs(25, 40_000), Canvas()))


def test_colour_changes_nothing_of_what_is_said() -> None:
    plain, colour = (drawn(runs(25, 40_000), Canvas(colour=colour)) for colour in (False, True))
    assert [SGR.sub("", line) for line in colour] == plain
    assert plain != colour


def test_equal_legs_have_equal_bars_and_no_reason() -> None:
    lines = drawn(runs(25, 0), Canvas())
    bars = [line[21:] for line in lines if line.startswith(("  CDN ", "  origin "))]
    assert len(bars) == 4
    assert bars[0] == bars[1]
    assert lines[0].startswith("No difference between the CDN and the origin")
    assert lines[1] == ""


def test_the_slower_leg_has_the_longer_bar_and_the_caches_are_told() -> None:
    hit = leg(10_000, cache=CacheState.HIT, age_s=17_144, address="192.0.2.1")
    pairs = [PairRun(cold=pair.cold) for pair in runs(25, -20_000)]
    told = [PairRun(cold=type(run.cold)(a=hit, b=run.cold.b)) for run in pairs if run.cold]
    lines = drawn(told, Canvas())
    cdn, origin = (next(line for line in lines if line.startswith(f"  {name} ")) for name in ("CDN", "origin"))
    assert len(cdn) < len(origin) == 100
    assert any("cache hit 25, age 4 h  192.0.2.1" in line for line in lines)
    assert "Over the same connections again" not in lines


def reasoned() -> list[PairRun]:
    """An origin that is slower for every reason there is, behind a CDN of which something is to be said."""
    told = {"status": 200, "tls_version": "TLS 1.3", "protocol": "http/1.1"}
    quick = leg(10_000, dns_us=900, cache=CacheState.MISS, address="192.0.2.1", **told)
    slow = leg(90_000, dns_us=9_000, connect_us=60_000, tls_us=90_000, download_us=70_000, address="192.0.2.9", **told)
    pair = type(runs(1, 0)[0].cold)(a=quick, b=slow)  # type: ignore[misc]
    return [PairRun(cold=pair, reused=pair)] * 25


SCREENS = [(23, 80), (16, 80), (29, 100), (39, 48)]


@pytest.mark.parametrize(("rows", "width"), SCREENS)
@pytest.mark.parametrize("names", [CDN_AND_ORIGIN, ANY_TWO])
def test_a_screen_holds_the_verdict_both_bars_and_a_line_about_what_is_left_out(
    rows: int, width: int, names: Names
) -> None:
    whole = drawn(reasoned(), Canvas(width=width, rows=None), names)
    lines = drawn(reasoned(), Canvas(width=width, rows=rows, remedy="--all"), names)
    assert len(lines) <= rows
    assert lines[0] == whole[0]
    assert "Over fresh connections" in lines
    if len(whole) > rows:
        assert lines[-1].startswith("… and ")
        assert lines[-1].endswith(": --all shows all")
    else:
        assert lines == whole


def test_a_common_terminal_keeps_both_rounds_and_every_warning_and_leaves_out_the_last_reasons() -> None:
    whole = drawn(reasoned(), Canvas(width=80, rows=None))
    lines = drawn(reasoned(), Canvas(width=80, rows=23, remedy="--all"))
    assert len(whole) > 23
    assert "Over the same connections again" in lines
    assert [line for line in whole if line.startswith("!")] == [line for line in lines if line.startswith("!")] != []
    assert "more reason" in lines[-1]


def test_what_does_not_fit_a_tiny_screen_is_cut_to_the_verdict_and_its_bars() -> None:
    lines = drawn(reasoned(), Canvas(width=80, rows=5, remedy="--all"))
    assert [line.split()[0] for line in lines if line.startswith("  ")][:2] == ["CDN", "origin"]
    assert lines[-1].startswith("… and the same connections again, ")


def test_files_and_pipes_are_told_all_of_it() -> None:
    assert drawn(reasoned(), Canvas(rows=None)) == drawn(reasoned(), Canvas(rows=200))
