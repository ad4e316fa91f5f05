"""Runs as text: what is said, and that it fits."""

import re
import unicodedata
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.bars import shared_bar
from workers.measurement.canvas import MIN_WIDTH, Canvas, format_bytes, format_duration
from workers.measurement.drawing import draw
from workers.measurement.evidence import CertificateFault, Trial, TrialEvidence
from workers.measurement.failure import FailureKind, failure
from workers.measurement.messages import Failed, Hop, Measured, Missed, MissedReason, PageMeasurement, ProbeMeasurement
from workers.measurement.timing import PHASES, Span, Timing
from workers.measurement.vitals import CpuTime, TimingKind, UserTiming, Vitals
from workers.tests.builders import build_page, build_probe
from workers.tests.diagnosis.sites import deep_site, handshake, trial

PROBE = Measured(measurement=build_probe())
PAGE = Measured(measurement=build_page())
INSTANTS = st.integers(0, 200_000_000)


def columns(line: str) -> int:
    return sum(
        2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in line
        if unicodedata.category(char) not in ("Mn", "Me")
    )


@st.composite
def timings(draw_value: Any) -> Timing:
    spans = {}
    for phase in PHASES:
        ends = draw_value(st.none() | st.tuples(INSTANTS, INSTANTS))
        if ends is not None:
            spans[phase] = Span(start_us=min(ends), end_us=max(ends))
    begin, *end = sorted(draw_value(st.lists(INSTANTS, min_size=1, max_size=2)))
    return Timing(start_us=begin, end_us=end[0] if end else None, **spans)


def test_a_probe_is_drawn_phase_by_phase() -> None:
    hop = build_probe().hops[0]
    text = draw(Measured(measurement=replace(build_probe(), hops=(hop,))), Canvas(width=60))
    assert text.splitlines() == [
        "https://example.org/",
        "  301  h2  TLSv1.3  93.184.215.14:443",
        "  DNS        12.5 ms  ████▊",
        "  Connect    21.5 ms      ████████▏",
        "  TLS        44.2 ms              ████████████████▊",
        "  Send       0.25 ms                               ▏",
        "  Wait       21.8 ms                               ████████▎",
        "  Download   0.25 ms                                       ▏",
        "first byte 100 ms · total 100 ms · round trip 21.4 ms",
    ]


def test_names_of_hosts_are_drawn_as_people_write_them_where_the_terminal_has_the_letters() -> None:
    probe = build_probe()
    hop = replace(probe.hops[0], url="https://www.xn--bcher-kva.example/")
    outcome = Measured(measurement=replace(probe, hops=(hop,)))
    assert "https://www.bücher.example/" in draw(outcome)
    assert "https://www.xn--bcher-kva.example/" in draw(outcome, Canvas(letters=False))


def test_redirects_share_one_axis_and_are_counted() -> None:
    lines = draw(PROBE).splitlines()
    first_wait, second_wait = (line.index("█") for line in lines if "Wait" in line)
    assert first_wait < second_wait
    assert "after 1 redirect" in lines[-1]


def test_a_page_is_drawn_request_by_request() -> None:
    lines = draw(PAGE, Canvas(width=90)).splitlines()
    assert lines[0].startswith("  1 www.example.org/")
    assert re.search(r"░+▒+▓+━+█+$", lines[0])
    assert "✗" in lines[3]
    assert "first byte 121 ms · FCP 310 ms · LCP 480 ms · CLS 0.020 · load 520 ms" in lines
    assert "4 requests · 1 connection · 25.2 kB · 1 failed" in lines


def test_a_page_tells_how_many_connections_were_opened_and_how_many_of_them_were_never_used() -> None:
    page = build_page()
    used, *_ = page.waterfall.connections
    spare = [replace(used, number=used.number + place, requests=0, preconnected=True) for place in (1, 2)]
    waterfall = replace(page.waterfall, connections=(used, *spare))
    lines = draw(Measured(measurement=replace(page, waterfall=waterfall)), Canvas(width=90)).splitlines()
    assert "4 requests · 3 connections (2 never used) · 25.2 kB · 1 failed" in lines


def test_a_page_tells_its_paints_in_their_order_and_what_kept_the_main_thread() -> None:
    page = PAGE.measurement
    assert isinstance(page, PageMeasurement)
    cpu = CpuTime(script_us=120_000, style_us=2_000, layout_us=11_000, other_us=80_000)
    vitals = replace(page.vitals, start_render_us=300_000, visually_complete_us=590_000, cpu=cpu)
    lines = draw(Measured(measurement=replace(page, vitals=vitals)), Canvas(width=140)).splitlines()
    assert (
        "first byte 121 ms · start render 300 ms · FCP 310 ms · LCP 480 ms · CLS 0.020 · load 520 ms"
        " · visually complete 590 ms · fully loaded 600 ms" in lines
    )
    assert "main thread: script 120 ms · style 2.00 ms · layout 11.0 ms · other 80.0 ms" in lines


def test_what_the_page_measured_itself_is_told_by_name() -> None:
    page = build_page()
    timings = [UserTiming(kind=TimingKind.MARK, name="hero \x1b[31m", at_us=320_000)]
    timings += [UserTiming(kind=TimingKind.MEASURE, name=f"part {n}", at_us=1, duration_us=45_000) for n in range(9)]
    vitals = replace(page.vitals, user_timings=tuple(timings))
    text = draw(Measured(measurement=replace(page, vitals=vitals)), Canvas(width=140))
    assert " · part 0 took 45.0 ms · " in text
    assert "its own: hero" in text
    assert "2 more" in text
    assert "\x1b[31m" not in text


def test_what_hung_is_dashed_until_the_load_was_left() -> None:
    page = build_page()
    *rows, last = page.waterfall.requests
    hung = replace(last, timing=Timing(start_us=100_000), status=None, failure=None, transferred_bytes=None)
    waterfall = replace(page.waterfall, requests=(*rows, hung), watched_until_us=6_080_000)
    lines = draw(Measured(measurement=replace(page, waterfall=waterfall, vitals=Vitals()))).splitlines()
    assert re.search(r" - +- +>5\.98 s ┄{40,}$", lines[3])
    assert "4 requests · 1 connection · 25.2 kB · 1 still open (┄)" in lines


def test_bars_stand_below_each_other_whatever_letters_their_rows_have() -> None:
    page = PAGE.measurement
    assert isinstance(page, PageMeasurement)
    row = page.waterfall.requests[0]
    paths = ("plain", "กำลังที่นี่", "道順", "e\u0301te\u0301", "☁\ufe0f", "हिन्दी")
    rows = tuple(replace(row, url=f"https://a.test/{path}") for path in paths)
    shown = replace(page, waterfall=replace(page.waterfall, requests=rows))
    lines = draw(Measured(measurement=shown)).splitlines()[: len(paths)]
    assert len({columns(line[: line.index(f" {row.status} ")]) for line in lines}) == 1


def test_what_came_before_the_axis_stands_at_its_beginning() -> None:
    """Files of other tools have requests from before their page."""
    early = Timing(start_us=-900, end_us=-100, wait=Span(start_us=-800, end_us=-100))
    assert shared_bar([early], 1000, 10, Canvas()) == "━"


def test_a_long_page_is_cut_and_says_so() -> None:
    assert "… and 2 more requests" in draw(PAGE, Canvas(rows=2))


def test_a_failure_says_what_and_who_and_shows_what_was_seen_before() -> None:
    outcome = Failed(failure=failure(FailureKind.CERTIFICATE_EXPIRED, "on 2026-10-01"), measurement=build_probe())
    lines = draw(outcome).splitlines()
    assert "Failed (tls): The certificate has expired: on 2026-10-01" in lines
    assert "  kind certificate_expired, to blame: target" in lines
    assert lines[0] == "https://example.org/"


def test_a_missed_run_says_why() -> None:
    assert draw(Missed(reason=MissedReason.QUEUE_FULL)) == "Not measured: queue full."


def test_colour_is_only_there_when_asked_for() -> None:
    assert "\x1b" not in draw(PAGE) + draw(PROBE)
    plain = re.sub(r"\x1b\[\d+m", "", draw(PAGE, Canvas(colour=True)))
    assert plain == draw(PAGE)


def test_control_characters_of_a_server_do_not_reach_the_terminal() -> None:
    hop = replace(build_probe().hops[0], url="https://example.org/\x1b[2J\u202e")
    text = draw(Measured(measurement=replace(build_probe(), hops=(hop,))))
    assert "https://example.org/?[2J?" in text


@given(timings(), st.integers(0, 200), st.text(max_size=300))
def test_a_probe_fits_the_width_whatever_was_measured(timing: Timing, width: int, url: str) -> None:
    probe = ProbeMeasurement(hops=(Hop(url=url, connection=1, timing=timing),) * 2)
    for line in draw(Measured(measurement=probe), Canvas(width=width)).split("\n"):
        assert columns(line) <= max(width, MIN_WIDTH)


@given(timings(), st.integers(0, 200), st.text(max_size=300))
def test_a_page_fits_the_width_whatever_was_measured(timing: Timing, width: int, url: str) -> None:
    page = build_page()
    row = replace(page.waterfall.requests[0], timing=timing, url=url)
    wide = PageMeasurement(waterfall=replace(page.waterfall, requests=(row,) * 3), vitals=page.vitals)
    for line in draw(Measured(measurement=wide), Canvas(width=width)).split("\n"):
        assert columns(line) <= max(width, MIN_WIDTH)


@pytest.mark.parametrize(
    ("us", "text"),
    [(None, "-"), (0, "0.00 ms"), (250, "0.25 ms"), (12_500, "12.5 ms"), (480_400, "480 ms"), (1_240_000, "1.24 s")],
)
def test_durations_have_as_many_digits_as_mean_something(us: int | None, text: str) -> None:
    assert format_duration(us) == text


@pytest.mark.parametrize(
    ("size", "text"), [(None, "-"), (0, "0 B"), (412, "412 B"), (17_020, "17.0 kB"), (1_240_000, "1.2 MB")]
)
def test_sizes_are_decimal(size: int | None, text: str) -> None:
    assert format_bytes(size) == text


def redirected(hops: int) -> ProbeMeasurement:
    """A probe that came to its page by so many hops, each as long as the others."""
    first = build_probe().hops[0]
    length_us = max(span.end_us for phase in PHASES if (span := getattr(first.timing, phase)))

    def later(number: int) -> Hop:
        by_us = number * length_us
        spans = {phase: getattr(first.timing, phase) for phase in PHASES}
        moved = {
            phase: span and Span(start_us=span.start_us + by_us, end_us=span.end_us + by_us)
            for phase, span in spans.items()
        }
        timing = Timing(start_us=by_us, end_us=by_us + length_us, **moved)
        return replace(first, url=f"https://hop{number}.example.org/", timing=timing)

    return replace(build_probe(), hops=tuple(map(later, range(hops))))


def test_redirects_become_one_bar_each_where_rows_are_few_and_the_last_hop_explains_their_shades() -> None:
    lines = draw(Measured(measurement=redirected(3)), Canvas(width=80, rows=13)).splitlines()
    assert len(lines) == 13
    assert [line for line in lines if line.startswith("https://")] == [
        f"https://hop{number}.example.org/" for number in range(3)
    ]
    assert re.fullmatch(r"  301 +100 ms  ░+▒+▓+╴?━+█?", lines[1])
    assert re.fullmatch(r"  TLS +44\.2 ms +▓+", lines[8])
    assert lines[-1].startswith("first byte ")


def test_what_other_connections_were_answered_in_stands_beside_the_protocol_of_the_first() -> None:
    built = build_probe()
    answered = (trial(Trial.FULL), trial(Trial.HTTP2), trial(Trial.HTTP3))
    silent = trial(Trial.HTTP2, failure=failure(FailureKind.RESPONSE_INVALID, "nonsense"))
    expired = CertificateFault(code=10, depth=0, text="certificate has expired")
    refused = trial(Trial.HTTP3, handshake=handshake(Trial.HTTP3, faults=(expired,)))

    def told(*trials: TrialEvidence) -> list[str]:
        connections = tuple(replace(one, protocol="http/1.1") for one in built.connections)
        probe = replace(built, connections=connections, evidence=deep_site(trials=trials))
        return [line for line in draw(Measured(measurement=probe)).splitlines() if "http/1.1" in line]

    redirect, answer = told(*answered)
    assert "(" not in redirect
    assert "  http/1.1 (h2, h3 too)  " in answer
    assert not any("too" in line for line in told(trial(Trial.FULL), silent, refused))


def test_many_redirects_become_one_bar_and_in_the_end_all_hops_do() -> None:
    lines = draw(Measured(measurement=redirected(9)), Canvas(width=80, rows=11)).splitlines()
    assert lines[0] == "https://hop0.example.org/ and 7 more redirects"
    assert re.fullmatch(r"  redirects +\d+ ms  [░▒▓╴━█]+", lines[1])
    assert len(lines) == 11
    lines = draw(Measured(measurement=redirected(9)), Canvas(width=80, rows=1)).splitlines()
    assert lines[2] == "https://hop8.example.org/"
    assert lines[4] == "  ░ dns ▒ connect ▓ tls ╴ send ━ wait █ download · in no phase"
    narrow = draw(Measured(measurement=redirected(9)), Canvas(width=61, rows=1)).splitlines()
    assert narrow[4] == "  ░ dns ▒ connect ▓ tls ╴ send ━ wait █ download"
    assert len(lines) == 6


def test_why_it_failed_is_told_to_the_end_however_narrow_the_terminal_is() -> None:
    why = "the server said " + " and ".join(f"this{number}" for number in range(30))
    outcome = Failed(failure=failure(FailureKind.CERTIFICATE_EXPIRED, why), measurement=redirected(9))
    lines = draw(outcome, Canvas(width=60, rows=1)).splitlines()
    assert why in " ".join(" ".join(lines).split())
    assert max(map(len, lines)) <= 60
