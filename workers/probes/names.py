"""What this machine itself says about names: its resolvers and its hosts file, read again whenever they change."""

from collections.abc import Callable
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from typing import Generic, TypeVar

from workers.probes.settings import NameServer, NameSettings

T = TypeVar("T")
_MAX_FILE_BYTES = 1024 * 1024
# resolv.conf(5): up to three are used, and the machine itself where none is named.
_MAX_SERVERS = 3
_MAX_SEARCHED = 6
_DEFAULT_SERVERS = (NameServer(address="127.0.0.1"),)


def parse_resolv_conf(text: str) -> tuple[NameServer, ...]:
    """The first three `nameserver` lines that hold an address."""
    words = [line.split() for line in text.splitlines()]
    named = [line[1] for line in words if len(line) > 1 and line[0] == "nameserver"]
    return tuple(NameServer(address=name) for name in named if _is_address(name))[:_MAX_SERVERS] or _DEFAULT_SERVERS


def parse_search(text: str) -> tuple[str, ...]:
    """The domains in which names of one label are looked for: of the last line that names any."""
    words = [line.split() for line in text.splitlines()]
    lines = [line[1:] for line in words if len(line) > 1 and line[0] in ("search", "domain")]
    domains = (name.lower().strip(".") for name in (lines[-1] if lines else ()))
    return tuple(name for name in domains if name)[:_MAX_SEARCHED]


def parse_hosts(text: str) -> dict[str, tuple[str, ...]]:
    """Addresses by lower-case name, in the order of the file."""
    found: dict[str, tuple[str, ...]] = {}
    for line in text.splitlines():
        address, *names = line.partition("#")[0].split() or [""]
        if _is_address(address):
            for name in names:
                key = name.lower().rstrip(".")
                found[key] = (*found.get(key, ()), address)
    return found


@lru_cache(maxsize=4096)
def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


class _Watched(Generic[T]):
    """A file's meaning, read again when its modification time, size or inode changes. A missing file reads as empty."""

    def __init__(self, path: Path, parse: Callable[[str], T]) -> None:
        self._path = path
        self._parse = parse
        self._seen: tuple[int, int, int] | None = None
        self._value = parse("")

    def read(self) -> T:
        try:
            stat = self._path.stat()
            seen = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            if seen != self._seen:
                with self._path.open("rb") as file:
                    self._value = self._parse(file.read(_MAX_FILE_BYTES).decode("utf-8", "replace"))
                self._seen = seen
        except OSError:
            self._seen, self._value = None, self._parse("")
        return self._value


class LocalNames:
    """The machine's own knowledge. For use in one thread."""

    def __init__(self, settings: NameSettings) -> None:
        self._servers = settings.servers
        self._resolv_conf = _Watched(settings.resolv_conf, parse_resolv_conf)
        self._search = _Watched(settings.resolv_conf, parse_search)
        self._hosts = _Watched(settings.hosts, parse_hosts)

    def servers(self) -> tuple[NameServer, ...]:
        return self._servers or self._resolv_conf.read()

    def in_full(self, host: str) -> tuple[str, ...]:
        """What to ask name servers for, one after the other. Names of several labels are taken for whole ones: with
        others tried behind them, a wrong name would lead to somebody else's wildcard."""
        return (host,) if "." in host else (*(f"{host}.{domain}" for domain in self._search.read()), host)

    def addresses(self, host: str) -> tuple[str, ...]:
        """Addresses that need no name server: literals, localhost and below (RFC 6761, 6.3), the hosts file."""
        if _is_address(host):
            return (host,)
        if host == "localhost" or host.endswith(".localhost"):
            return ("127.0.0.1",)
        return self._hosts.read().get(host, ())
