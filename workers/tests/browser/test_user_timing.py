"""What a page measures itself, as Chromium tells it."""

from collections.abc import Callable

import pytest

from workers.measurement.connection import Header
from workers.measurement.vitals import TimingKind, UserTiming
from workers.tests.browser.conftest import DONE, HELD, Shown, measured

Timings = Callable[[str], tuple[UserTiming, ...]]

MARKING = f"""<p elementtiming="headline">Text</p>{HELD}<script>
performance.mark("early", {{ startTime: 5 }});
performance.mark("cart", {{ startTime: 20 }});
performance.mark("cart", {{ startTime: 90 }});
performance.measure("cart", {{ start: 20, end: 65.5 }});
performance.mark("s3cr3t-value said");
performance.mark("a\\u202eb\\u0000c");
requestAnimationFrame(() => setTimeout(() => {{ performance.mark("last"); {DONE}; }}, 100));
</script>"""
CROWD = f"""<p>Text</p>{HELD}<script>
for (let n = 0; n < 5000; n++) performance.mark("m" + n);
setTimeout(() => {DONE}, 100);
</script>"""


@pytest.fixture
def timings(shown: Shown) -> Timings:
    """What a page with this body measured."""

    def of(body: str) -> tuple[UserTiming, ...]:
        found = measured(shown(body, headers=(Header(name="X-Key", value="s3cr3t-value"),))).vitals.user_timings
        assert found is not None
        return found

    return of


def test_marks_measures_and_named_elements_are_told_at_their_instants(timings: Timings) -> None:
    found = timings(MARKING)
    by_name = {(one.kind, one.name): one for one in found}
    early, cart = by_name[TimingKind.MARK, "early"], by_name[TimingKind.MARK, "cart"]
    measure = by_name[TimingKind.MEASURE, "cart"]
    # Our clock begins with the navigation's request, at which the page's own may have run for a moment already.
    assert cart.at_us - early.at_us == pytest.approx(15_000, abs=200)
    assert measure.at_us == cart.at_us
    assert (cart.duration_us, measure.duration_us) == (None, 45_500)
    headline = by_name[TimingKind.ELEMENT, "headline"]
    assert cart.at_us < headline.at_us <= by_name[TimingKind.MARK, "last"].at_us
    assert [one.at_us for one in found] == sorted(one.at_us for one in found)


def test_names_are_text_without_secrets(timings: Timings) -> None:
    names = {one.name for one in timings(MARKING)}
    assert "(redacted) said" in names
    assert not any("s3cr3t" in name or "\u202e" in name or "\0" in name for name in names)


def test_a_page_that_marks_without_end_is_told_with_its_first_fifty(timings: Timings) -> None:
    names = [one.name for one in timings(CROWD)]
    assert names == [f"m{number}" for number in range(50)]


def test_a_page_that_measures_nothing_has_none(timings: Timings) -> None:
    assert timings(f"<p>Text</p>{HELD}<script>{DONE}</script>") == ()
