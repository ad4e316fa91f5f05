"""`firstbyte sites`: what is measured, kept in a file."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from workers.commands import EXIT_FAILED, EXIT_NOT_MEASURED, EXIT_OK, UsageError
from workers.commands.output import harmless, say, write, write_json
from workers.commands.pipeline_api import Api, RefusedError, UnreachableError, api_of
from workers.commands.sites_file import MAX_BYTES, FileError, SitesFile, read_file, written
from workers.commands.unreadable import unreadable

# Written where there is something: an empty list is all that there shall be, and speaks against what is added by hand.
_SELDOM = ("maintenance", "status_pages", "channels")
# What belongs to the organisation, and to no site.
_OF_ALL = {"channel": "channel", "status_page": "status page"}
_MARKS = {"create": "+", "change": "~", "delete": "-", "keep": "!"}
_KEPT = "is not in the file, and stays; --delete takes it away"


def run(arguments: argparse.Namespace) -> int:
    """Carries out one of the actions and gives the exit code. Raises UsageError."""
    api = api_of(arguments.url, arguments.token, arguments.cacert)
    act: Callable[[Api, argparse.Namespace], int] = _export if arguments.action == "export" else _carry_out
    try:
        return act(api, arguments)
    except RefusedError as error:
        if error.is_usage:
            raise UsageError(str(error)) from error
        say(f"firstbyte sites: {error}")
    except UnreachableError as error:
        say(f"firstbyte sites: {error}")
    return EXIT_NOT_MEASURED


def _export(api: Api, arguments: argparse.Namespace) -> int:
    document = api.get("declaration")
    for remark in document["remarks"]:
        say(f"firstbyte sites: {remark}")
    # A service of an earlier version knows fewer.
    told = {name: document[name] for name in ("sites", "rules")} | {
        name: document[name] for name in _SELDOM if document.get(name)
    }
    if arguments.json:
        write_json(told)
    else:
        write(written(told).rstrip("\n"))
    return EXIT_OK


def _carry_out(api: Api, arguments: argparse.Namespace) -> int:
    """Plans or applies."""
    file = _read(arguments.file)
    query = "?delete=true" if arguments.delete else ""
    try:
        outcome = api.post(f"declaration/{arguments.action}{query}", file.document, timeout_s=180.0)
    except RefusedError as error:
        if error.faults:
            raise UsageError("\n".join(_faults(arguments.file, file, error.faults))) from error
        raise
    if arguments.json:
        write_json(outcome)
    else:
        write(harmless("\n".join(_lines(outcome["changes"]))))
    return EXIT_FAILED if arguments.action == "plan" and outcome["changes"] else EXIT_OK


def _read(name: str) -> SitesFile:
    try:
        if name == "-":
            content = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(name).open("rb") as stream:
                content = stream.read(MAX_BYTES + 1)
        file = read_file(content)
    except OSError as error:
        raise UsageError(unreadable("sites", Path(name), error)) from error
    except FileError as error:
        raise UsageError(f"{name}: {error}") from error
    if not isinstance(file.document, dict):
        raise UsageError(
            f"{name}: it must hold `sites`, `rules` or another section; `firstbyte sites --help` shows a file"
        )
    return file


def _faults(name: str, file: SitesFile, faults: Mapping[str, str]) -> Iterator[str]:
    """Each with its place as editors and pipelines know it, and what it is in words."""
    yield "the service refuses the file, and nothing was changed"
    for pointer, detail in sorted(faults.items(), key=lambda fault: file.line_of(fault[0])):
        place = _place(file.document, pointer)
        yield f"{name}:{file.line_of(pointer)}: {place + ': ' if place else ''}{detail}"


def _place(document: Any, pointer: str) -> str:
    """`#/sites/0/pairs/1/origin` is "Shop, pairs, app.js, origin": what has a name is called by it."""
    words, value = [], document
    for part in pointer.split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        value = _within(value, part)
        name = value.get("name", value.get("slug")) if isinstance(value, dict) else None
        words.append(str(name) if name and part.isdigit() else str(int(part) + 1) if part.isdigit() else part)
    return ", ".join(words[1:] if words[:1] == ["sites"] and len(words) > 1 else words)


def _within(value: Any, part: str) -> Any:
    if isinstance(value, dict):
        return value.get(part)
    is_there = isinstance(value, list) and part.isdigit() and int(part) < len(value)
    return value[int(part)] if is_there else None


def _lines(changes: list[dict[str, Any]]) -> Iterator[str]:
    for change in changes:
        kept = f" {_KEPT}" if change["act"] == "keep" else ""
        yield f"{_MARKS[change['act']]} {_subject(change)}{kept}"
        yield from _fields(change["fields"])
    number = len(changes)
    yield f"{number} change{'' if number == 1 else 's'}" if number else "nothing differs"


def _subject(change: Mapping[str, Any]) -> str:
    """ "Shop, probe", "Shop, rule Paint", "all sites, rule Budget", "status page acme"."""
    if change["what"] in _OF_ALL:
        return f"{_OF_ALL[change['what']]} {change['name']}"
    what = "" if change["what"] == "site" else f", {change['what']}"
    return f"{change['site'] or 'all sites'}{what}{' ' + change['name'] if change['name'] else ''}"


def _fields(fields: list[dict[str, Any]]) -> Iterator[str]:
    width = max((len(field["name"]) for field in fields), default=0)
    for field in fields:
        told = "another text" if field["is_secret"] else f"{_value(field['before'])} → {_value(field['after'])}"
        yield f"    {field['name']:<{width}}  {told}"


def _value(value: Any) -> str:
    if value is None:
        return "as usual"
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
