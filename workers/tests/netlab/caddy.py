"""Caddy, whose TLS, HTTP/2 and HTTP/3 are those of Go: many sites, each at an address of its own."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workers.tests.netlab.chains import Chain
from workers.tests.netlab.conduct import HSTS
from workers.tests.netlab.misbehaving import page


@dataclass(frozen=True, slots=True, kw_only=True)
class CaddyConduct:
    """Caddy's own settings. Go knows sessions by tickets alone."""

    protocols: str = "TLSv1.2 TLSv1.3"
    tickets: bool = True
    body_bytes: int = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class CaddySite:
    """With `quic` it serves HTTP/3 too, and says so."""

    conduct: CaddyConduct
    address: str
    chain: Chain
    quic: bool = False


_VERSIONS = {"TLSv1.2": "tls1.2", "TLSv1.3": "tls1.3"}
# Those of Go that every version of it has.
_CURVES = ["x25519", "secp256r1", "secp384r1"]


def commands(folder: Path, sites: Sequence[CaddySite]) -> list[list[str]]:
    """How to start them: whether it gives tickets is a setting of a whole process."""
    found = []
    for tickets in sorted({site.conduct.tickets for site in sites}):
        file = folder / f"caddy-{'with' if tickets else 'without'}-tickets.json"
        file.write_text(
            json.dumps(_settings(folder, [one for one in sites if one.conduct.tickets is tickets], tickets))
        )
        home = [f"HOME={folder}", f"XDG_DATA_HOME={folder}", f"XDG_CONFIG_HOME={folder}"]
        found.append(["env", *home, "caddy", "run", "--config", str(file)])
    return found


def _settings(folder: Path, sites: Sequence[CaddySite], tickets: bool) -> dict[str, Any]:
    servers = {}
    for number, site in enumerate(sites):
        root = folder / f"page{site.conduct.body_bytes}"
        root.mkdir(exist_ok=True)
        (root / "index.html").write_bytes(page(site.conduct.body_bytes))
        servers[f"secure{number}"] = _secure(site, str(number), root)
        servers[f"plain{number}"] = _redirecting(site)
    files = [
        {"certificate": str(site.chain.chain_file), "key": str(site.chain.key_file), "tags": [str(number)]}
        for number, site in enumerate(sites)
    ]
    return {
        "admin": {"disabled": True},
        "logging": {"logs": {"default": {"level": "ERROR"}}},
        "apps": {
            "http": {"servers": servers},
            "tls": {"certificates": {"load_files": files}, "session_tickets": {"disabled": not tickets}},
        },
    }


def _secure(site: CaddySite, tag: str, root: Path) -> dict[str, Any]:
    versions = [_VERSIONS[one] for one in site.conduct.protocols.split()]
    name, _, value = HSTS.partition(": ")
    return {
        "listen": [f"{site.address}:443"],
        "automatic_https": {"disable": True},
        "protocols": ["h1", "h2", "h3"] if site.quic else ["h1", "h2"],
        "tls_connection_policies": [
            {
                "certificate_selection": {"any_tag": [tag]},
                "curves": _CURVES,
                "protocol_min": versions[0],
                "protocol_max": versions[-1],
            }
        ],
        "routes": [
            {
                "handle": [
                    {"handler": "headers", "response": {"set": {name: [value]}}},
                    {"handler": "file_server", "root": str(root)},
                ]
            }
        ],
    }


def _redirecting(site: CaddySite) -> dict[str, Any]:
    there = {"Location": ["https://{http.request.host}{http.request.uri}"]}
    return {
        "listen": [f"{site.address}:80"],
        "automatic_https": {"disable": True},
        "routes": [{"handle": [{"handler": "static_response", "status_code": "301", "headers": there}]}],
    }
