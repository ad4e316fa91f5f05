"""HAProxy before servers of the lab: it ends TLS for many sites, each at an address of its own."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from workers.tests.netlab.chains import Chain
from workers.tests.netlab.conduct import Conduct


@dataclass(frozen=True, slots=True, kw_only=True)
class HaproxyConduct:
    """HAProxy's own settings, and what the server behind it does. `record_bytes` is how much it seals at once at most
    (tune.ssl.hard-maxrecord); unless it is told, as much as a record holds. It knows sessions by their ids, as Debian
    sets it up, and by no tickets."""

    origin: Conduct = field(default_factory=Conduct)
    protocols: str = "TLSv1.2 TLSv1.3"
    record_bytes: int | None = None
    session_cache: bool = True

    @property
    def body_bytes(self) -> int:
        return self.origin.body_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class HaproxySite:
    conduct: HaproxyConduct
    address: str
    chain: Chain


# The server behind it listens at the site's own address.
ORIGIN_PORT = 8080
_SESSIONS = 20_000
_FRAME = """\
global
  nbthread 1
  tune.ssl.cachesize {sessions}
{records}
defaults
  mode http
  timeout connect 60s
  timeout client 60s
  timeout server 60s
{sites}"""
_SITE = """\
frontend secure{number}
  bind {address}:443 ssl crt {pem} alpn h2,http/1.1 curves X25519:P-256:P-384 {versions} no-tls-tickets
  default_backend origin{number}
frontend plain{number}
  bind {address}:80
  http-request redirect scheme https code 301
backend origin{number}
  server origin {address}:{port}
"""


def commands(folder: Path, sites: Sequence[HaproxySite]) -> list[list[str]]:
    """How to start them: what it seals and whether it keeps sessions are settings of a whole process."""
    processes: dict[tuple[int | None, bool], list[HaproxySite]] = {}
    for site in sites:
        processes.setdefault((site.conduct.record_bytes, site.conduct.session_cache), []).append(site)
    found = []
    for number, ((record_bytes, session_cache), same) in enumerate(processes.items()):
        file = folder / f"haproxy{number}.cfg"
        file.write_text(
            _FRAME.format(
                sessions=_SESSIONS if session_cache else 0,
                records="" if record_bytes is None else f"  tune.ssl.hard-maxrecord {record_bytes}",
                sites="".join(_site(folder, site, f"{number}x{place}") for place, site in enumerate(same)),
            )
        )
        found.append(["haproxy", "-db", "-f", str(file)])
    return found


def _site(folder: Path, site: HaproxySite, number: str) -> str:
    """HAProxy reads a chain and its key from one file."""
    pem = folder / f"chain{number}.pem"
    pem.write_bytes(site.chain.chain_file.read_bytes() + site.chain.key_file.read_bytes())
    protocols = site.conduct.protocols.split()
    versions = f"ssl-min-ver {protocols[0]} ssl-max-ver {protocols[-1]}"
    return _SITE.format(number=number, address=site.address, pem=pem, versions=versions, port=ORIGIN_PORT)
