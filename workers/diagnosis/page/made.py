"""The rule on pages that scripts make: their document does not show what is painted first, or largest."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from workers.diagnosis.case import Verdicts
from workers.diagnosis.facts import facts, in_ms
from workers.diagnosis.page.case import MEDIUM_US, PageCase, told, unjudged
from workers.diagnosis.page.instants import CLOCKS_US, DIRECTLY_US
from workers.diagnosis.page.paths import may_be_a_picture, may_make, shows_nothing, worked_until_us
from workers.diagnosis.page.rendering import FILES_NAMED, named
from workers.diagnosis.page.sooner import comes_sooner_us
from workers.diagnosis.page.spans import covered_us
from workers.measurement.finding import FindingId
from workers.measurement.messages import PageMeasurement
from workers.measurement.timing import Span
from workers.measurement.waterfall import Request, ResourceType


def client_rendered(case: PageCase) -> Verdicts:
    """page.client_rendered: what a document shows is painted when all that blocks it has come, what scripts make when
    the last of them has come and run, and what that fetched.

    What a server takes for the data it would take before it sends the document, which counts as no gain.
    """
    made = _made(case)
    saving_us = 0 if made is None else made.gain_us - case.paint.made_sooner_us
    if made is None or saving_us < MEDIUM_US:
        return
    if not made.is_sure:
        yield unjudged(FindingId.PAGE_CLIENT_RENDERED)
        return
    _leave_to_largest(case, made.free_us + made.data_us, made.data_us, saving_us)
    yield told(
        FindingId.PAGE_CLIENT_RENDERED,
        [*made.came],
        saving_us,
        evidence=facts(
            files=tuple(named(row) for row in sorted(made.came, key=lambda row: made.came[row])[-FILES_NAMED:]),
            first_paint_ms=in_ms(case.page.vitals.fcp_us),
            lcp_ms=in_ms(case.page.vitals.lcp_us),
            could_be_painted_ms=in_ms(made.free_us),
            made_ms=in_ms(made.until_us),
            element=case.page.vitals.lcp_element,
        ),
    )


def made_sooner_us(case: PageCase, own_us: Callable[[Request], int]) -> int:
    """By how much sooner a paint comes that scripts make where each file comes by so much sooner for itself, with what
    that leads to; 0 where nobody knows that they made it."""
    made = _made(case)
    if made is None or not made.is_sure:
        return 0
    sooner: dict[Request, int] = {}
    by_url: dict[str | None, list[Request]] = defaultdict(list)
    for row in sorted(made.came, key=lambda row: row.timing.start_us):
        asked_by = (one for one in by_url[row.initiator_url] if made.came[one] <= row.timing.start_us)
        sooner[row] = own_us(row) + max((sooner[one] for one in asked_by), default=0)
        by_url[row.url].append(row)
    last_us = max(us - sooner[row] for row, us in made.came.items())
    return max(0, min(made.gain_us, max(made.came.values()) - last_us))


@dataclass(frozen=True, kw_only=True)
class _Made:
    """A paint that scripts made: what came for it and when, when it would have been painted had it stood in the
    document, until when they worked, and how much of that servers would have taken for their data in any case."""

    came: Mapping[Request, int]
    free_us: int
    until_us: int
    data_us: int
    is_sure: bool

    @property
    def gain_us(self) -> int:
        return self.until_us - self.free_us - self.data_us


def _made(case: PageCase) -> _Made | None:
    """None where no paint is known that came later for being made by scripts."""
    painted_us, free_us = _made_paint_us(case), _free_us(case)
    if painted_us is None or free_us is None:
        return None
    came = _came(case, painted_us)
    last = _last(came)
    is_beside = not _is_empty(case.page)
    if last is None or came[last] - free_us < DIRECTLY_US or (is_beside and case.is_third_party(last)):
        return None
    until_us = min(painted_us, worked_until_us(case.page, came[last]))
    may_be_strangers = is_beside and _may_be_strangers(case, painted_us)
    is_open = painted_us - until_us > DIRECTLY_US or may_be_strangers or _may_be_no_script(case, free_us, painted_us)
    return _Made(came=came, free_us=free_us, until_us=until_us, data_us=_data_us(case, came), is_sure=not is_open)


def _made_paint_us(case: PageCase) -> int | None:
    """The last paint that scripts made, of the first and the largest; None where nobody knows of any. Of an empty
    document the first one, where a stranger's script may have put the largest text beside what that shows."""
    page, vitals = case.page, case.page.vitals
    if page.text_made and vitals.lcp_us is not None and vitals.lcp_url is None:
        is_first = _is_empty(page) and _may_be_strangers(case, vitals.lcp_us)
        return vitals.fcp_us if is_first else vitals.lcp_us
    return vitals.fcp_us if _is_empty(page) else None


def _is_empty(page: PageMeasurement) -> bool:
    """Whether the document was read and shows nothing."""
    return page.body_from is not None and shows_nothing(page)


def _free_us(case: PageCase) -> int | None:
    """When what scripts made would have been painted, had it stood in the document: with what that shows, which was
    there as a whole by then, or else when nothing blocked it. Scripts that are there by then run before that in any
    case."""
    page, document = case.page, case.document
    end_us = None if document is None else document.timing.end_us
    if page.vitals.fcp_us is None or end_us is None or end_us > page.vitals.fcp_us:
        return None
    if _is_empty(page):
        return _run_us(case, worked_until_us(page, case.paint.ready_us))
    return page.vitals.fcp_us


def _run_us(case: PageCase, free_us: int) -> int:
    """When the scripts had run that all waits for, as far as what they ask for then tells."""
    rows = case.page.waterfall.requests
    held_by = {row.url for row in rows if row.number in case.paint.blocking}
    asked = (row.timing.start_us for row in rows if may_make(row) and row.initiator_url in held_by)
    return max(free_us, min((at_us for at_us in asked if at_us >= free_us), default=0))


def _leave_to_largest(case: PageCase, shown_us: int, data_us: int, saving_us: int) -> None:
    """A picture that the document names comes as much sooner as a hint has it come, with all that the page waits for
    on its way: what a hint gains beside that is not both in full."""
    largest, lcp_us = case.largest, case.page.vitals.lcp_us
    if largest is None or not largest.is_picture or lcp_us is None:
        return
    there_us = largest.until_us - comes_sooner_us(case, largest) + data_us
    both_us = lcp_us - max(shown_us, there_us)
    largest.left_us = max(0, min(largest.left_us, both_us - saving_us))


def _may_be_strangers(case: PageCase, painted_us: int) -> bool:
    """Whether somebody else's script may have put the largest text beside what the page shows, as those that ask for
    consent do: no document would hold it. The last that came did, or one directly before the paint may have."""
    came = _came(case, painted_us)
    last = _last(came)
    return any(
        row is last or painted_us - worked_until_us(case.page, us) <= DIRECTLY_US
        for row, us in came.items()
        if case.is_third_party(row)
    )


def _came(case: PageCase, painted_us: int) -> dict[Request, int]:
    return {row: us for row in case.page.waterfall.requests if (us := _came_us(row, painted_us)) is not None}


def _last(came: Mapping[Request, int]) -> Request | None:
    return max(came, key=lambda row: came[row], default=None)


def _came_us(row: Request, painted_us: int) -> int | None:
    """By when before a paint a row had come that may have made it, of what is fetched as far as its head: many a script
    reads no more. None for all else."""
    if not may_make(row):
        return None
    instants = (row.timing.end_us, row.timing.first_byte_us if row.resource_type is ResourceType.FETCH else None)
    return next((us for us in instants if us is not None and us <= painted_us + CLOCKS_US), None)


def _may_be_no_script(case: PageCase, free_us: int, painted_us: int) -> bool:
    """Whether what was painted first may be a picture, or the beginning of a film; a text is neither."""
    if painted_us != case.page.vitals.fcp_us:
        return False
    films = (row for row in case.page.waterfall.requests if row.resource_type is ResourceType.MEDIA)
    return may_be_a_picture(case.page, free_us, painted_us) or any(row.timing.start_us <= painted_us for row in films)


def _data_us(case: PageCase, came: Mapping[Request, int]) -> int:
    """How long servers thought about what scripts fetched, and sent it."""
    return covered_us(_data(case, row, us) for row, us in came.items() if row.resource_type is ResourceType.FETCH)


def _data(case: PageCase, row: Request, end_us: int) -> Span:
    """From when the request had come to its server until the answer was here."""
    wait = row.timing.wait
    asked_us = row.timing.start_us if wait is None else wait.start_us
    return Span(start_us=min(end_us, asked_us + case.trip_us(row)), end_us=end_us)
