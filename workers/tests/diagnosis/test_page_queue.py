"""Over HTTP/1.1 a request waits until the answer before it has come."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.diagnosis.page.queue import Queues
from workers.measurement.finding import FindingId
from workers.measurement.page_view import PlainText
from workers.measurement.waterfall import Request
from workers.tests.builders import build_connection, span
from workers.tests.diagnosis.page_sketch import MAIN, sketch, style, told

ONE = "http/1.1"


def sent(row: Request, at_ms: float) -> Request:
    """One that was sent only then."""
    first_ms = (row.timing.first_byte_us or 0) / 1000
    return replace(row, timing=replace(row.timing, send=span(at_ms, at_ms + 1), wait=span(at_ms + 1, first_ms)))


LARGE = style(2, 310, 900, first_ms=400, protocol=ONE)
SMALL = sent(style(3, 320, 1_000, protocol=ONE), 902)


@pytest.mark.parametrize(
    ("ahead", "row", "waits"),
    [
        (LARGE, SMALL, True),
        (replace(LARGE, connection=2), SMALL, False),
        (replace(LARGE, protocol="h2"), replace(SMALL, protocol="h2"), False),
        (LARGE, sent(SMALL, 896), True),
        (LARGE, sent(SMALL, 894), False),
        (LARGE, sent(SMALL, 905), True),
        (LARGE, sent(SMALL, 906), False),
        (LARGE, sent(style(3, 899, 1_000, protocol=ONE), 902), True),
        (LARGE, sent(style(3, 900, 1_000, protocol=ONE), 902), False),
        (LARGE, sent(style(3, 309, 1_000, protocol=ONE), 902), False),
        (LARGE, replace(SMALL, connection=None), False),
        (LARGE, replace(SMALL, timing=replace(SMALL.timing, send=None)), False),
    ],
)
def test_what_is_sent_directly_behind_an_answer_waited_for_it(ahead: Request, row: Request, waits: bool) -> None:
    """Where it had been asked for meanwhile."""
    assert Queues([ahead, row]).ahead_of(row) is (ahead if waits else None)


@pytest.mark.parametrize(("own_ms", "sooner_ms"), [((300, 0), 300), ((300, 400), 400), ((800, 0), 582), ((0, 0), 0)])
def test_it_comes_as_much_sooner_as_the_one_ahead_but_is_not_sent_before_it_is_asked_for(
    own_ms: tuple[int, int], sooner_ms: int
) -> None:
    own = dict(zip((2, 3), own_ms, strict=True))
    assert Queues([LARGE, SMALL]).sooner_us(SMALL, lambda row: own[row.number] * 1000) == sooner_ms * 1000


def test_a_long_queue_is_followed_to_its_head() -> None:
    """Longer than Python lets functions call themselves."""
    rows = [sent(style(n, 310 + n / 1000, 1_000 + 10 * n, protocol=ONE), 989 + 10 * n) for n in range(2, 1_500)]
    head = rows[0].number
    assert Queues(rows).sooner_us(rows[-1], lambda row: 200_000 if row.number == head else 0) == 200_000


@given(st.lists(st.tuples(*[st.integers(0, 12)] * 3), min_size=1, max_size=30))
def test_no_queue_leads_back_to_itself(many: list[tuple[int, int, int]]) -> None:
    rows = [style(n, at_ms, at_ms + took_ms + 2, protocol=ONE) for n, (at_ms, _, took_ms) in enumerate(many, start=2)]
    rows = [
        sent(one, min(one.timing.start_us // 1000 + wait_ms, (one.timing.first_byte_us or 0) // 1000 - 1))
        for one, (_, wait_ms, _) in zip(rows, many, strict=True)
    ]
    for one in rows:
        assert 0 <= Queues(rows).sooner_us(one, lambda row: row.number * 100) <= 100 * (len(rows) + 1)


def test_a_small_script_gains_what_a_text_ahead_of_it_gains() -> None:
    """100 kB that came in 500 ms, of which compressing leaves a tenth."""
    large = style(2, 310, 900, first_ms=400, protocol=ONE, transferred_bytes=100_000, body_bytes=100_000)
    page = sketch(
        replace(large, render_blocking=None),
        SMALL,
        fcp_ms=1_010,
        texts=(PlainText(request=2, body_bytes=100_000, gzip_bytes=10_000),),
    )
    found = told(
        replace(page, waterfall=replace(page.waterfall, connections=(build_connection(host=MAIN, protocol=ONE),))),
        FindingId.PAGE_UNCOMPRESSED,
    )
    assert found is not None
    assert found.saving_us == pytest.approx(450_000, rel=0.05)
