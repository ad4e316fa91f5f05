"""Headers as name and value, from the lines in which Chrome's network log writes them.

The log leaves out what cookies and credentials say, and keeps their names.
"""

from collections.abc import Iterable, Mapping

# What HTTP/2 and HTTP/3 say in place of a request line begins with one.
_PSEUDO = ":"


def headers_in(lines: Iterable[object]) -> dict[str, str]:
    """By name; what comes on several lines is one list (RFC 9110, 5.3). A line without a name is passed over."""
    found: dict[str, str] = {}
    for line in lines:
        name, colon, value = line[1:].partition(":") if isinstance(line, str) else ("", "", "")
        if not colon or not isinstance(line, str):
            continue
        label, text = line[0] + name, value.strip()
        if label != _PSEUDO:
            found[label] = f"{found[label]}, {text}" if label in found else text
    return found


def header_of(headers: Mapping[str, object], name: str) -> str | None:
    """The value of a header, whose `name` is given in lower case."""
    return next((str(value) for key, value in headers.items() if str(key).lower() == name), None)
