"""Pages in a real Chromium that two causes hold up for as long: what is mended alone gains nothing, and both together
what the page is said to lose by them.
"""

from collections.abc import Mapping

from workers.diagnosis.page.diagnose import diagnose_page
from workers.measurement.finding import Finding, FindingId
from workers.measurement.messages import PageMeasurement
from workers.tests.browser.conftest import Load
from workers.tests.browser.slow_site import Slow
from workers.tests.browser.twin_pages import JITTER_US, ROUNDS, html, loaded
from workers.tests.second_tries import measured_again

_OURS, _THEIRS = FindingId.PAGE_RENDER_BLOCKING, FindingId.PAGE_THIRD_PARTY_BLOCKING
_SCRIPT = Slow(body=b"window.ran = true", kind="text/javascript", think_s=0.35)
# Which of both are loaded without blocking, by what stands in their tags.
_NEITHER, _FIRST, _SECOND, _BOTH = WAYS = (("", ""), ("async", ""), ("", "async"), ("async", "async"))


def two_scripts(ours: str, theirs: str) -> dict[str, Slow]:
    head = f"<script src=/a.js {ours}></script><script src=//127.0.0.1:PORT/b.js {theirs}></script>"
    return {"/": html(head), "/a.js": _SCRIPT, "/b.js": _SCRIPT}


def first_paint_us(page: PageMeasurement) -> int:
    return page.vitals.fcp_us or 0


def blocking(page: PageMeasurement) -> dict[FindingId, Finding]:
    return {one.id: one for one in diagnose_page(page).findings if one.id in (_OURS, _THEIRS)}


def test_what_two_hold_up_together_both_of_their_repairs_gain_and_neither_alone(load: Load) -> None:
    pages: dict[tuple[str, str], list[PageMeasurement]] = {way: [] for way in WAYS}
    for _ in range(ROUNDS):
        for way, several in pages.items():
            several += loaded(load, two_scripts(*way), 0.0)
        quickest = {way: min(several, key=first_paint_us) for way, several in pages.items()}
        gained_us = {way: first_paint_us(quickest[_NEITHER]) - first_paint_us(page) for way, page in quickest.items()}
        found = {way: blocking(page) for way, page in quickest.items()}
        claimed_us = {
            _FIRST: _saving_us(found[_NEITHER], _OURS),
            _SECOND: _saving_us(found[_NEITHER], _THEIRS),
            _BOTH: sum(one.share_us or 0 for one in found[_NEITHER].values()),
        }
        # What is left when one is mended, all of which is the other's.
        left_us = [_saving_us(found[_FIRST], _THEIRS), _saving_us(found[_SECOND], _OURS)]
        off_us = [abs(us - gained_us[way]) for way, us in claimed_us.items()]
        off_us += [abs(us - gained_us[_BOTH]) for us in left_us]
        if max(off_us) <= JITTER_US:
            break
        measured_again(f"{claimed_us} and then {left_us} us are claimed, {gained_us} us gained")
    assert max(off_us) <= JITTER_US, (claimed_us, left_us, gained_us)
    others = {id: one.together and [other.id for other in one.together.others] for id, one in found[_NEITHER].items()}
    assert others == {_OURS: [_THEIRS], _THEIRS: [_OURS]}
    assert [one.together for way in (_FIRST, _SECOND) for one in found[way].values()] == [None, None]


def _saving_us(found: Mapping[FindingId, Finding], id: FindingId) -> int:
    return (found[id].saving_us or 0) if id in found else 0
