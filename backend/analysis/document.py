"""Documents of the replay commands: read strictly, and told apart field by field when they are wrong."""

from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

MAX_DOCUMENT_BYTES = 256 * 1024 * 1024
_MAX_FAULTS = 5

T = TypeVar("T")


class DocumentError(ValueError):
    """A document that cannot be used. Its text names every field at fault, up to five."""


def read(shape: TypeAdapter[T], text: bytes) -> T:
    """The document as its type. Raises DocumentError."""
    if len(text) > MAX_DOCUMENT_BYTES:
        raise DocumentError(f"the document is larger than {MAX_DOCUMENT_BYTES // 2**20} MiB")
    try:
        return shape.validate_json(text, strict=True)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
    told = [f"{_path(fault['loc'])}: {fault['msg']}" for fault in faults[:_MAX_FAULTS]]
    if len(faults) > _MAX_FAULTS:
        told.append(f"and {len(faults) - _MAX_FAULTS} more")
    raise DocumentError("\n".join(told))


def _path(location: tuple[int | str, ...]) -> str:
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    return path or "document"
