"""The demo sites: one nginx on loopback that is a shop and its CDN, over TLS with a throw-away authority."""

import shutil
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

from deploy.local import environment
from deploy.local.places import Places
from deploy.local.process import run_step
from deploy.local.settings import HOSTS, Settings, has_ipv6
from deploy.local.supervisor import Service

_NGINX = "/usr/sbin/nginx"
_MODULES = "/usr/lib/nginx/modules"
_DAYS = 365
# Certificates are made anew when they have less than this left.
_RENEW_S = 30 * 86400
_NAMES = {"shop": "shop.localhost", "cdn": "cdn.localhost"}
_TEXTS = {".html", ".css", ".js", ".json"}


def demo(places: Places, settings: Settings) -> Service:
    """nginx with both sites; its pages and certificates are made before it starts."""
    folder = places.authority.parent
    return Service(
        name="demo",
        command=[_NGINX, "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf")],
        env=environment.base(places),
        cwd=places.state,
        prepare=lambda: prepare(places, settings),
        ready=lambda: all(_accepts(port) for port in (settings.shop_port, settings.cdn_port)),
    )


def prepare(places: Places, settings: Settings) -> None:
    """Writes pages, configuration and certificates into the state. Raises StepError."""
    folder, source = places.authority.parent, places.code / "deploy" / "demo"
    for needed in (folder, folder / "temp"):
        needed.mkdir(mode=0o700, exist_ok=True)
    _make_certificates(places, folder)
    values = _values(folder, source, settings)
    fill(source / "pages", folder / "pages", values)
    (folder / "nginx.conf").write_text(_filled((source / "nginx.conf").read_text(), values))


def fill(source: Path, target: Path, values: Mapping[str, str]) -> None:
    """Copies a folder of pages, with the words between @ replaced in those that are text."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    for path in target.rglob("*"):
        if path.suffix in _TEXTS:
            path.write_text(_filled(path.read_text(), values))


def _filled(text: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


def _values(folder: Path, source: Path, settings: Settings) -> dict[str, str]:
    return {
        "state": str(folder),
        "source": str(source),
        "pages": str(folder / "pages"),
        "modules": _MODULES,
        "certificate": str(folder / "leaf.pem"),
        "key": str(folder / "leaf.key"),
        "authority": str(folder / "ca.pem"),
        "shop_name": _NAMES["shop"],
        "cdn_name": _NAMES["cdn"],
        "shop_listen": _listen(settings.shop_port, "ssl"),
        "cdn_listen": _listen(settings.cdn_port, "ssl http2"),
        "origin": f"127.0.0.1:{settings.shop_port}",
        "shop_url": settings.shop_url.rstrip("/"),
        "cdn_url": settings.cdn_url.rstrip("/"),
    }


def _listen(port: int, options: str) -> str:
    """On both loopback addresses: `localhost` is ::1 first, and a refusal there would be measured too."""
    hosts = [
        f"[{host}]" if family is socket.AF_INET6 else host
        for family, host in HOSTS
        if family is socket.AF_INET or has_ipv6()
    ]
    return " ".join(f"listen {host}:{port} {options};" for host in hosts)


def _make_certificates(places: Places, folder: Path) -> None:
    leaf = folder / "leaf.pem"
    check = ["openssl", "x509", "-in", str(leaf), "-noout", "-checkend", str(_RENEW_S)]
    if leaf.exists() and subprocess.run(check, capture_output=True).returncode == 0:
        return
    new = f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -days {_DAYS}".split()
    names = ",".join(f"DNS:{name}" for name in _NAMES.values())
    root_may = _extensions("basicConstraints=critical,CA:TRUE,pathlen:0", "keyUsage=critical,keyCertSign")
    leaf_may = _extensions(
        f"subjectAltName={names}", "basicConstraints=critical,CA:FALSE", "extendedKeyUsage=serverAuth"
    )
    root_key, root_files = folder / "ca.key", ["-keyout", folder / "ca.key", "-out", folder / "ca.pem"]
    signed = ["-CA", folder / "ca.pem", "-CAkey", root_key, "-keyout", folder / "leaf.key", "-out", leaf]
    for command in (
        [*new, "-subj", "/CN=Firstbyte demo authority", *root_may, *root_files],
        [*new, "-subj", f"/CN={_NAMES['shop']}", *leaf_may, *signed],
    ):
        run_step(command, env=environment.base(places), cwd=folder, what="Making the demo sites' certificates")
    # Nothing else is ever signed by it.
    root_key.unlink()


def _extensions(*texts: str) -> list[str]:
    return [word for text in texts for word in ("-addext", text)]


def _accepts(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2):
            return True
    except OSError:
        return False
