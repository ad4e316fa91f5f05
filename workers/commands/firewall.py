"""`firstbyte firewall`: rules that keep the pages of a region off private networks."""

import argparse
import pwd
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from workers.commands import EXIT_OK, UsageError
from workers.commands.output import write
from workers.config import AgentConfig, ConfigError, load_config
from workers.firewall import Endpoint, Exceptions, ruleset, without_zone
from workers.measurement.target import DEFAULT_PORTS
from workers.probes.names import parse_resolv_conf
from workers.probes.settings import NameSettings

_REDIS_PORT = 6379
_PORTS = DEFAULT_PORTS | {"redis": _REDIS_PORT, "rediss": _REDIS_PORT}
# The ports that the kernel hands out, first and last (ip(7)).
_OWN_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")


def run(arguments: argparse.Namespace) -> int:
    """Writes them; gives the exit code. Raises UsageError for an environment that makes no agent."""
    try:
        config = load_config()
    except ConfigError as error:
        raise UsageError(str(error)) from error
    exceptions = Exceptions(
        targets=config.private_targets,
        endpoints=tuple(_endpoints(config)),
        name_servers=_name_servers(NameSettings().resolv_conf),
        own_port_from=int(_OWN_PORTS.read_text().split()[0]),
    )
    write(ruleset(exceptions, user=None if arguments.user is None else _uid(arguments.user)).rstrip("\n"))
    return EXIT_OK


def _uid(name: str) -> int:
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        raise UsageError(f"there is no user {name} on this machine") from None


def _name_servers(resolv_conf: Path) -> tuple[str, ...]:
    text = resolv_conf.read_text("utf-8", "replace") if resolv_conf.is_file() else ""
    return tuple(without_zone(server.address) for server in parse_resolv_conf(text))


def _endpoints(config: AgentConfig) -> Iterator[Endpoint]:
    for url in (config.broker_url.get_secret_value(), config.service_url):
        parts = urlsplit(url)
        if parts.hostname is not None and parts.scheme in _PORTS:
            yield from _listening(parts.hostname, parts.port or _PORTS[parts.scheme])


def _listening(host: str, port: int) -> Iterator[Endpoint]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise UsageError(f"{host} of this agent's environment leads to no address: {error.strerror}") from error
    for *_, place in found:
        yield Endpoint(without_zone(str(place[0])), port)
