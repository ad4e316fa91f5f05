"""What an answer's headers say, of what the rules ask."""

import re
from collections.abc import Iterable

from workers.measurement.connection import Header

_MAX_AGE = re.compile(r'\s*max-age\s*=\s*"?(\d{1,18})"?\s*', re.IGNORECASE)
_ALTERNATIVE = re.compile(r'(?:^|,)\s*([\w%.-]+)\s*=\s*"[^"]*"')


def values(headers: Iterable[Header], name: str) -> list[str]:
    """All values of the header of this name, in order."""
    return [header.value for header in headers if header.name.lower() == name]


def hsts_max_age_s(headers: Iterable[Header]) -> int | None:
    """How long browsers go to https:// by themselves; None without a header that they would heed (RFC 6797, 6.1).

    Only the first header counts (8.1).
    """
    for policy in values(headers, "strict-transport-security")[:1]:
        found = [match for part in policy.split(";") if (match := _MAX_AGE.fullmatch(part))]
        return int(found[0][1]) if found else None
    return None


def offers_http3(headers: Iterable[Header]) -> bool:
    """Whether Alt-Svc names h3 (RFC 7838); drafts such as h3-29 are no longer spoken."""
    return any(name == "h3" for value in values(headers, "alt-svc") for name in _ALTERNATIVE.findall(value))
