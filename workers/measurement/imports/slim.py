"""A file without what an import does not need: bodies and cookies, which are most of it and nobody's business."""

import json
from typing import Any

from workers.measurement.compute.texts import SECRET_HEADERS
from workers.measurement.imports.fields import list_of, object_of
from workers.measurement.imports.source import document_in

_BODIES = ("text", "encoding", "_file", "_sha1")


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
    for side in ("request", "response"):
        message = entry.get(side)
        if isinstance(message, dict):
            message.pop("postData", None)
            message["cookies"] = []
            message["headers"] = [line for line in list_of(message, "headers") if not _is_secret(line)]
    content = object_of(object_of(entry, "response"), "content")
    if isinstance(content, dict):
        for name in _BODIES:
            content.pop(name, None)


def _is_secret(line: Any) -> bool:
    return isinstance(line, dict) and str(line.get("name", "")).lower() in SECRET_HEADERS
