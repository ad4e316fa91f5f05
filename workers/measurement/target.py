"""Which addresses (URLs) can be measured, said before any packet is sent."""

import ipaddress
from dataclasses import dataclass
from urllib.parse import SplitResult, quote, urlsplit

import idna

MAX_URL_CHARS = 2048
DEFAULT_PORTS = {"http": 80, "https": 443}
# Ports a web server is expected on; an operator adds others. Others would make us a port scanner (PEERS 5.3, F4).
ALLOWED_PORTS = frozenset({80, 443, 8080, 8443})


class TargetError(ValueError):
    """The URL cannot be measured; the text is a sentence for the person who typed it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A URL taken apart. `host` is lower case, punycode, without brackets; `path` begins with a slash and holds the query."""

    url: str
    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """What a Host header says: the port only where it is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def secure(self) -> bool:
        return self.scheme == "https"


def parse_target(url: str, *, extra_ports: frozenset[int] = frozenset()) -> Target:
    """The URL in its canonical form, without fragment. Raises TargetError for what cannot or must not be measured."""
    parts = _split(url)
    if parts.scheme not in DEFAULT_PORTS:
        raise TargetError(f"The address must begin with http:// or https://, not {parts.scheme[:20] or 'nothing'}.")
    if "@" in parts.netloc:
        raise TargetError("The address must not hold a user name or password; set a request header for that.")
    host = _canonical_host(parts.hostname or "")
    port = _port(parts)
    if port not in ALLOWED_PORTS | extra_ports:
        raise TargetError(f"Port {port} may not be measured; allowed are {', '.join(map(str, sorted(ALLOWED_PORTS | extra_ports)))}.")
    path = _canonical_path(parts)
    authority = Target(url="", scheme=parts.scheme, host=host, port=port, path=path).authority
    return Target(url=f"{parts.scheme}://{authority}{path}", scheme=parts.scheme, host=host, port=port, path=path)


def _split(url: str) -> SplitResult:
    if len(url) > MAX_URL_CHARS:
        raise TargetError(f"The address has {len(url)} characters; at most {MAX_URL_CHARS} can be measured.")
    if any(ord(char) <= 32 or ord(char) == 127 for char in url.strip(" ")):
        raise TargetError("The address must not hold spaces or control characters.")
    try:
        return urlsplit(url.strip(" "))
    except ValueError as error:
        raise TargetError(f"The address cannot be read: {error}.") from error


def _port(parts: SplitResult) -> int:
    try:
        port = parts.port
    except ValueError as error:
        raise TargetError("The port must be a number from 1 to 65535.") from error
    return DEFAULT_PORTS[parts.scheme] if port is None else port


def _canonical_host(host: str) -> str:
    host = host.rstrip(".").lower()
    if not host:
        raise TargetError("The address lacks a host name.")
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        pass
    # 127.1, 0x7f.1 and 2130706433 are addresses to a C library: a name whose last label is a number is none (WHATWG URL, 3.5).
    if host.rpartition(".")[2].isdigit() or host.rpartition(".")[2].startswith("0x"):
        raise TargetError(f"{host[:60]} is not a host name, and not an address in the usual form.")
    try:
        return idna.encode(host, uts46=True).decode()
    except idna.IDNAError as error:
        raise TargetError(f"{host[:60]} is not a valid host name: {error}.") from error


def _canonical_path(parts: SplitResult) -> str:
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    query = quote(parts.query, safe="/%:@!$&'()*+,;=~-._?[]")
    return f"{path}?{query}" if parts.query else path
