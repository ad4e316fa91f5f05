"""What a run says of its views beside their figures."""

from workers.browser.capture import Loaded
from workers.browser.seen import View, views_of
from workers.browser.views import Load
from workers.measurement.captures_page import DevToolsEvent, PageCapture
from workers.measurement.page_options import PageOptions, PageState
from workers.tests.browser.conftest import page_request
from workers.tests.measurement.test_cdp import responded, sent

URL = "https://shop.test/"


def view(status: int = 200, repeat: PageState | None = None, dead: tuple[str, ...] = ()) -> View:
    """Of a load that came alone."""
    asked = sent(url=URL, type="Document", frameId="f", loaderId="1")
    answered = {**responded(status=status).params, "type": "Document"}
    events = (asked, DevToolsEvent("Network.responseReceived", answered))
    capture = PageCapture(url=URL, main_frame="f", events=events, load_seen=True, went_quiet=True)
    load = Load(first=Loaded(capture=capture, screenshot=None, sound=False))
    (only,) = views_of(page_request(URL, page=PageOptions(repeat=repeat, black_holes=dead)), 1, load, lambda _: True)
    return only


def told(one: View) -> bool:
    assert one.page is not None
    return any("no second view" in warning for warning in one.page.warnings)


def test_a_second_view_that_was_asked_for_and_did_not_come_is_missed_aloud() -> None:
    again = view(repeat=PageState.WARM_CACHE)
    assert again.failure is None
    assert told(again)
    assert not told(view())


def test_who_failed_at_the_first_view_misses_no_second_one() -> None:
    failed = view(500, repeat=PageState.WARM_CACHE)
    assert failed.failure is not None
    assert not told(failed)


def test_a_host_that_was_made_silent_and_never_asked_is_told() -> None:
    """Its name may have been mistyped: that nothing happened without it says nothing."""
    one = view(dead=("ads.example", "shop.test"))
    assert one.page is not None
    assert one.page.warnings.count("The page asked nothing of ads.example, which was made not to answer.") == 1
    assert not any("asked nothing of shop.test" in warning for warning in one.page.warnings)
