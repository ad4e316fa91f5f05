"""What the first paint of a load waited for, and how much sooner it could have come.

Nobody sees the browser's mind: a path is only believed where the paint came directly after the last thing that it had
to wait for. Every millisecond of a path is claimed once: a claim is worth what it gains by itself, and no more than
what the claims before it have left.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from workers.diagnosis.page.instants import CLOCKS_US, DIRECTLY_US, GONE_US
from workers.diagnosis.page.largest_paint import largest_row
from workers.diagnosis.page.preloads import FontHold, fonts_come_us
from workers.diagnosis.page.shared import carriers
from workers.measurement.messages import PageMeasurement
from workers.measurement.timing import Span
from workers.measurement.waterfall import Blocking, Request, ResourceType, RowFlag, ServedFrom, TimingSource

# A paint within this waited for nothing else either if no other request came in meanwhile that might have held it up:
# scripts take their time.
_WORKING_US = 500_000
# What takes longer to be read is painted in parts.
_IN_PARTS_US = 100_000
_TELLING = frozenset({ResourceType.SCRIPT, ResourceType.STYLESHEET, ResourceType.FONT, ResourceType.FETCH})
# No row has this number: the part of the document that had been read.
_READ = 0


@dataclass(kw_only=True)
class PaintPath:
    """The first paint waits for the document, for all that blocks rendering, and for what stopped the parser ahead of
    all that is shown: `blocking` are the last two. `ends` are the ends by row, `after` the row before which one could
    not be asked for, as what a style sheet imports. What the page worked meanwhile it works without them too: each
    long task is a row with a negative number.

    `shared` are rows that waited for what another row brought, by which: that one leads to them.

    `fonts` may hold it up for a while longer. `sure` says whether the paint came of it directly; where it did not,
    nothing is gained for certain. `made_us` is when the last of what may have made the page had come, where its
    document shows nothing: no paint comes before. `made_sooner_us` is what was claimed of that, or of a largest paint
    that scripts made.
    """

    ends: Mapping[int, int]
    after: Mapping[int, int]
    sure: bool
    blocking: frozenset[int]
    made_us: int = 0
    made_sooner_us: int = 0
    shared: Mapping[int, int] = field(default_factory=dict)
    fonts: FontHold = field(default_factory=FontHold)
    _sooner: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, page: PageMeasurement) -> "PaintPath":
        blocking = _blocking(page)
        ends = {row.number: row.timing.end_us or 0 for row in blocking} | _of_document(page, blocking)
        in_body = {row.number for row in blocking if not row.render_blocking}
        rendering_us = max((row.timing.end_us or 0 for row in blocking if row.render_blocking), default=0)
        fonts = FontHold(comes=fonts_come_us(page, rendering_us), beside=frozenset(in_body))
        fonts = fonts.seen(ends, page.vitals.fcp_us)
        ready_us = fonts.free_us(ends)
        ends |= {row.number: row.timing.end_us or 0 for row in _held_by_font(page, ready_us)}
        sure = _is_direct(page, max([ready_us, *ends.values()]))
        tasks = _tasks_meanwhile(page, max(ends.values(), default=0))
        shared = carriers(blocking, page.waterfall.requests)
        begun = {number: row for number, task in tasks.items() if (row := _began_by(task, ends))}
        return cls(
            ends=ends | {number: task.end_us for number, task in tasks.items()},
            after=_leads(blocking) | shared | begun,
            sure=sure,
            blocking=frozenset(row.number for row in blocking),
            made_us=_made_us(page, ends) if shows_nothing(page) else 0,
            shared=shared,
            fonts=replace(fonts, beside=fonts.beside | {number for number, row in begun.items() if row in in_body}),
        )

    @property
    def ready_us(self) -> int:
        """When all that it waited for was there."""
        return self.fonts.free_us(self.ends)

    def waits_for(self, row: Request) -> bool:
        return row.number in self.ends or row.number in self.shared.values()

    def without_us(self, rows: Iterable[Request]) -> int:
        """When all else that the paint waited for was there, whatever was claimed."""
        return self._paint_us({row.number: GONE_US for row in rows})

    def gain_us(self, sooner: Mapping[int, int]) -> int:
        """What is gained, by itself and beyond what was claimed, if these rows came so much sooner."""
        if not self.sure:
            return 0
        alone = self._paint_us({}) - self._paint_us(sooner)
        left = self._paint_us(self._sooner) - self._paint_us(self._with(sooner))
        return max(0, min(alone, left))

    def claim(self, sooner: Mapping[int, int]) -> int:
        """The same, and nobody gains it again. By how much sooner than that they would come, others may claim."""
        gained = self.gain_us(sooner)
        self._sooner = self._with({number: min(us, gained) for number, us in sooner.items()})
        return gained

    def gain_without_us(self, gone: Iterable[Request], sooner: Mapping[int, int]) -> int:
        """The gain where rows come so much sooner since others do not come at all, for which it waits if they are
        fonts."""
        then = replace(self, fonts=self.fonts.without(gone))
        return max(0, self._paint_us(self._sooner) - then._paint_us(self._with(sooner))) if self.sure else 0

    def claim_without(self, gone: Iterable[Request], sooner: Mapping[int, int]) -> int:
        """The same, and nobody gains it again."""
        gained = self.gain_without_us(gone, sooner)
        if self.sure:
            self.fonts = self.fonts.without(gone)
        self._sooner = self._with({number: min(us, gained) for number, us in sooner.items()})
        return gained

    def claimed_us(self, row: Request) -> int:
        """By how much sooner a row comes by what was claimed of it, and of those that lead to it."""
        return self._sooner_by(self._sooner).get(row.number, self._sooner.get(row.number, 0))

    def _with(self, sooner: Mapping[int, int]) -> dict[int, int]:
        return {number: self._sooner.get(number, 0) + sooner.get(number, 0) for number in {*self._sooner, *sooner}}

    def _paint_us(self, sooner: Mapping[int, int]) -> int:
        sooner_us = self._sooner_by(sooner)
        return max(
            self.made_us, self.fonts.free_us({number: end - sooner_us[number] for number, end in self.ends.items()})
        )

    def _sooner_by(self, sooner: Mapping[int, int]) -> dict[int, int]:
        """By how much sooner each comes by itself and by what leads to it."""
        found: dict[int, int] = {}
        for number in self._in_order:
            found[number] = sooner.get(number, 0) + (found[self.after[number]] if number in self.after else 0)
        return found

    @cached_property
    def _in_order(self) -> list[int]:
        """What leads to a row is always one with a smaller number; a task leads to none."""
        return sorted({*self.ends, *self.after, *self.after.values()}, key=lambda number: (number < 0, number))


def shows_nothing(page: PageMeasurement) -> bool:
    """Whether scripts may make all that is ever shown: the document that was read holds nothing to be seen, or it is of
    a file, and nobody can read it once more."""
    is_of_file = any(row.timing_source is TimingSource.ARCHIVE for row in page.waterfall.requests)
    return page.shows_from is None and (page.body_from is not None or is_of_file)


def _of_document(page: PageMeasurement, blocking: Sequence[Request]) -> dict[int, int]:
    """The document's end, or when it was read, which the first thing that it asks for tells: a browser that is just
    starting takes its time, and some more to read all of it while what blocks is on its way. Where it came in pieces,
    when it had come as far as its first words and had been read as far as all that blocks; nobody knows when that was
    where the page was painted before it was complete, and not when its words had come."""
    document = next((row for row in page.waterfall.requests if row.number == page.document), None)
    if document is None or document.timing.end_us is None:
        return {}
    fcp_us, words_us, end_us = page.vitals.fcp_us, _painted_words_us(page), document.timing.end_us
    is_whole = fcp_us is None or end_us <= fcp_us
    came_us = max(document.timing.first_byte_us or 0, min(words_us or 0, end_us if fcp_us is None else fcp_us))
    read_us = max([came_us, *(row.timing.start_us for row in blocking)])
    if is_whole and (words_us is None or read_us >= end_us - CLOCKS_US):
        asked = [row.timing.start_us for row in blocking if row.initiator_url == document.url.partition("#")[0]]
        return {document.number: _parsed_us(page, blocking, max(end_us, min(asked, default=0)))}
    return {_READ: read_us}


def _parsed_us(page: PageMeasurement, blocking: Sequence[Request], begun_us: int) -> int:
    """When the parser had read a document, begun at an instant, where it stopped at nothing that blocks: a paint that
    nothing else holds up waits for that. Of one that takes long a part is painted before: of 400 pictures the first
    after 80 ms."""
    stopped_us = min((row.timing.end_us or 0 for row in blocking), default=0)
    parsed_us = page.vitals.dom_interactive_us or 0
    return min(parsed_us, begun_us + _IN_PARTS_US) if begun_us < parsed_us <= stopped_us else begun_us


def _blocking(page: PageMeasurement) -> list[Request]:
    """What every paint or the first one had to wait for, and was there before it: what came later cannot have held it
    up, and what a frame asked for blocks that frame alone."""
    fcp_us = page.vitals.fcp_us
    asked = [row for row in page.waterfall.requests if RowFlag.FRAME not in row.flags]
    stopping = _stopping(page, asked)
    rows = [row for row in asked if (row.render_blocking or row.number in stopping) and row.timing.end_us]
    return [row for row in rows if fcp_us is None or (row.timing.end_us or 0) <= fcp_us + CLOCKS_US]


def _stopping(page: PageMeasurement, asked: Sequence[Request]) -> set[int]:
    """What the parser stopped at before it had read a thing to be seen, with what that led to: an import, a redirect.
    Behind such a thing it holds up what stands there, and not the first paint."""
    document = next((row.url.partition("#")[0] for row in asked if row.number == page.document), None)
    if page.shows_from is None or document is None:
        return set()
    stopping: set[int] = set()
    naming = _Naming()
    for row in asked:
        before = naming.of(row)
        is_ahead = row.initiator_url == document and (row.initiator_at or page.shows_from) < page.shows_from
        is_named = row.blocking is Blocking.PARSER and (is_ahead or any(_leads_to(one, row) for one in before))
        if is_named or any(one.redirected_to == row.url for one in before):
            stopping.add(row.number)
            naming.add(row)
    return stopping


class _Naming:
    """Rows by the addresses that they have or lead to: of ten thousand, those that may have named another."""

    def __init__(self, rows: Iterable[Request] = ()) -> None:
        self._rows: dict[str, list[Request]] = {}
        for row in rows:
            self.add(row)

    def add(self, row: Request) -> None:
        for name in filter(None, {row.url, row.redirected_to}):
            self._rows.setdefault(name, []).append(row)

    def of(self, row: Request) -> list[Request]:
        return [*self._rows.get(row.initiator_url or "", ()), *self._rows.get(row.url, ())]


def _made_us(page: PageMeasurement, waited: Mapping[int, int]) -> int:
    """When the last had come that may have made what was painted first, and that nothing waited for; and the first of
    the document's own pictures, which is what a document without words shows."""
    latest_us = GONE_US if page.vitals.fcp_us is None else page.vitals.fcp_us + CLOCKS_US
    rows = [row for row in page.waterfall.requests if (row.timing.end_us or 0) <= latest_us]
    ends = (row.timing.end_us or 0 for row in rows if may_make(row) and row.number not in waited)
    pictures = (row.timing.end_us for row in rows if _is_of_document(row) and row.timing.end_us)
    return max(max(ends, default=0), min(pictures, default=0))


def _is_of_document(row: Request) -> bool:
    """Whether it is a picture that a tag of the document shows."""
    is_shown = row.initiator_at is not None and not {RowFlag.FRAME, RowFlag.PRELOAD} & set(row.flags)
    return row.resource_type is ResourceType.IMAGE and is_shown


def may_make(row: Request) -> bool:
    return row.resource_type in (ResourceType.SCRIPT, ResourceType.FETCH) and RowFlag.FRAME not in row.flags


def _tasks_meanwhile(page: PageMeasurement, last_us: int) -> dict[int, Span]:
    """Long tasks that had begun before the last of it came, by numbers that no row has."""
    tasks = [task for task in page.vitals.long_tasks or () if task.start_us < last_us - CLOCKS_US]
    return {-number: task for number, task in enumerate(tasks, start=1)}


def _began_by(task: Span, ends: Mapping[int, int]) -> int | None:
    """What had come directly before a task, which may be what it worked on; nothing where it began by itself."""
    began = {number: end for number, end in ends.items() if -CLOCKS_US <= task.start_us - end <= DIRECTLY_US}
    return max(began, key=lambda number: began[number], default=None)


def _leads(blocking: Sequence[Request]) -> dict[int, int]:
    """By row the last one that had to come first."""
    naming = _Naming(blocking)
    befores = {row.number: [one.number for one in naming.of(row) if _leads_to(one, row)] for row in blocking}
    return {number: max(before) for number, before in befores.items() if before}


def _leads_to(before: Request, row: Request) -> bool:
    """Whether a row was asked for when this one had come: an import, what a script writes, a redirect."""
    named = before.url == row.initiator_url or before.redirected_to == row.url
    return named and before.number < row.number and (before.timing.end_us or 0) <= row.timing.start_us + CLOCKS_US


def _held_by_font(page: PageMeasurement, last_us: int) -> list[Request]:
    """Fonts that the first paint came directly after, when it did not come directly after all else: text that waits."""
    fcp_us = page.vitals.fcp_us
    if fcp_us is None or fcp_us - last_us <= DIRECTLY_US:
        return []
    rows = [row for row in page.waterfall.requests if not _is_a_frames_own(row)]
    fonts = [row for row in rows if row.resource_type is ResourceType.FONT and row.timing.end_us]
    return [
        row for row in fonts if last_us < (row.timing.end_us or 0) <= fcp_us <= (row.timing.end_us or 0) + DIRECTLY_US
    ]


def _is_direct(page: PageMeasurement, last_us: int) -> bool:
    """Whether nothing else can have held the first paint up. Without its instant there is only the word of Chrome
    that these rows block."""
    fcp_us = page.vitals.fcp_us
    if fcp_us is None or fcp_us - last_us <= DIRECTLY_US:
        return True
    if _may_be_words(page, fcp_us):
        return False
    if fcp_us - last_us > _WORKING_US or _was_busy(page, last_us) or may_be_a_picture(page, last_us, fcp_us):
        return False
    if fcp_us - worked_until_us(page, last_us) <= DIRECTLY_US:
        return True
    came = (row.timing.end_us or 0 for row in page.waterfall.requests if _may_be_waited_for(row))
    return not any(last_us < end_us <= fcp_us for end_us in came)


def worked_until_us(page: PageMeasurement, last_us: int) -> int:
    """When what the last of it began had been worked through, one thing directly behind another: long tasks, and what
    was left of the document, whose scripts may be short and many."""
    began_us, tasks = last_us, [*(page.vitals.long_tasks or ()), *_reading_on(page, last_us)]
    for task in sorted(tasks, key=lambda task: task.start_us):
        if began_us - CLOCKS_US <= task.start_us <= last_us + DIRECTLY_US:
            last_us = max(last_us, task.end_us)
    return last_us


def _reading_on(page: PageMeasurement, last_us: int) -> Iterator[Span]:
    """From the last of it until a document was parsed that had come by then, where nothing came meanwhile that its
    parser or its scripts may have waited for; until it said that it had loaded, where nothing came at all."""
    document = next((row for row in page.waterfall.requests if row.number == page.document), None)
    if document is None or document.timing.end_us is None or document.timing.end_us > last_us + CLOCKS_US:
        return
    came = [row for row in page.waterfall.requests if (row.timing.end_us or 0) > last_us + CLOCKS_US]
    telling = [row for row in came if _may_be_waited_for(row)]
    for until_us, rows in ((page.vitals.dom_interactive_us, telling), (page.vitals.load_us, came)):
        if until_us is not None and last_us < until_us < min((row.timing.end_us or 0 for row in rows), default=GONE_US):
            yield Span(start_us=last_us, end_us=until_us)


def _may_be_waited_for(row: Request) -> bool:
    """Whether scripts or the first paint may wait for it."""
    return row.resource_type in _TELLING and row.served_from is ServedFrom.NETWORK and not _is_a_frames_own(row)


def _painted_words_us(page: PageMeasurement) -> int | None:
    """When the document's first words had come; None where nobody knows, or something else was painted before them."""
    fcp_us, words_us = page.vitals.fcp_us, page.words_us
    return None if words_us is None or (fcp_us is not None and words_us > fcp_us + CLOCKS_US) else words_us


def _may_be_words(page: PageMeasurement, fcp_us: int) -> bool:
    """Whether what was painted first may have come in a late piece of the document: it was still coming, and nobody
    knows when its first words had."""
    document = next((row for row in page.waterfall.requests if row.number == page.document), None)
    return (
        _painted_words_us(page) is None and document is not None and (document.timing.end_us or 0) > fcp_us + CLOCKS_US
    )


def may_be_a_picture(page: PageMeasurement, last_us: int, fcp_us: int) -> bool:
    """Whether what was painted first may be a picture that had come just before: a page without words shows nothing
    until then. From its last byte to the screen it takes a picture longer than a text. The picture of the largest paint
    was not it where it had come as a whole, and is known to have been painted later.
    """
    largest = largest_row(page) if (page.vitals.lcp_us or 0) > fcp_us + CLOCKS_US else None
    return any(
        last_us < (row.timing.end_us or 0) <= fcp_us <= (row.timing.end_us or 0) + 2 * DIRECTLY_US
        for row in page.waterfall.requests
        if row.resource_type is ResourceType.IMAGE and RowFlag.FRAME not in row.flags
        if row is not largest or (row.timing.end_us or 0) > fcp_us - CLOCKS_US
    )


def _is_a_frames_own(row: Request) -> bool:
    """Whether it can only hold a frame up: a frame's scripts share the page's thread."""
    return RowFlag.FRAME in row.flags and row.resource_type is not ResourceType.SCRIPT


def _was_busy(page: PageMeasurement, last_us: int) -> bool:
    """Whether a task that had begun before the last of it came went on for long after: then the paint waited for the
    task, which would have run all the same."""
    return any(
        task.start_us < last_us - CLOCKS_US and task.end_us > last_us + DIRECTLY_US
        for task in page.vitals.long_tasks or ()
    )
