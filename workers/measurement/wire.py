"""Messages to bytes and back. The only module that knows how they are encoded.

A message travels as JSON in an envelope `{"kind", "version", "body"}`. Unknown fields are ignored, so that an older
reader understands a newer writer; an unknown kind or version is refused.
"""

from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, from_json

from workers.measurement.messages import Heartbeat, HeartbeatReply, Progress, Receipts, RunRequest, RunResult
from workers.measurement.waterfall import Waterfall

Message = RunRequest | RunResult | Progress | Heartbeat | HeartbeatReply | Receipts | Waterfall

# Building an adapter costs milliseconds: once, at import.
_ADAPTERS: dict[tuple[str, int], TypeAdapter[Any]] = {
    ("run_request", 1): TypeAdapter(RunRequest),
    ("run_result", 1): TypeAdapter(RunResult),
    ("progress", 1): TypeAdapter(Progress),
    ("heartbeat", 1): TypeAdapter(Heartbeat),
    ("heartbeat_reply", 1): TypeAdapter(HeartbeatReply),
    ("receipts", 1): TypeAdapter(Receipts),
    ("waterfall", 1): TypeAdapter(Waterfall),
}
_KINDS: dict[type, tuple[str, int]] = {
    RunRequest: ("run_request", 1),
    RunResult: ("run_result", 1),
    Progress: ("progress", 1),
    Heartbeat: ("heartbeat", 1),
    HeartbeatReply: ("heartbeat_reply", 1),
    Receipts: ("receipts", 1),
    Waterfall: ("waterfall", 1),
}


M = TypeVar("M", bound=Message)


class WireError(ValueError):
    """The bytes are not a message that this version understands; the text says why and names the place."""


def encode(message: Message) -> bytes:
    """The message as one line of JSON in its envelope, UTF-8, without a line break.

    Raises WireError for text that is no Unicode (a lone surrogate): instruments clean what servers send.
    """
    kind, version = _KINDS[type(message)]
    try:
        body = _ADAPTERS[kind, version].dump_json(message)
    except PydanticSerializationError as error:
        raise WireError(f"{kind} holds what cannot be encoded: {error!s:.200}") from error
    return b'{"kind":"%s","version":%d,"body":%s}' % (kind.encode(), version, body)


def decode(data: bytes, expected: type[M]) -> M:
    """The message in `data`. Raises WireError when it is no JSON, of another kind or version, or of a wrong shape."""
    try:
        envelope = from_json(data)
        name, version, body = envelope["kind"], envelope["version"], envelope["body"]
    except (ValueError, KeyError, TypeError) as error:
        raise WireError(f"not an envelope of kind, version and body: {error!r:.200}") from error
    adapter = _ADAPTERS.get((name, version)) if isinstance(name, str) and type(version) is int else None
    if adapter is None or name != _KINDS[expected][0]:
        raise WireError(f"expected {_KINDS[expected][0]}, got kind {name!r:.60} version {version!r:.20}")
    try:
        message: M = adapter.validate_python(body)
    except ValidationError as error:
        raise WireError(_first_fault(error)) from error
    return message


def _first_fault(error: ValidationError) -> str:
    """The place and text of the first of a validation's faults, and how many there are; without what was sent."""
    fault = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in fault["loc"])
    return f"{place}: {fault['msg']} ({error.error_count()} faults)"


def schemas() -> dict[str, dict[str, Any]]:
    """JSON Schema of every message body, by "kind.version"."""
    return {f"{kind}.{version}": adapter.json_schema() for (kind, version), adapter in _ADAPTERS.items()}
