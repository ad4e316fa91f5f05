"""The catalogue as a page for people: docs/findings.md is this text, and a test holds it to it."""

from collections.abc import Iterator

from workers.diagnosis.catalogue import Counts, column, entry, reason_text
from workers.diagnosis.catalogue.by_severity import TITLES
from workers.measurement.finding import CheckColumn, FindingId, NotJudgedReason

_INTRODUCTION = """\
# Findings

What Firstbyte looks for, what it means and what to do about it. A finding is told only with its evidence; where the
evidence cannot decide, the cause stands under "not judged" with the reason. What two causes hold up until the last of
them is mended is saved by neither alone: each then says what mending both saves together, which counts once. This page
is written by `python -m workers.diagnosis.catalogue`.
"""
_COUNTS = {
    None: "",
    Counts.NEW_VISIT: " Its saving counts for a new visitor.",
    Counts.RETURNING_VISIT: " Its saving counts for a returning visitor.",
    Counts.EACH_REQUEST: " Its saving counts for each request.",
    Counts.FURTHER_REQUEST: " Its saving counts for each further request.",
    Counts.ANSWER_AFTER_REST: " Its saving counts for each large answer after a pause.",
}
_FAMILIES = {
    "dns": "Names",
    "tcp": "Transport",
    "ipv6": "IPv6",
    "http": "HTTP",
    "tls": "TLS",
    "page": "Pages",
}


def page() -> str:
    """All of it, in Markdown."""
    return "\n".join((_INTRODUCTION, *_findings(), *_reasons(), *_columns()))


def _findings() -> Iterator[str]:
    for family, title in _FAMILIES.items():
        yield f"## {title}\n"
        for id in FindingId:
            if id.startswith(f"{family}."):
                yield from _finding(id)


def _finding(id: FindingId) -> Iterator[str]:
    told = entry(id)
    yield f"### {told.title}\n"
    yield f"`{id}`{_told_as(id)}\n"
    yield f"{told.explanation}{_COUNTS[told.counts]}\n"
    yield f"**What to do.** {told.advice}\n"
    if told.settings:
        yield "```"
        yield from (_setting(one.server, one.setting) for one in told.settings)
        yield "```\n"


def _told_as(id: FindingId) -> str:
    """What findings of it are called, where that says more than the cause's own title."""
    titles = dict.fromkeys(TITLES.get(id, {}).values())
    return f", told as {' or '.join(f'“{title}”' for title in titles)}" if titles else ""


def _setting(server: str, text: str) -> str:
    first, *more = text.split("\n")
    return "\n".join((f"{server + ':':11} {first}", *(f"{'':12}{line}" for line in more)))


def _reasons() -> Iterator[str]:
    yield "## Not judged\n"
    yield from (f"- `{reason}`: {reason_text(reason)}." for reason in NotJudgedReason)
    yield ""


def _columns() -> Iterator[str]:
    yield "## Is TLS fast yet\n"
    yield "Twenty columns of a site, each answered by yes, no, not applicable or unknown, with the evidence.\n"
    yield "| column | what it means | finding |"
    yield "|---|---|---|"
    for id in CheckColumn:
        told = column(id)
        yield f"| {told.title} | {told.explanation} | {f'`{told.finding}`' if told.finding else ''} |"
    yield ""
