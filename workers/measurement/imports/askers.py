"""Who asked for a row of a file: a frame, the browser's own CORS question, a hint. Pure.

Browsers say so in the request's own headers (Fetch Metadata; Fetch, 4.8), whichever tool wrote them down. What the
document of a frame named belongs to that too, and WebPageTest names the frame of each row.
"""

from collections.abc import Sequence
from dataclasses import replace

from workers.measurement.imports.draft import Draft
from workers.measurement.waterfall import Request, ResourceType, RowFlag

# What Sec-Fetch-Dest calls a document that stands in another one.
_IN_ANOTHER = frozenset({"iframe", "frame", "embed", "object", "fencedframe"})


def with_askers(drafts: Sequence[Draft]) -> list[Draft]:
    """The same rows in order of start, with the flags that follow from who asked for them."""
    ordered = sorted(drafts, key=lambda draft: draft.request.timing.start_us)
    main = _main_frame(ordered)
    framed, own = set[str](), set[str]()
    flagged = []
    for draft in ordered:
        row = draft.request
        is_named = row.initiator_url in framed and row.initiator_url not in own
        in_frame = is_named or _is_in_another(row) or draft.frame not in (None, main)
        (framed if in_frame else own).update(filter(None, (row.url, row.redirected_to)))
        told = [*row.flags, *_of_headers(row), *([RowFlag.FRAME] if in_frame else [])]
        flagged.append(replace(draft, request=replace(row, flags=tuple(dict.fromkeys(told)))))
    return flagged


def _main_frame(drafts: Sequence[Draft]) -> str | None:
    """The frame of what the file calls its page's document, else of the first."""
    documents = [draft for draft in drafts if draft.request.resource_type is ResourceType.DOCUMENT]
    named = [draft for draft in drafts if draft.final] or [one for one in documents if not _is_in_another(one.request)]
    return named[0].frame if named else None


def _of_headers(row: Request) -> list[RowFlag]:
    sent = {header.name.lower(): header.value.lower() for header in row.request_headers}
    is_preflight = row.method == "OPTIONS" and "access-control-request-method" in sent
    is_prefetch = "prefetch" in sent.get("sec-purpose", "") + sent.get("purpose", "")
    told = {RowFlag.PREFLIGHT: is_preflight, RowFlag.PREFETCH: is_prefetch}
    return [flag for flag, is_so in told.items() if is_so]


def _is_in_another(row: Request) -> bool:
    said = (one.value.lower() for one in row.request_headers if one.name.lower() == "sec-fetch-dest")
    return RowFlag.FRAME in row.flags or next(said, "") in _IN_ANOTHER
