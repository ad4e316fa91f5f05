"""What a page's connections took by pauses is no doing of the bytes that came over them."""

from dataclasses import replace
from itertools import accumulate
from math import inf

import pytest

from workers.diagnosis.page.case import PageCase, case_of
from workers.diagnosis.page.hosts import trip_us
from workers.diagnosis.page.pauses import flow_rate
from workers.measurement.connection import Connection, Pause
from workers.measurement.finding import FindingId
from workers.measurement.messages import PageMeasurement
from workers.measurement.page_view import PlainText, ShownPicture
from workers.measurement.waterfall import ResourceType
from workers.tests.builders import build_connection, pause, span
from workers.tests.diagnosis.page_bursts import sooner_by_fewer_us
from workers.tests.diagnosis.page_sketch import MAIN, picture, row, sketch, style, told
from workers.tests.measurement.recorded import page_of

UNCOMPRESSED, OVERSIZED = FindingId.PAGE_UNCOMPRESSED, FindingId.PAGE_IMAGE_OVERSIZED
# 60 kB over 5 Mbit/s with round trips of 80 ms, from 400 ms on: flights of 14,480 and 28,960 bytes, and the rest.
WINDOWS = (pause(423.2, 480), pause(526.3, 560))
END_MS = 586.5
# The first flight would hold what is left of them.
LEFT_BYTES = 14_000
GAIN_US = 186_500 - LEFT_BYTES * 8 / 5


def over(connection: Connection, page: PageMeasurement) -> PageMeasurement:
    return replace(page, waterfall=replace(page.waterfall, connections=(connection,)))


def of_80_ms(*pauses: Pause) -> Connection:
    return build_connection(host=MAIN, rtt_us=80_000, pauses=pauses)


@pytest.mark.parametrize(("capture", "saving_us"), [("lossy", 104_000), ("lossy-narrow", 216_000)])
def test_packets_that_are_lost_make_no_narrow_line(capture: str, saving_us: int) -> None:
    """37 kB of text instead of 10, recorded with 3 % of loss: the download took 763 and 609 ms, and gzip was told to
    save 608 and 485. Without loss it saves as much as is written here, by twins: never more is told, but for what
    packets vary, and a quarter less where hardly two packets came one behind the other."""
    page = page_of(capture)
    known = replace(page, texts=tuple(replace(one, gzip_bytes=10_400) for one in page.texts))
    found = told(known, UNCOMPRESSED)
    assert found is not None
    assert 0.75 * saving_us <= (found.saving_us or 0) <= 1.2 * saving_us


def lost(*lengths_ms: float) -> tuple[Pause, ...]:
    """Further pauses, behind the windows of 60 kB."""
    begins = accumulate((length_ms + 1 for length_ms in lengths_ms), initial=561.0)
    return tuple(
        pause(begin_ms, begin_ms + length_ms, 0) for begin_ms, length_ms in zip(begins, lengths_ms, strict=False)
    )


@pytest.mark.parametrize("lost_ms", [(), (80,), (200, 85, 90)])
def test_a_text_costs_what_the_line_takes_for_it_however_long_it_stood_still(lost_ms: tuple[int, ...]) -> None:
    end_ms = END_MS + sum(lost_ms)
    own = style(2, 320, end_ms, first_ms=400, transferred_bytes=60_000, body_bytes=60_000)
    texts = (PlainText(request=2, body_bytes=60_000, gzip_bytes=LEFT_BYTES),)
    page = over(of_80_ms(*WINDOWS, *lost(*lost_ms)), sketch(own, fcp_ms=end_ms + 20, texts=texts))
    found = told(page, UNCOMPRESSED)
    assert found is not None
    assert found.saving_us == pytest.approx(GAIN_US, rel=0.02)


@pytest.mark.parametrize("lost_ms", [(), (400,)])
def test_a_picture_costs_what_the_line_takes_for_it_too(lost_ms: tuple[int, ...]) -> None:
    """Of two thousand pixels in a row, 966 are needed."""
    end_ms = END_MS + sum(lost_ms)
    shown = picture(2, 320, end_ms, path="hero.png", first_ms=400, transferred_bytes=60_000)
    vitals = {"lcp_us": round(end_ms * 1000) + 20_000, "lcp_url": f"https://{MAIN}/hero.png"}
    pictures = (ShownPicture(request=2, width=2000, height=1000, shown_ppm=241_500),)
    page = sketch(shown, fcp_ms=330, vitals=vitals, pictures=pictures)
    found = told(over(of_80_ms(*WINDOWS, *lost(*lost_ms)), page), OVERSIZED)
    assert found is not None
    assert found.saving_us == pytest.approx(GAIN_US, rel=0.02)


@pytest.mark.parametrize(("pauses", "gained_ms"), [([], 700), ([pause(300, 700)], 350)])
def test_what_comes_together_costs_what_their_line_takes_for_both(pauses: list[Pause], gained_ms: float) -> None:
    """600 kB within 800 ms, of which nothing came for 400."""
    rows = [style(number, 90, 900, first_ms=100, transferred_bytes=300_000) for number in (2, 3)]
    fewer = {2: 262_500, 3: 262_500}
    assert sooner_by_fewer_us(rows[0], rows, fewer, 1_000, pauses) == pytest.approx(gained_ms * 1000, rel=0.02)


@pytest.mark.parametrize(
    ("begin_ms", "end_ms", "connection", "is_idle"),
    [(480, 570, 2, False), (480, 490, 2, True), (480, 570, 1, True), (600, 700, 2, True)],
)
def test_while_another_connection_had_the_line_it_did_not_stand_still(
    begin_ms: float, end_ms: float, connection: int, is_idle: bool
) -> None:
    own = style(2, 320, 700, first_ms=400)
    other = row(3, ResourceType.IMAGE, 320, end_ms, first_ms=begin_ms, connection=connection)
    page = over(of_80_ms(pause(480, 560)), sketch(own, other, fcp_ms=720))
    assert bool(PageCase(page=page, own=bool).pauses_of(own)) is is_idle


def test_where_nobody_looked_all_of_the_time_may_be_the_lines() -> None:
    own = style(2, 320, 700, first_ms=400)
    assert PageCase(page=sketch(own, fcp_ms=720), own=bool).pauses_of(own) == ()
    assert flow_rate(20_000, span(100, 300), ()) == 0.1


@pytest.mark.parametrize(
    ("pauses", "rate"),
    [
        ([pause(0, 50)], 0.1),
        ([pause(50, 150, 0)], 20 / 150),
        ([pause(150, 200, 0), pause(260, 300, 0)], 20 / 110),
        ([pause(150, 200, 5_000)], 0.1),
        ([pause(280, 400)], 0.1),
        ([pause(150, 200, 15_000)], inf),
    ],
)
def test_bytes_that_came_at_once_behind_a_pause_say_nothing_of_the_line(pauses: list[Pause], rate: float) -> None:
    """Of 20 kB in 200 ms."""
    assert flow_rate(20_000, span(100, 300), pauses) == pytest.approx(rate)


@pytest.mark.parametrize(
    ("changes", "trip_ms"),
    [
        ({}, 80),
        ({"connect": span(0, 1080)}, 85),
        ({"connect": span(0, 1080), "tls": span(1080, 1250), "tls_round_trips": 2}, 85),
        ({"connect": span(0, 1080), "tls_round_trips": None}, 1080),
        ({"connect": span(0, 1080), "tls": None}, 1080),
        ({"rtt_us": 79_000}, 79),
        ({"rtt_us": 79_000, "connect": None}, 79),
        ({"connect": None}, 85),
        ({"connect": None, "tls_round_trips": None}, 0),
        ({"connect": None, "tls": None}, 0),
        ({"connect": None, "tls_round_trips": None, "protocol": "h3"}, 85),
    ],
)
def test_where_the_first_packet_was_lost_the_handshake_tells_a_round_trip(
    changes: dict[str, object], trip_ms: float
) -> None:
    plain = {"rtt_us": None, "connect": span(0, 80), "tls": span(1080, 1165), "tls_round_trips": 1}
    assert trip_us(build_connection(**(plain | changes))) == trip_ms * 1000


@pytest.mark.parametrize(
    ("protocol", "first_ms", "trip_ms"), [("h3", (383, 900), 82), ("h3", (701, 900), 170), ("h2", (383, 900), 170)]
)
def test_no_answer_over_quic_comes_sooner_than_in_a_round_trip(
    protocol: str, first_ms: tuple[int, int], trip_ms: int
) -> None:
    """Its handshake of 170 ms may have taken two, for certificates that a server may not send before it knows us."""
    rows = [style(n, 300, 950, first_ms=at_ms, connection=2) for n, at_ms in enumerate(first_ms, start=2)]
    changes = {"connect": None, "tls": span(120, 290), "tls_round_trips": 1, "rtt_us": None}
    quic = build_connection(number=2, host=MAIN, protocol=protocol, **changes)
    case = case_of(sketch(*rows, fcp_ms=960, connections=(quic,)))
    assert case is not None
    assert case.trip_us(rows[0]) == case.trip_over_us(quic) == trip_ms * 1000


def test_a_document_pauses_for_its_server_too() -> None:
    """It came at once but for half a second in which its server thought."""
    sizes = {"transferred_bytes": 60_000, "body_bytes": 60_000}
    document = row(1, ResourceType.DOCUMENT, 0, 900, first_ms=300, path="", **sizes)
    page = sketch(fcp_ms=920, document=document, texts=(PlainText(request=1, body_bytes=60_000, gzip_bytes=15_000),))
    before = told(page, UNCOMPRESSED)
    now = told(over(of_80_ms(pause(320, 870)), page), UNCOMPRESSED)
    assert before is not None
    assert now is not None
    assert (before.saving_us or 0) > 300_000
    assert 80_000 <= (now.saving_us or 0) <= 170_000
