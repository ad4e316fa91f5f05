"""What the demo sites are made of: pages, nginx's configuration, and certificates of a throw-away authority."""

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deploy.local.process import run_step

_MODULES = "/usr/lib/nginx/modules"
_DAYS = 365
# Certificates are made anew when they have less than this left.
_RENEW_S = 30 * 86400
_TEXTS = {".html", ".css", ".js", ".json"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One of the two sites, by the name and port that measurements use."""

    name: str
    port: int

    @property
    def url(self) -> str:
        return f"https://{self.name}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoSite:
    """A shop and its CDN. `addresses` are those nginx listens on, as it writes them: 127.0.0.1, [::1]."""

    folder: Path
    source: Path
    shop: Host
    cdn: Host
    addresses: tuple[str, ...]

    @property
    def command(self) -> list[str]:
        """What runs it, in the foreground."""
        return ["/usr/sbin/nginx", "-e", "stderr", "-p", str(self.folder), "-c", str(self.folder / "nginx.conf")]

    @property
    def authority(self) -> Path:
        return self.folder / "ca.pem"

    @property
    def slower_file(self) -> Path:
        """Holds by how many per cent the shop works longer than usual; nginx reads it with each request."""
        return self.folder / "slower_pct"


def build(site: DemoSite, *, env: Mapping[str, str]) -> None:
    """Writes pages, configuration and certificates into the site's folder. Raises StepError."""
    for needed in (site.folder, site.folder / "temp"):
        needed.mkdir(mode=0o700, exist_ok=True)
    _make_certificates(site, env)
    values = _values(site)
    fill(site.source / "pages", site.folder / "pages", values)
    (site.folder / "nginx.conf").write_text(_filled((site.source / "nginx.conf").read_text(), values))


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


def _values(site: DemoSite) -> dict[str, str]:
    return {
        "state": str(site.folder),
        "source": str(site.source),
        "pages": str(site.folder / "pages"),
        "modules": _MODULES,
        "certificate": str(site.folder / "leaf.pem"),
        "key": str(site.folder / "leaf.key"),
        "authority": str(site.authority),
        "slower_file": str(site.slower_file),
        "shop_name": site.shop.name,
        "cdn_name": site.cdn.name,
        "shop_listen": _listen(site, site.shop.port, "ssl"),
        "cdn_listen": _listen(site, site.cdn.port, "ssl http2"),
        "origin": f"127.0.0.1:{site.shop.port}",
        "shop_url": site.shop.url,
        "cdn_url": site.cdn.url,
    }


def _listen(site: DemoSite, port: int, options: str) -> str:
    return " ".join(f"listen {address}:{port} {options};" for address in site.addresses)


def _make_certificates(site: DemoSite, env: Mapping[str, str]) -> None:
    folder = site.folder
    leaf = folder / "leaf.pem"
    if _are_good(folder):
        return
    new = f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -days {_DAYS}".split()
    names = f"DNS:{site.shop.name},DNS:{site.cdn.name}"
    root_may = _extensions("basicConstraints=critical,CA:TRUE,pathlen:0", "keyUsage=critical,keyCertSign")
    leaf_may = _extensions(
        f"subjectAltName={names}", "basicConstraints=critical,CA:FALSE", "extendedKeyUsage=serverAuth"
    )
    root_key, root_files = folder / "ca.key", ["-keyout", folder / "ca.key", "-out", folder / "ca.pem"]
    signed = ["-CA", folder / "ca.pem", "-CAkey", root_key, "-keyout", folder / "leaf.key", "-out", leaf]
    for command in (
        [*new, "-subj", "/CN=Firstbyte demo authority", *root_may, *root_files],
        [*new, "-subj", f"/CN={site.shop.name}", *leaf_may, *signed],
    ):
        run_step(command, env=env, cwd=folder, what="Making the demo sites' certificates")
    # Nothing else is ever signed by it.
    root_key.unlink()


def _are_good(folder: Path) -> bool:
    """Whether they hold now and for long. Those of a clock that was ahead when it made them do not hold yet."""
    checks = ("verify -CAfile ca.pem leaf.pem", f"x509 -in leaf.pem -noout -checkend {_RENEW_S}")
    return all(
        subprocess.run(["openssl", *check.split()], cwd=folder, capture_output=True).returncode == 0 for check in checks
    )


def _extensions(*texts: str) -> list[str]:
    return [word for text in texts for word in ("-addext", text)]
