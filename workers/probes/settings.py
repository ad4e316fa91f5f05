"""What the operator of an engine decides."""

from dataclasses import dataclass
from pathlib import Path

from workers.measurement.addresses import Network
from workers.version import VERSION

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class NameServer:
    """A recursive resolver, by address."""

    address: str
    port: int = 53


@dataclass(frozen=True, slots=True, kw_only=True)
class NameSettings:
    """How names become addresses. `servers` empty means those of `resolv_conf`, read again whenever that file changes.

    Each server is asked once a round; the wait for an answer is `patience_s` in the first round and doubles with each.
    """

    servers: tuple[NameServer, ...] = ()
    resolv_conf: Path = Path("/etc/resolv.conf")
    hosts: Path = Path("/etc/hosts")
    patience_s: float = 1.0
    rounds: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSettings:
    """`allowed` and `extra_ports` widen what may be measured; `ca_file` (PEM) adds authorities to the system's own."""

    in_flight: int = 200
    allowed: tuple[Network, ...] = ()
    extra_ports: frozenset[int] = frozenset()
    ca_file: Path | None = None
    names: NameSettings = NameSettings()
    user_agent: str = f"Firstbyte/{VERSION} (synthetic web performance monitor)"
    max_body_bytes: int = 10 * MIB
