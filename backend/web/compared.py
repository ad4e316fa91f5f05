"""What can lie side by side: a run, or an import. No I/O."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.urls import reverse

from backend.fleet.models import Region
from backend.runs.models import Outcome, Run, Upload
from backend.runs.queries import RunDetail, UploadDetail
from backend.sites.models import Monitor, Site
from backend.web import import_page, times
from backend.web.waterfall.side_by_side import Side
from backend.web.waterfall.text import printable
from workers.diagnosis.without.words import some_of
from workers.measurement.messages import Measurement

_NAME_CHARS = 60
# A list of choices is as wide as the longest of them.
_PART_CHARS = 40
_OURS = "Firstbyte"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One of those that can be chosen, and how a list says it."""

    id: UUID
    words: str
    site: Site | None

    @property
    def words_with_site(self) -> str:
        return self.words if self.site is None else f"{printable(self.site.name, _NAME_CHARS)}, {self.words}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One of the two. `title` stands over its waterfall, `origin` says where it is from, `tool` what measured it.

    `page_url` is the address of its page, `monitor` the one whose runs are offered beside it, `skipped` how many
    requests of its file could not be read.
    """

    source: Run | Upload
    choice: Choice
    monitor: Monitor | None
    title: str
    origin: str
    tool: str
    at: datetime
    page_url: str
    measurement: Measurement | None
    film_url: str = ""
    skipped: int = 0

    @property
    def id(self) -> UUID:
        return self.choice.id

    @property
    def site(self) -> Site | None:
        return self.choice.site

    def side(self, letter: str) -> Side:
        """As one of two waterfalls. Raises ValueError where there is nothing to draw."""
        if self.measurement is None:
            raise ValueError("of what nothing was measured there is no waterfall")
        return Side(name=f"{letter}: {self.title}", measurement=self.measurement, film_url=self.film_url)


def of_run(detail: RunDetail, film_url: str = "", without: Sequence[str] = ()) -> Compared:
    """A run; `film_url` is where its film is, `without` which hosts its page was loaded without."""
    run, site = detail.run, detail.site
    origin = f"from {printable(detail.region.name, _NAME_CHARS)}"
    origin += f" without {some_of(without)}" if without else ""
    return Compared(
        source=run,
        choice=choice_of_run(run, detail.region, site),
        monitor=detail.monitor,
        title=f"{printable(site.name, _NAME_CHARS)} {origin}, {times.short(run.scheduled_for)}",
        origin=origin,
        tool=_OURS,
        at=run.scheduled_for,
        page_url=reverse("web:run", args=[run.run_id]),
        measurement=detail.measurement,
        film_url=film_url,
    )


def of_import(detail: UploadDetail, monitor: Monitor | None) -> Compared:
    """An import; `monitor` loads the pages of its site."""
    upload = detail.upload
    origin = f"out of {_file_of(upload)} by {_tool_of(upload)}"
    return Compared(
        source=upload,
        choice=choice_of_import(upload),
        monitor=monitor,
        title=f"{printable(import_page.heading(upload), _NAME_CHARS)} {origin}, {times.exact(upload.started_at)}",
        origin=origin,
        tool=printable(upload.tool or upload.format, _NAME_CHARS),
        at=upload.started_at,
        page_url=reverse("web:import", args=[upload.public_id]),
        measurement=detail.measurement,
        skipped=upload.skipped,
    )


def choice_of_run(run: Run, region: Region, site: Site) -> Choice:
    parts = [times.short(run.scheduled_for), printable(region.name, _NAME_CHARS)]
    if run.outcome != Outcome.MEASURED:
        parts.append(run.outcome)
    return Choice(id=run.run_id, words=", ".join(parts), site=site)


def choice_of_import(upload: Upload) -> Choice:
    """To the second: a file may hold a page that was loaded again and again."""
    words = f"{_file_of(upload)}, {times.exact(upload.started_at)}"
    return Choice(id=upload.public_id, words=words, site=upload.site)


def _file_of(upload: Upload) -> str:
    """With the file's own name for the page load: a file may hold several."""
    label = upload.label.removeprefix("https://").removeprefix("http://")
    return f"{printable(upload.file_name, _PART_CHARS)} ({printable(label, _PART_CHARS)})"


def _tool_of(upload: Upload) -> str:
    named = " ".join(part for part in (upload.tool, upload.tool_version) if part)
    return printable(named or f"a tool that writes {upload.format}", _NAME_CHARS)
