"""What the largest paint of a load waited for, and how much sooner it could have come.

Like the first paint (`paths`) it is believed to have waited for what it came directly after, and every millisecond
is claimed once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from workers.diagnosis.page.instants import CLOCKS_US, DIRECTLY_US, GONE_US
from workers.measurement.messages import PageMeasurement
from workers.measurement.timing import Span
from workers.measurement.waterfall import Request, ResourceType, RowFlag, ServedFrom

_NAMING = frozenset({ResourceType.DOCUMENT, ResourceType.SCRIPT, ResourceType.STYLESHEET, ResourceType.FETCH})
_CACHES = frozenset({ServedFrom.MEMORY_CACHE, ServedFrom.DISK_CACHE})
# After so long Chrome shows a text in another font than the one it waits for: two seconds into the load, where the face
# says nothing (its AlignFontDisplayAutoTimeoutWithLCPGoal; measured 2,012 to 2,044 ms), or three after the font was
# asked for (CSS Fonts 4, 11.1; measured 3,010 ms).
_PATIENCE_OF_LOAD_US, _PATIENCE_US = 2_000_000, 3_000_000


@dataclass(kw_only=True)
class LargestPaint:
    """What the largest paint waited for: the picture that it is, or the font of a text. Before the first paint it
    cannot come: `left_us` is what lies between, less what was claimed of it. `sure` says whether the paint came
    directly after the row. `asked` is the row that was asked for, maybe at another address that led to this one;
    `prompt` says whether directly after something that came, or that the browser did: what waits for a clock or a
    visitor comes no sooner for a hint. `brought` is what had brought it before, where a cache answered that. `shown` is
    the row of the place where the page shows it: what a hint asks for may be another. It waited until `until_us`: of a
    font that a text gave up on the row ended later, or never. To decode and paint it takes `painting_us` in which none
    of `tasks` runs."""

    row: Request
    asked: Request
    shown: Request
    until_us: int
    prompt: bool
    left_us: int
    sure: bool
    painting_us: int = 0
    tasks: tuple[Span, ...] = ()
    brought: Request | None = None
    _claimed_us: int = 0

    @property
    def asked_us(self) -> int:
        return self.asked.timing.start_us

    @property
    def is_picture(self) -> bool:
        return self.row.resource_type is not ResourceType.FONT

    @classmethod
    def of(cls, page: PageMeasurement) -> "LargestPaint | None":
        vitals = page.vitals
        if vitals.lcp_us is None or vitals.fcp_us is None:
            return None
        use, brought = _taken(page, vitals.lcp_url, vitals.lcp_us)
        if use is None or brought is None:
            hops = _hops_to(page, vitals.lcp_url, vitals.lcp_us) if vitals.lcp_url else _font_of_text(page)
        else:
            # What was still on its way the page waited for.
            is_there = (brought.timing.end_us or 0) <= use.timing.start_us
            hops, brought = ([use], brought) if is_there else ([brought], None)
        row = hops[-1] if hops else None
        if row is None or row.timing.end_us is None:
            return None
        shown = use or hops[0]
        painting_us = vitals.lcp_us - row.timing.end_us
        sure = painting_us <= 4 * DIRECTLY_US
        return cls(
            row=row,
            asked=hops[0],
            shown=shown,
            until_us=row.timing.end_us,
            prompt=_is_prompt(page, shown.timing.start_us),
            left_us=max(0, vitals.lcp_us - vitals.fcp_us),
            sure=sure,
            painting_us=max(0, painting_us) if sure else 0,
            tasks=_tasks(page),
            brought=brought,
        )

    @classmethod
    def given_up(cls, page: PageMeasurement) -> "LargestPaint | None":
        """Of a text that was shown in another font, since its own took longer than the browser waits for one."""
        row, vitals = _awaited_in_vain(page), page.vitals
        if row is None or vitals.lcp_us is None or vitals.fcp_us is None:
            return None
        return cls(
            row=row,
            asked=row,
            shown=row,
            until_us=vitals.lcp_us,
            prompt=True,
            left_us=max(0, vitals.lcp_us - vitals.fcp_us),
            sure=True,
            tasks=_tasks(page),
        )

    def gain_us(self, sooner_us: int) -> int:
        """What is gained if the picture came so much sooner, beyond what was claimed."""
        now_us = self.until_us - self._claimed_us
        return max(0, min(now_us - self.free_us(now_us - sooner_us), self.left_us)) if self.sure else 0

    def left_after_us(self, sooner_us: int) -> int:
        """The same of what would come so much sooner than it did, with what was claimed."""
        return self.gain_us(max(0, sooner_us - self._claimed_us))

    def free_us(self, at_us: int) -> int:
        """From when on, at the earliest, the page is at no task for as long as it takes to paint."""
        for task in self.tasks:
            if task.start_us < at_us + self.painting_us and at_us < task.end_us:
                at_us = task.end_us
        return at_us

    def claim(self, sooner_us: int) -> int:
        """The same, and nobody gains it again."""
        gained = self.gain_us(sooner_us)
        self.left_us -= gained
        self._claimed_us += gained
        return gained

    def gain_behind_us(self, first_us: int, sooner_us: int) -> int:
        """The gain where one repair has the first paint so much sooner too: it may come as much sooner then."""
        return replace(self, left_us=self.left_us + first_us).gain_us(sooner_us)

    def claim_behind(self, first_us: int, sooner_us: int) -> int:
        """The same, and nobody gains it again, nor what the first paint gains."""
        left_us = self.left_us
        self.left_us += first_us
        gained = self.claim(sooner_us)
        self.left_us = min(left_us, self.left_us)
        return gained


def largest_row(page: PageMeasurement) -> Request | None:
    """The row that brought the picture of the largest paint; None where it is none, or it cannot be told which."""
    url, lcp_us = page.vitals.lcp_url, page.vitals.lcp_us
    if url is None:
        return None
    hops = _hops_to(page, url, GONE_US if lcp_us is None else lcp_us)
    named = [row for row in page.waterfall.requests if row.url == url]
    return hops[-1] if hops else named[0] if len(named) == 1 else None


def _tasks(page: PageMeasurement) -> tuple[Span, ...]:
    return tuple(sorted(page.vitals.long_tasks or (), key=lambda task: task.start_us))


def _font_of_text(page: PageMeasurement) -> list[Request]:
    """The font that a text waited for: the largest paint came directly after it, and after no script that may have made
    the text. Chrome counts a text as painted for the first time that it does not show yet. A frame's paints are its
    own."""
    fcp_us, lcp_us = page.vitals.fcp_us or 0, page.vitals.lcp_us or 0
    if _may_be_made(page, lcp_us):
        return []
    own = [row for row in _fonts(page) if _is_directly_before(row, lcp_us)]
    fonts = [row for row in own if (row.timing.end_us or 0) > fcp_us]
    return sorted(fonts, key=lambda row: row.timing.end_us or 0)[-1:]


def _awaited_in_vain(page: PageMeasurement) -> Request | None:
    """The font that was still on its way when a text had waited as long as the browser lets it: the largest paint came
    directly after that."""
    lcp_us = page.vitals.lcp_us or 0
    if page.vitals.lcp_url is not None or _may_be_made(page, lcp_us):
        return None
    coming = [row for row in _fonts(page) if row.timing.start_us < lcp_us < (row.timing.end_us or GONE_US)]
    return next((row for row in coming if _is_patience_over(lcp_us, row)), None)


def _is_patience_over(at_us: int, font: Request) -> bool:
    passed_us = (at_us - _PATIENCE_OF_LOAD_US, at_us - font.timing.start_us - _PATIENCE_US)
    return any(0 <= us <= DIRECTLY_US for us in passed_us)


def _fonts(page: PageMeasurement) -> list[Request]:
    rows = page.waterfall.requests
    return [row for row in rows if row.resource_type is ResourceType.FONT and RowFlag.FRAME not in row.flags]


def _may_be_made(page: PageMeasurement, at_us: int) -> bool:
    """Whether a script may have made the text of a paint, which came directly before."""
    rows = (row for row in page.waterfall.requests if row.resource_type in (ResourceType.SCRIPT, ResourceType.FETCH))
    return any(_is_directly_before(row, at_us) for row in rows)


def _is_directly_before(row: Request, at_us: int) -> bool:
    return 0 <= at_us - (row.timing.end_us or GONE_US) <= DIRECTLY_US


def _taken(page: PageMeasurement, url: str | None, before_us: int) -> tuple[Request | None, Request | None]:
    """The row by which the page took a picture out of a cache that something else brought, and the row of that: of a
    frame, of a script, of a hint that does not match."""
    named = [row for row in page.waterfall.requests if row.url == url and row.redirected_to is None]
    rows = [row for row in named if row.timing.end_us is not None]
    taken = [row for row in rows if row.served_from in _CACHES and _may_be_shown(row)]
    use = next((row for row in reversed(taken) if (row.timing.end_us or 0) <= before_us + CLOCKS_US), None)
    came = [row for row in rows if use is not None and row.number < use.number and _is_brought(row)]
    return (None, None) if use is None or not came or _is_shown_before(rows, use) else (use, came[-1])


def _is_brought(row: Request) -> bool:
    is_from_elsewhere = RowFlag.PRELOAD in row.flags or not _may_be_shown(row)
    return row.served_from is ServedFrom.NETWORK and is_from_elsewhere


def _is_shown_before(rows: Sequence[Request], use: Request) -> bool:
    """Whether a place of the page itself had asked for it before: then that may be what was painted."""
    own = (row for row in rows if row.number < use.number and _may_be_shown(row))
    return any(RowFlag.PRELOAD not in row.flags for row in own)


def _hops_to(page: PageMeasurement, url: str, before_us: int) -> list[Request]:
    """The rows from the first that was asked for at an address to the answer that it led to, the last such before an
    instant; nothing where it came from a cache."""
    rows = [row for row in page.waterfall.requests if row.served_from is ServedFrom.NETWORK and _may_be_shown(row)]
    for place in range(len(rows) - 1, -1, -1):
        hops = [rows[place]] if rows[place].url == url else []
        for row in rows[place + 1 :] if hops else ():
            if hops[-1].redirected_to is None:
                break
            if row.url == hops[-1].redirected_to:
                hops.append(row)
        if hops and hops[-1].redirected_to is None and (hops[-1].timing.end_us or GONE_US) <= before_us + CLOCKS_US:
            return hops
    return []


def _may_be_shown(row: Request) -> bool:
    """What a script fetches and what a frame asks for may have the address of a picture of the page."""
    return RowFlag.FRAME not in row.flags and row.resource_type is not ResourceType.FETCH


def _is_prompt(page: PageMeasurement, asked_us: int) -> bool:
    """Whether something was asked for up to the first paint, or directly after a thing that may name it: a file that
    came, a milestone of the document, or a long task that such a thing began."""
    vitals = page.vitals
    for task in sorted(vitals.long_tasks or (), key=lambda task: -task.start_us):
        if task.start_us <= asked_us <= task.end_us + DIRECTLY_US:
            asked_us = task.start_us
    ends = (row.timing.end_us for row in page.waterfall.requests if row.resource_type in _NAMING)
    causes = [*ends, vitals.dom_interactive_us, vitals.dom_content_loaded_us, vitals.load_us]
    return asked_us <= (vitals.fcp_us or 0) + DIRECTLY_US or any(
        cause_us is not None and -CLOCKS_US <= asked_us - cause_us <= DIRECTLY_US for cause_us in causes
    )
