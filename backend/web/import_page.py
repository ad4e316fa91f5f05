"""What the page of an imported load says beside its waterfall. No I/O."""

from dataclasses import replace
from http import HTTPStatus

from backend.alerts.metrics import LABELS
from backend.runs.diagnoses import diagnosis_of
from backend.runs.models import Upload
from backend.web import times, units
from backend.web.findings import Panel, of_run
from backend.web.verdict import Card, Verdict, cards_of, measured_verdict
from backend.web.waterfall.board import of_visit
from backend.web.waterfall.moments import document_of
from backend.web.waterfall.text import host_of
from workers.measurement.evidence import Depth
from workers.measurement.messages import PageMeasurement

_OF_REQUESTS = (LABELS["bytes"], LABELS["connections"])


def heading(upload: Upload) -> str:
    """Whose page it is."""
    return upload.site.name if upload.site is not None else host_of(upload.url) or upload.label


def caption(upload: Upload) -> str:
    """What stands over its picture, which is a file to keep."""
    return f"{heading(upload)}, out of {upload.file_name}, {times.handed_on(upload.started_at)}"


def about(upload: Upload) -> list[str]:
    """The small print: which file, of which tool, and who brought it."""
    tool = " ".join(part for part in (upload.tool, upload.tool_version) if part)
    browser = upload.browser_version if upload.browser_version != tool else None
    parts = [
        upload.label if upload.label != upload.url else None,
        f"{upload.format} of {tool}" if tool else upload.format,
        browser,
        upload.file_name,
        None if upload.created_by is None else f"by {upload.created_by}",
    ]
    return [part for part in parts if part]


def warnings(upload: Upload) -> list[str]:
    """What was left out of the file, the first with their places."""
    counted = f"{units.count(upload.skipped)} of the file's requests could not be read." if upload.skipped else None
    return [text for text in (counted, *upload.remarks) if text]


def verdict(measurement: PageMeasurement | None) -> Verdict:
    if measurement is None:
        return Verdict(level="warn", title="This import cannot be read any more", text="Import the file again.")
    found, document, vitals = measured_verdict(measurement), document_of(measurement), measurement.vitals
    if document is not None and (document.status or 0) >= HTTPStatus.BAD_REQUEST:
        return replace(found, level="bad", title=f"The server answered {document.status}")
    if vitals.lcp_us is None and vitals.load_us is None:
        return replace(found, title="The file does not say when the page had loaded")
    return found


def cards(measurement: PageMeasurement | None, visit: str = "") -> tuple[Card, ...]:
    """The figures of the visit that is shown. Without requests nothing is known of what they brought and over what."""
    if measurement is None:
        return ()
    shown = of_visit(measurement, visit)
    found = cards_of(shown)
    known = isinstance(shown, PageMeasurement) and shown.waterfall.requests
    return found if known else tuple(card for card in found if card.name not in _OF_REQUESTS)


def panel(measurement: PageMeasurement | None) -> Panel | None:
    """What today's rules make of it; None where there is nothing to say."""
    diagnosis = diagnosis_of(measurement)
    if diagnosis is None or not diagnosis.findings:
        return None
    return of_run(diagnosis, Depth.DEEP, None)
