"""A file without what an import does not need: bodies and cookies, which are most of it and nobody's business."""

import json
from typing import Any

from workers.measurement.imports.fields import list_of, object_of
from workers.measurement.imports.source import document_in
from workers.measurement.redaction import SECRET_HEADERS

_BODIES = ("text", "encoding", "_file", "_sha1")
# Of what tools keep under names of their own in lists and objects: all that an import reads.
_READ = frozenset({"_initiator", "_securityDetails", "_flags"})


def slimmed(data: bytes) -> bytes:
    """The same page loads in fewer bytes. Raises UnreadableFileError. What is no archive stays as it is."""
    document = document_in(data)
    if not isinstance(document.get("log"), dict):
        return data
    for entry in list_of(document["log"], "entries"):
        if isinstance(entry, dict):
            _slim(entry)
    return json.dumps(document, separators=(",", ":")).encode()


def _slim(entry: dict[str, Any]) -> None:
    _drop_extras(entry)
    for side in ("request", "response"):
        message = entry.get(side)
        if isinstance(message, dict):
            _drop_extras(message)
            message.pop("postData", None)
            message["cookies"] = []
            message["headers"] = [line for line in list_of(message, "headers") if not _is_secret(line)]
    content = object_of(object_of(entry, "response"), "content")
    if isinstance(content, dict):
        _drop_extras(content)
        for name in _BODIES:
            content.pop(name, None)


def _drop_extras(fields: dict[str, Any]) -> None:
    """Such as the messages of WebSockets, or all headers once more."""
    for name in [name for name, value in fields.items() if name.startswith("_") and isinstance(value, dict | list)]:
        if name not in _READ:
            del fields[name]


def _is_secret(line: Any) -> bool:
    return isinstance(line, dict) and str(line.get("name", "")).strip().lower() in SECRET_HEADERS
