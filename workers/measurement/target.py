"""Which addresses (URLs) can be measured, said before any packet is sent."""

import ipaddress
import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import SplitResult, quote, urlsplit

MAX_URL_CHARS = 2048
DEFAULT_PORTS = {"http": 80, "https": 443}
# Ports a web server is expected on; an operator adds others. Others would make us a port scanner.
ALLOWED_PORTS = frozenset({80, 443, 8080, 8443})
# Those that are allowed besides. As a range they are many, and cost neither memory nor time.
Ports = frozenset[int] | range
# Port 0 too, so that it fails like any other port where nobody listens.
EVERY_PORT = range(65536)

# Labels as the DNS carries them. Underscores and rows of hyphens are in use ("_x", "r3---sn"), whatever RFC 952 says.
_HOST = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*"
)
_BRACKETED = re.compile(r"\[[0-9A-Fa-f:.]*:[^\[\]]*\](?::[0-9]*)?")
# 127.1, 0x7f.1 and 2130706433 are addresses to a C library: no name ends in a number (WHATWG URL, 3.5).
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


class TargetError(ValueError):
    """The URL cannot be measured; the text is a sentence for the person who typed it."""


class PortError(TargetError):
    """The port is none of those that are allowed, which `allowed` lists."""

    def __init__(self, port: int, extra_ports: Ports) -> None:
        self.port, self.allowed = port, ", ".join(map(str, sorted(ALLOWED_PORTS.union(extra_ports))))
        super().__init__(f"Port {port} may not be measured; allowed are {self.allowed}.")


class CredentialsError(TargetError):
    """A user name or password stands in the address, where everybody sees it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A URL taken apart. `host` is lower-case punycode without brackets; `path` starts with / and holds the query.

    `url` is what a server is asked for, `page_url` what a browser is sent to: with the fragment, by which a page may
    choose what it shows.
    """

    url: str
    scheme: str
    host: str
    port: int
    path: str
    fragment: str = ""

    @property
    def page_url(self) -> str:
        return f"{self.url}#{self.fragment}" if self.fragment else self.url

    @property
    def authority(self) -> str:
        """What a Host header says: the port only where it is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """Scheme, host and port: who may see what was given for this address."""
        return f"{self.scheme}://{self.authority}"

    @property
    def secure(self) -> bool:
        return self.scheme == "https"


def is_allowed(port: int, extra_ports: Ports) -> bool:
    return port in ALLOWED_PORTS or port in extra_ports


def parse_ports(text: str) -> frozenset[int]:
    """Ports that an operator names, separated by commas. Raises ValueError for anything else."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if any(not part.isdecimal() or not 1 <= int(part[:6]) <= 65535 for part in parts):
        raise ValueError("must be ports from 1 to 65535, separated by commas")
    return frozenset(int(part) for part in parts)


@lru_cache(maxsize=4096)
def parse_target(url: str, *, extra_ports: Ports = frozenset()) -> Target:
    """The URL in its canonical form. Raises TargetError for what cannot or must not be measured."""
    parts = _split(url)
    if parts.scheme not in DEFAULT_PORTS:
        raise TargetError(f"The address must begin with http:// or https://, not {parts.scheme[:20] or 'nothing'}.")
    if "@" in parts.netloc:
        raise CredentialsError("The address must not hold a user name or password; set a request header for that.")
    if "[" in parts.netloc and not _BRACKETED.fullmatch(parts.netloc):
        raise TargetError(f"{parts.netloc[:60]!r} is not an IPv6 address in brackets.")
    host = _canonical_host(parts.hostname or "")
    port = _port(parts)
    if not is_allowed(port, extra_ports):
        raise PortError(port, extra_ports)
    path = _canonical_path(parts)
    authority = Target(url="", scheme=parts.scheme, host=host, port=port, path=path).authority
    canonical = f"{parts.scheme}://{authority}{path}"
    target = Target(
        url=canonical, scheme=parts.scheme, host=host, port=port, path=path, fragment=_canonical_fragment(parts)
    )
    _check_length(target.page_url)
    return target


def origin_of(url: str) -> tuple[str, str]:
    """The origin and the host of a URL with whatever port; of what is no URL, its text and no host."""
    try:
        target = parse_target(url, extra_ports=EVERY_PORT)
    except TargetError:
        return url, ""
    return target.origin, target.host


def _split(url: str) -> SplitResult:
    _check_length(url)
    if any(0xD800 <= ord(char) <= 0xDFFF for char in url):
        raise TargetError("The address holds half a character; copy it again.")
    if any(ord(char) <= 32 or ord(char) == 127 for char in url.strip(" ")):
        raise TargetError("The address must not hold spaces or control characters.")
    try:
        return urlsplit(url.strip(" "))
    except ValueError as error:
        raise TargetError(f"The address cannot be read: {error}.") from error


def _check_length(url: str) -> None:
    if len(url) > MAX_URL_CHARS:
        raise TargetError(f"The address has {len(url)} characters; at most {MAX_URL_CHARS} can be measured.")


def _port(parts: SplitResult) -> int:
    try:
        port = parts.port
    except ValueError as error:
        raise TargetError("The port must be a number from 1 to 65535.") from error
    return DEFAULT_PORTS[parts.scheme] if port is None else port


def _canonical_host(host: str) -> str:
    if not host:
        raise TargetError("The address lacks a host name.")
    if ":" in host:
        return _canonical_ipv6(host)
    name = _ascii(host.lower()).removesuffix(".")
    if not _HOST.fullmatch(name):
        raise TargetError(f"{host[:60]!r} is not a valid host name.")
    if _NUMBER.fullmatch(name.rpartition(".")[2]):
        return _canonical_ipv4(name)
    return name


def _ascii(host: str) -> str:
    """The host in the DNS's own letters: names beyond ASCII are mapped, so that no look-alike digit or dot is left."""
    if host.isascii():
        return host
    # Here, since a pipeline asks for a gate by a Python that has no package (deploy/github-action).
    import idna  # noqa: PLC0415

    try:
        return idna.encode(host, uts46=True).decode()
    except UnicodeError as error:
        raise TargetError(f"{host[:60]!r} is not a valid host name: {error}.") from error


def _canonical_ipv4(name: str) -> str:
    try:
        return str(ipaddress.IPv4Address(name))
    except ValueError as error:
        raise TargetError(f"{name[:60]} is not a host name, and not an address in the usual form.") from error


def _canonical_ipv6(host: str) -> str:
    try:
        address = ipaddress.IPv6Address(host)
    except ValueError as error:
        raise TargetError(f"[{host[:60]}] is not an IPv6 address.") from error
    if address.scope_id is not None:
        raise TargetError("The address must not name a network interface (the part after %).")
    return str(address)


def _canonical_path(parts: SplitResult) -> str:
    path = quote(_without_dots(parts.path), safe="/%:@!$&'()*+,;=~-._")
    query = quote(parts.query, safe="/%:@!$&'()*+,;=~-._?[]")
    return f"{path}?{query}" if parts.query else path


def _canonical_fragment(parts: SplitResult) -> str:
    """Encoded as browsers do it (WHATWG URL, 1.3, fragment percent-encode set)."""
    return quote(parts.fragment, safe="/%:@!$&'()*+,;=~-._?[]#{}|\\^")


def _without_dots(path: str) -> str:
    """Without the segments that lead nowhere or up, as browsers ask for it (WHATWG URL, 4.4)."""
    kept: list[str] = []
    dots = "."
    for segment in path.split("/")[1:]:
        dots = segment.lower().replace("%2e", ".")
        if dots == "..":
            del kept[-1:]
        elif dots != ".":
            kept.append(segment)
    return "/".join(["", *kept, *([""] if dots in (".", "..") else [])])
