"""The first byte of an answer, read from the network log alone, is the one that DevTools saw."""

from workers.browser.seen import PageRun
from workers.measurement.compute.files.log_rows import rows_of
from workers.measurement.compute.netlog.events import names_of
from workers.measurement.compute.netlog.reading import read_netlog
from workers.measurement.waterfall import Request
from workers.tests.browser.conftest import Load, measured
from workers.tests.browser.slow_site import Slow, slowly_serving
from workers.tests.waiting import undisturbed

# Two instants that the log counts in whole milliseconds.
_ROUNDED_US = 2000
_PAGE = b"<!doctype html><script src=/s.js></script><script src=/s.js?again></script>"


@undisturbed
def test_a_head_that_comes_in_two_pieces_begins_with_the_first(load: Load) -> None:
    answers = {"/": Slow(body=_PAGE, head_s=0.3), "/s.js": Slow(body=b"1", kind="text/javascript", head_s=0.2)}
    with slowly_serving(answers) as site:
        run = load(site.url())
    seen = {row.url: wait_us(row) for row in measured(run).waterfall.requests}
    told = {row.url: wait_us(row) for row in rows_of_the_log(run) if row.url in seen}
    assert [url.partition("/s.js")[2] for url in seen] == ["", "", "?again"]
    assert told.keys() == seen.keys()
    assert [url for url, us in told.items() if abs(us - seen[url]) > _ROUNDED_US] == []


def rows_of_the_log(run: PageRun) -> tuple[Request, ...]:
    assert run.netlog is not None
    return rows_of(read_netlog(names_of(run.netlog.constants), run.netlog.lines), limit=100).waterfall.requests


def wait_us(row: Request) -> int:
    assert row.timing.wait is not None
    return row.timing.wait.end_us - row.timing.wait.start_us


@undisturbed
def test_an_answer_that_began_as_the_next_request_was_sent_is_not_that_ones(load: Load) -> None:
    """What waits for a connection is sent in the millisecond in which the answer before came."""
    ask = "for (let i = 0; i < 60; i++) fetch(i % 2 ? `/quick?${i}` : `/slow?${i}`)"
    quick, slow = (Slow(body=b"1", kind="text/plain", think_s=think_s) for think_s in (0, 0.05))
    page = Slow(body=f"<!doctype html><script>{ask}</script>".encode())
    with slowly_serving({"/": page, "/quick": quick, "/slow": slow}) as site:
        rows = rows_of_the_log(load(site.url()))
    answered = [answered_us(row) for row in rows if "/slow" in row.url]
    assert len(answered) == 30
    assert min(answered) > 50_000 - _ROUNDED_US


def answered_us(row: Request) -> int:
    """From the first moment in which it can have been on the wire: a busy machine lets Chrome wait within sending."""
    assert row.timing.send is not None
    assert row.timing.wait is not None
    return row.timing.wait.end_us - row.timing.send.start_us
