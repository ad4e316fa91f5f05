"""nginx, Apache, HAProxy and Caddy, each as small as it can be, with further lines at their spots."""

import os
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

from workers.diagnosis.catalogue import Setting
from workers.tests.netlab.advice import Spot, Statement, statements, version
from workers.tests.netlab.chains import Chain
from workers.tests.netlab.network import NAME
from workers.tests.netlab.nginx import SEARCH_PATH
from workers.tests.nginx_frame import framed

ORIGIN_PORT = 8080
_ORIGIN = f"127.0.0.1:{ORIGIN_PORT}"
Lines = Mapping[Spot, Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What is served, with which lines. With `proxied` it comes from a server behind, or else from `pages`."""

    folder: Path
    chain: Chain
    lines: Lines = field(default_factory=dict)
    proxied: bool = False

    @property
    def pages(self) -> Path:
        return self.folder / "pages"

    def at(self, spot: Spot, apart: str = "\n") -> str:
        return apart.join(self.lines.get(spot, ()))

    def write(self, name: str, text: str) -> str:
        """The path of the file that has this text now."""
        file = self.folder / name
        file.write_text(text)
        return str(file)

    @property
    def pem(self) -> str:
        """The file that has the chain and its key."""
        return self.write("site.pem", self.chain.chain_file.read_text() + self.chain.key_file.read_text())


_NGINX = """\
{http}
default_type text/html;
server {{
  listen 443 ssl;
  {certificate}
  ssl_certificate_key {key};
  {secure}
  location / {{ {serve} }}
  location /assets/ {{
    {serve}
    {files}
  }}
}}
server {{
  listen 80;
  {plain}
  location / {{ {serve} }}
}}
"""


def _nginx(site: Site, words: Sequence[str]) -> list[str]:
    secure = site.at(Spot.SECURE)
    text = _NGINX.format(
        http=site.at(Spot.HTTP),
        certificate="" if "ssl_certificate " in secure else f"ssl_certificate {site.chain.chain_file};",
        key=site.chain.key_file,
        secure=secure,
        serve=f"proxy_pass http://{_ORIGIN};" if site.proxied else f"root {site.pages};",
        files=site.at(Spot.FILES),
        plain=site.at(Spot.PLAIN),
    )
    file = site.write("nginx.conf", framed(site.folder, text))
    return ["nginx", "-e", f"{site.folder}/error.log", "-p", str(site.folder), "-c", file, *words]


_APACHE_FOLDER = Path("/usr/lib/apache2/modules")
# fmt: off
_APACHE_MODULES = (
    "mpm_event", "authz_core", "mime", "dir", "alias", "headers", "filter", "deflate", "brotli", "proxy", "proxy_http",
    "http2", "cache", "cache_disk", "socache_shmcb", "socache_redis", "ssl",
)
# fmt: on
_APACHE = """\
ServerRoot {folder}
ServerName {name}
PidFile {folder}/apache.pid
DefaultRuntimeDir {folder}
Mutex file:{folder}
ErrorLog {folder}/error.log
{modules}
TypesConfig /dev/null
DirectoryIndex index.html
StartServers 1
Listen 80
{main}
<VirtualHost *:443>
  SSLEngine on
  {certificate}
  SSLCertificateKeyFile {key}
  {serve}
  {secure}
</VirtualHost>
<VirtualHost *:80>
  {serve}
  {plain}
</VirtualHost>
<Directory {pages}>
  Require all granted
</Directory>
"""
# It serves nothing as root.
_AS_NOBODY = ("unshare", "--user", "--map-user=65534", "--map-group=65534")


def _apache(site: Site, words: Sequence[str]) -> list[str]:
    main, secure = site.at(Spot.MAIN), site.at(Spot.SECURE)
    text = _APACHE.format(
        folder=site.folder,
        name=NAME,
        modules="\n".join(f"LoadModule {one}_module {_APACHE_FOLDER}/mod_{one}.so" for one in _APACHE_MODULES),
        main=main if "Listen " in main else f"{main}\nListen 443",
        certificate="" if "SSLCertificateFile " in secure else f"SSLCertificateFile {site.chain.chain_file}",
        key=site.chain.key_file,
        serve=f"ProxyPass / http://{_ORIGIN}/" if site.proxied else f"DocumentRoot {site.pages}",
        secure=secure,
        plain=site.at(Spot.PLAIN),
        pages=site.pages,
    )
    command = ["apache2", "-f", site.write("apache.conf", text), *words]
    return [*_AS_NOBODY, *command] if os.geteuid() == 0 else command


_HAPROXY = """\
global
  nbthread 1
  {main}
defaults
  mode http
  timeout connect 60s
  timeout client 60s
  timeout server 60s
{section}
frontend site
  bind :80
  bind :443 ssl crt {pem} {bind}
  {frontend}
  default_backend origin
backend origin
  server origin {origin}
"""


def _haproxy(site: Site, words: Sequence[str]) -> list[str]:
    """What it serves always comes from a server behind it."""
    text = _HAPROXY.format(
        main=site.at(Spot.MAIN),
        section=site.at(Spot.SECTION),
        pem=site.pem,
        bind=site.at(Spot.BIND, apart=" "),
        frontend=site.at(Spot.FRONTEND),
        origin=_ORIGIN,
    )
    return ["haproxy", "-f", site.write("haproxy.cfg", text), *words]


_CADDY = """\
{head}
https://{name} {{
  {secure}
  {serve}
}}
http://{name} {{
  {serve}
}}
"""
_CADDY_QUIET = "{\n    admin off\n    log {\n        level ERROR\n    }\n"


def _caddy(site: Site, words: Sequence[str]) -> list[str]:
    secure, files = site.at(Spot.SECURE), f"tls {site.chain.chain_file} {site.chain.key_file}"
    if "tls {" in secure:
        secure = secure.replace("tls {", f"{files} {{")
    elif "tls " not in secure:
        secure = f"{secure}\n{files}"
    serve = f"reverse_proxy {_ORIGIN}" if site.proxied else f"root * {site.pages}\nfile_server"
    head = _CADDY_QUIET + (site.at(Spot.HEAD).removeprefix("{\n") or "}")
    file = site.write("Caddyfile", _CADDY.format(name=NAME, head=head, secure=secure, serve=serve))
    home = (f"{one}={site.folder}" for one in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"))
    return ["env", *home, "caddy", *words, "--adapter", "caddyfile", "--config", file]


class _Program(NamedTuple):
    """How a server is configured and called, the words by which it judges or runs that, and what tells its version."""

    command: Callable[[Site, Sequence[str]], list[str]]
    judging: str
    running: str
    version: tuple[str, ...]


_PROGRAMS: Mapping[str, _Program] = {
    "nginx": _Program(_nginx, "-t", "-q", ("nginx", "-v")),
    "Apache": _Program(_apache, "-t", "-X", ("apache2", "-v")),
    "HAProxy": _Program(_haproxy, "-c", "-db", ("haproxy", "-v")),
    "Caddy": _Program(_caddy, "validate", "run", ("caddy", "version")),
}
SERVERS = frozenset(_PROGRAMS)
_NUMBER = re.compile(r"\d+(?:\.\d+)+")


def command(server: str, site: Site) -> list[str]:
    """What runs it until it is ended."""
    program = _PROGRAMS[server]
    return program.command(site, [program.running])


def complaint(server: str, site: Site) -> str | None:
    """What the server has against its configuration; None where it would run."""
    program = _PROGRAMS[server]
    done = _run(program.command(site, [program.judging]))
    return None if done.returncode == 0 else done.stdout + done.stderr


@cache
def installed(server: str) -> tuple[int, ...]:
    """Its version; that of OpenSSL for "OpenSSL"."""
    asked = ("openssl", "version") if server == "OpenSSL" else _PROGRAMS[server].version
    done = _run(asked)
    found = _NUMBER.search(done.stdout + done.stderr)
    assert found is not None, done
    return version(found[0])


def known(setting: Setting) -> list[Statement]:
    """Those of its statements that what is installed knows, by what they say themselves."""
    return [one for one in statements(setting) if not one.is_newer(installed(setting.server), installed("OpenSSL"))]


def written(site: Site, found: Iterable[Statement]) -> Site:
    """The site with these statements, in which examples are what there is; what the shell is told is done.

    A line of the site goes where a statement at its spot sets the same thing.
    """
    texts: dict[Spot, list[str]] = {}
    for one in found:
        text = _with_real_names(one.text, site)
        if one.spot is Spot.SHELL:
            _run(["bash", "-c", text])
        else:
            texts.setdefault(one.spot, []).append(text)
    lines = dict(site.lines) | {spot: [*_others(site, spot, told), *told] for spot, told in texts.items()}
    return replace(site, lines=lines)


def _others(site: Site, spot: Spot, texts: Sequence[str]) -> list[str]:
    """What the site has there, but for what these set. Caddy's options are one block."""
    set_anew = frozenset[str]().union(*map(_words, texts))
    return [line for line in site.lines.get(spot, ()) if not _words(line) & set_anew]


def _words(text: str) -> frozenset[str]:
    """The names of what these lines set. nginx may have several on one."""
    return frozenset(part.split()[0] for part in text.split(";") if part.strip())


def _with_real_names(text: str, site: Site) -> str:
    names = {
        r"\S*fullchain\.pem": str(site.chain.chain_file),
        r"privkey\.pem": str(site.chain.key_file),
        r"\S*/site\.pem": site.pem,
        r"/etc/haproxy/issuers": str(site.folder),
        r"\S*/(ticket\.keys?)": rf"{site.folder}/\1",
        r"/var/cache\S*?(?=[ ;]|$)": f"{site.folder}/cache",
        r"app:8000": _ORIGIN,
        r"www\.example\.org": NAME,
    }
    for example, real in names.items():
        text = re.sub(example, real, text)
    return text


def _run(argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, env={"PATH": SEARCH_PATH}, capture_output=True, text=True, timeout=60)
