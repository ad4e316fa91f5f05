"""The environments of the processes: each gets what it needs and nothing of the caller's by accident."""

import os
from collections.abc import Mapping

from deploy.local.places import Places
from deploy.local.settings import Settings

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# How this machine reaches package registries. Services do not get these: Chromium would measure through the proxy.
_REGISTRY_NAMES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
_REGISTRY_PREFIXES = ("PIP_", "UV_", "NPM_CONFIG_")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
# The demo sites, and nothing else of this machine's networks.
LOOPBACK = "127.0.0.0/8,::1/128"


# Which service the command asks, and with what; then what the operator of an agent sets, each also by a file.
_COMMAND_NAMES = (
    *("FIRSTBYTE_URL", "FIRSTBYTE_TOKEN"),
    *("FIRSTBYTE_REGION", "FIRSTBYTE_SERVICE_URL", "FIRSTBYTE_AGENT_TOKEN", "FIRSTBYTE_BROKER_URL"),
    *("FIRSTBYTE_SPOOL_DIR", "FIRSTBYTE_AGENT_NAME", "FIRSTBYTE_BROWSERS", "FIRSTBYTE_PROBES_IN_FLIGHT"),
    *("FIRSTBYTE_CHROMIUM", "FIRSTBYTE_CA_FILE", "FIRSTBYTE_PRIVATE_TARGETS", "FIRSTBYTE_EXTRA_PORTS"),
    "FIRSTBYTE_ALLOW_UNSANDBOXED",
)


def base(places: Places) -> dict[str, str]:
    """What every process gets: paths, a locale that exists everywhere, UTC, and a home of its own."""
    return {
        "PATH": f"{places.venv}/bin:{PATH}",
        "HOME": str(places.home),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONUNBUFFERED": "1",
        # The code may be root's, whose folders we cannot write to; without this every start would compile it anew.
        "PYTHONPYCACHEPREFIX": str(places.state / "bytecode"),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1",
    }


def registry(places: Places, outer: Mapping[str, str] | None = None) -> dict[str, str]:
    """For pip and npm: with the caller's own settings for registries, certificates and proxies, and their caches."""
    outer = os.environ if outer is None else outer
    passed = {
        name: value
        for name, value in outer.items()
        if name in _REGISTRY_NAMES or name.upper().startswith(_REGISTRY_PREFIXES) or name.upper() in _PROXIES
    }
    return base(places) | {"HOME": outer.get("HOME", str(places.home))} | passed


def service(places: Places, settings: Settings) -> dict[str, str]:
    """For the web server, scheduler, sweeper, judge and manage.py."""
    return base(places) | {
        "DJANGO_SETTINGS_MODULE": "backend.settings",
        "FIRSTBYTE_SECRET_KEY": settings.secret_key,
        "FIRSTBYTE_FERNET_KEYS": settings.fernet_keys,
        "FIRSTBYTE_DB_HOST": str(places.sockets),
        "FIRSTBYTE_DB_NAME": "firstbyte",
        "FIRSTBYTE_DB_USER": "firstbyte",
        "FIRSTBYTE_REDIS_URL": f"unix://{places.sockets}/redis.sock?db=0",
        "FIRSTBYTE_BASE_URL": settings.base_url,
        "FIRSTBYTE_MEDIA_ROOT": str(places.state / "media"),
        "FIRSTBYTE_EXTRA_PORTS": settings.extra_ports,
        "FIRSTBYTE_PRIVATE_TARGETS": LOOPBACK,
    }


def instruments(places: Places, settings: Settings) -> dict[str, str]:
    """For whatever measures from this machine: the `firstbyte` command and the agents."""
    authority = {"FIRSTBYTE_CA_FILE": str(places.authority)} if places.authority.exists() else {}
    return (
        base(places)
        | authority
        | {
            "FIRSTBYTE_EXTRA_PORTS": settings.extra_ports,
            "FIRSTBYTE_PRIVATE_TARGETS": LOOPBACK,
        }
    )


def command(places: Places, settings: Settings | None, outer: Mapping[str, str] | None = None) -> dict[str, str]:
    """For `./dev firstbyte`: it asks the service of this checkout and measures as its agents do, unless the caller's
    environment names another service or says otherwise."""
    outer = os.environ if outer is None else outer
    named = {name: value for name, value in outer.items() if name.removesuffix("_FILE") in _COMMAND_NAMES}
    if settings is None:
        return base(places) | named
    return instruments(places, settings) | {"FIRSTBYTE_URL": settings.base_url} | named


def agent(places: Places, settings: Settings, region: str, credentials: Mapping[str, str]) -> dict[str, str]:
    """For the agent of a region, with what the service gave that region."""
    return instruments(places, settings) | {
        "FIRSTBYTE_REGION": region,
        "FIRSTBYTE_SERVICE_URL": settings.base_url,
        "FIRSTBYTE_AGENT_TOKEN": credentials["agent_token"],
        "FIRSTBYTE_BROKER_URL": credentials["broker_url"],
        "FIRSTBYTE_SPOOL_DIR": str(places.state / "spool" / region),
        "FIRSTBYTE_AGENT_NAME": f"{region}-1",
    }
