"""What the operator of an engine decides."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from workers.measurement.addresses import Network
from workers.measurement.target import Ports
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
    """`allowed` and `extra_ports` widen what may be measured; `ca_file` (PEM) adds authorities to the system's own.

    `resolve` says where a host is at a port, in place of any name server; it is judged like an answer of one. `family`
    (4 or 6) measures over that version of IP alone; without it IPv4 where there is a choice.
    """

    in_flight: int = 200
    allowed: tuple[Network, ...] = ()
    extra_ports: Ports = frozenset()
    ca_file: Path | None = None
    names: NameSettings = NameSettings()
    resolve: Mapping[tuple[str, int], str] = field(default_factory=dict)
    family: Literal[4, 6] | None = None
    user_agent: str = f"Firstbyte/{VERSION} (synthetic web performance monitor)"
    max_body_bytes: int = 10 * MIB
