"""What is computed of other people's bytes and remembered, so that nobody can fill our memory with it."""

from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import TypeVar, TypeVarTuple

from cryptography import x509

Asked = TypeVarTuple("Asked")
Answer = TypeVar("Answer")

# Certificates of a thousand sites and more, as they usually are.
MOST_BYTES = 8 * 1024 * 1024
# What an answer and its place take besides, however short the question.
_ENTRY_BYTES = 1024


def remembered(function: Callable[[*Asked], Answer]) -> Callable[[*Asked], Answer]:
    """The function, which works once for the same bytes. Of all that it is asked `MOST_BYTES` are kept, and the oldest
    make room. For any threads."""
    known: dict[tuple[*Asked], tuple[Answer, int]] = {}
    lock, kept_bytes = Lock(), 0

    @wraps(function)
    def ask(*asked: *Asked) -> Answer:
        nonlocal kept_bytes
        found = known.get(asked)
        if found is not None:
            return found[0]
        answer, size = function(*asked), _ENTRY_BYTES + _bytes_of(asked)
        with lock:
            if asked not in known:
                known[asked] = answer, size
                kept_bytes += size
            while kept_bytes > MOST_BYTES:
                kept_bytes -= known.pop(next(iter(known)))[1]
        return answer

    return ask


def _bytes_of(asked: object) -> int:
    match asked:
        case bytes():
            return len(asked)
        case tuple():
            return sum(map(_bytes_of, asked))
        case x509.Certificate():
            return len(asked.tbs_certificate_bytes)
    return 0
