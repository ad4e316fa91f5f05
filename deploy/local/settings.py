"""What is decided once and kept in `.run/env`: secrets, and the ports that were free."""

import base64
import os
import secrets
import socket
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from deploy.local.process import StepError

WEB_PORT = 8800
DEMO_PORT = 8443
_TRIED_PORTS = 100
_PREFIX = "FIRSTBYTE_"
HOSTS = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The lines of `.run/env`, without their prefix."""

    secret_key: str
    fernet_keys: str
    admin_email: str
    web_port: int
    shop_port: int
    cdn_port: int

    def __repr__(self) -> str:
        return f"Settings(web_port={self.web_port}, shop_port={self.shop_port}, cdn_port={self.cdn_port})"

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.web_port}"

    @property
    def shop_url(self) -> str:
        return f"https://shop.localhost:{self.shop_port}/"

    @property
    def cdn_url(self) -> str:
        return f"https://cdn.localhost:{self.cdn_port}/"

    @property
    def extra_ports(self) -> str:
        return f"{self.shop_port},{self.cdn_port}"


def settle(path: Path, *, web_port: int | None = None) -> Settings:
    """The settings, made or brought up to date. A port that is taken by now is chosen again.

    Raises StepError when the port that was asked for is taken.
    """
    if web_port is not None and not is_free(web_port):
        raise StepError(
            f"Port {web_port} is taken on this machine. Choose another with --port, or none: ./dev up finds a free one."
        )
    old = read_settings(path)
    web = web_port or _keep_or_choose(old.web_port if old else None, WEB_PORT, taken=())
    shop = _keep_or_choose(old.shop_port if old else None, DEMO_PORT, taken=(web,))
    cdn = _keep_or_choose(old.cdn_port if old else None, DEMO_PORT + 1, taken=(web, shop))
    kept = {name: value for name, value in asdict(old or _new_secrets()).items() if not name.endswith("_port")}
    settings = Settings(**kept, web_port=web, shop_port=shop, cdn_port=cdn)
    if settings != old:
        _write(path, settings)
    return settings


def read_settings(path: Path) -> Settings | None:
    """The settings; None when there are none yet. Raises StepError that names what the file lacks or has wrong."""
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        return None
    values = dict(
        line.removeprefix(_PREFIX).split("=", 1) for line in lines if "=" in line and not line.startswith("#")
    )
    lacking = [field.name for field in fields(Settings) if not values.get(field.name.upper())]
    if lacking:
        names = ", ".join(_PREFIX + name.upper() for name in lacking)
        raise StepError(f"{path} lacks {names}. Put it back, or start over with ./dev reset.")
    texts = {field.name: values[field.name.upper()] for field in fields(Settings)}
    ports = {name: _port(path, name, text) for name, text in texts.items() if name.endswith("_port")}
    return Settings(**{**texts, **ports})  # type: ignore[arg-type]  # the fields' own names and types


def _port(path: Path, name: str, text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise StepError(f"{path}: {_PREFIX}{name.upper()} must be a number from 1 to 65535.")
    return int(text)


def is_free(port: int) -> bool:
    """Whether this machine's loopback has the port to give, for both IP versions where there are two."""
    return all(_can_bind(family, host, port) for family, host in HOSTS)


def first_free(start: int, *, taken: Collection[int] = ()) -> int:
    """The first free port from `start` on. Raises StepError after a hundred that are taken."""
    candidates: Iterable[int] = range(start, min(start + _TRIED_PORTS, 65536))
    for port in candidates:
        if port not in taken and is_free(port):
            return port
    raise StepError(f"None of the ports from {start} to {start + _TRIED_PORTS - 1} is free on this machine.")


def _keep_or_choose(old: int | None, start: int, *, taken: Collection[int]) -> int:
    return old if old and old not in taken and is_free(old) else first_free(start, taken=taken)


def _can_bind(family: socket.AddressFamily, host: str, port: int) -> bool:
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            # As servers do: what is left of closed connections does not hold a port.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError as error:
        # A machine without IPv6 has nobody on it either.
        return family is socket.AF_INET6 and not has_ipv6() and bool(error)
    return True


def has_ipv6() -> bool:
    return (
        Path("/proc/net/if_inet6").exists()
        and "00000000000000000000000000000001" in Path("/proc/net/if_inet6").read_text()
    )


def _new_secrets() -> Settings:
    return Settings(
        secret_key=secrets.token_urlsafe(50),
        fernet_keys=base64.urlsafe_b64encode(os.urandom(32)).decode(),
        admin_email="admin@localhost.localdomain",
        web_port=0,
        shop_port=0,
        cdn_port=0,
    )


def _write(path: Path, settings: Settings) -> None:
    fresh = path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(
            "# Made by ./dev up. Whoever loses FIRSTBYTE_FERNET_KEYS loses the secrets stored in the database.\n"
        )
        file.writelines(f"{_PREFIX}{name.upper()}={value}\n" for name, value in asdict(settings).items())
    fresh.replace(path)
