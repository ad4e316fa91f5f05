"""What a server's certificate says, and what verifying it said."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """The leaf, and the size of the chain as the server sent it. Times are aware UTC."""

    subject: str
    issuer: str
    names: tuple[str, ...]
    not_before: datetime
    not_after: datetime
    sha256: str
    key_type: str | None = None
    key_bits: int | None = None
    chain_length: int | None = None
    chain_bytes: int | None = None
