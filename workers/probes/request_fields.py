"""A GET in the words of HTTP/2 and HTTP/3: names in lower case, the line of the request as pseudo headers, in the order
of Chrome."""

from workers.measurement.connection import Header
from workers.measurement.target import Target

Fields = list[tuple[str, str]]
# What Chrome asks for: nobody looks into such a body, and a CDN may answer better than gzip.
BROWSER_ENCODINGS = "gzip, deflate, br, zstd"
# Chrome's windows: 6 MiB a stream, 15 MiB a connection. With smaller ones a server waits for us on a long way.
STREAM_WINDOW_BYTES = 6 * 1024 * 1024
CONNECTION_WINDOW_BYTES = 15 * 1024 * 1024
# What HTTP/1.1 says of a connection has no place here (RFC 9113, 8.2.2); the host is said by `:authority`.
_FORBIDDEN = frozenset({"host", "connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade"})


def request_fields(
    target: Target, headers: tuple[Header, ...], user_agent: str, encodings: str = BROWSER_ENCODINGS
) -> Fields:
    """Headers of the monitor take the place of ours of the same name; its `Host` is the authority."""
    given = {header.name.lower(): header.value for header in headers}
    fields = {"user-agent": user_agent, "accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    fields |= {"accept-encoding": encodings} | given
    return [
        (":method", "GET"),
        (":authority", given.get("host", target.authority)),
        (":scheme", target.scheme),
        (":path", target.path),
        *((name, value) for name, value in fields.items() if name not in _FORBIDDEN),
    ]
