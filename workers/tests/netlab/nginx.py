"""One nginx that serves many sites, each at an address of its own and with settings of its own."""

import os
import subprocess
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Self

from workers.tests.netlab.chains import Chain
from workers.tests.netlab.conduct import HSTS
from workers.tests.netlab.misbehaving import page
from workers.tests.nginx_frame import framed

# Where Debian puts it, which is not on every user's path.
SEARCH_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
# Answers nothing and closes: what nginx has in place of a port that nobody listens on.
_CLOSE = "return 444;"


class Plain(StrEnum):
    """What http:// is answered with."""

    REDIRECT = "redirect"
    PAGE = "page"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class NginxConduct:
    """nginx's own settings; the defaults here are those of a site that is well kept, not nginx's."""

    protocols: str = "TLSv1.2 TLSv1.3"
    ciphers: str = "HIGH:!aNULL:!MD5"
    curves: str = "X25519:prime256v1:secp384r1"
    buffer: str = "4k"
    session_cache: bool = True
    tickets: bool = True
    early_data: bool = True
    http2: bool = True
    keepalive_s: int = 75
    hsts: str | None = HSTS.partition(": ")[2]
    plain: Plain = Plain.REDIRECT
    secure: bool = True
    body_bytes: int = 4000
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a site listens; `also` are more addresses of it."""

    address: str
    secure_port: int = 443
    plain_port: int = 80
    also: tuple[str, ...] = ()

    def listens(self, port: int, words: str = "") -> list[str]:
        """The lines of a server block for all addresses."""
        hosts = (f"[{one}]" if ":" in one else one for one in (self.address, *self.also))
        return [f"listen {host}:{port}{words};" for host in hosts]


@dataclass(frozen=True, slots=True, kw_only=True)
class NginxSite:
    conduct: NginxConduct
    place: Place
    chain: Chain | None = None


_COMMON = """\
  default_type text/html;
  server_tokens off;
"""
_SERVER = """\
  server {{
    keepalive_timeout {conduct.keepalive_s};
    {lines}
    root {folder}/pages;
    location / {{ {answer} }}
    location = /moved {{ return 302 /; }}
    location = /away {{ return 302 https://other.$host/; }}
  }}
"""


def _tls_lines(site: NginxSite, chain: Chain, number: int) -> list[str]:
    conduct = site.conduct
    lines = [
        f"ssl_certificate {chain.chain_file};",
        f"ssl_certificate_key {chain.key_file};",
        f"ssl_protocols {conduct.protocols};",
        f"ssl_ciphers '{conduct.ciphers}';",
        f"ssl_ecdh_curve {conduct.curves};",
        f"ssl_buffer_size {conduct.buffer};",
        f"ssl_session_cache {f'shared:site{number}:200k' if conduct.session_cache else 'off'};",
        f"ssl_session_tickets {_switch(conduct.tickets)};",
        f"ssl_early_data {_switch(conduct.early_data)};",
    ]
    if chain.staple_file is not None:
        lines += ["ssl_stapling on;", f"ssl_stapling_file {chain.staple_file};"]
    if conduct.hsts is not None:
        lines.append(f"add_header Strict-Transport-Security '{conduct.hsts}' always;")
    return lines + [f"add_header {name} '{value}' always;" for name, value in conduct.headers]


def _switch(on: bool) -> str:
    return "on" if on else "off"


class Nginx(AbstractContextManager["Nginx"]):
    """Runs from `start` (or its `with` block) to its end. `argv` is for those who start it elsewhere themselves."""

    def __init__(self, folder: Path, sites: Sequence[NginxSite]) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        pages = folder / "pages"
        pages.mkdir()
        for size in {site.conduct.body_bytes for site in sites}:
            (pages / f"{size}.html").write_bytes(page(size))
        servers = "".join(self._servers(site, number) for number, site in enumerate(sites))
        (folder / "nginx.conf").write_text(framed(folder, _COMMON + servers))

    @property
    def argv(self) -> list[str]:
        folder = self._folder
        return ["nginx", "-e", str(folder / "error.log"), "-p", str(folder), "-c", str(folder / "nginx.conf")]

    @property
    def complaints(self) -> str:
        log = self._folder / "error.log"
        return log.read_text() if log.exists() else ""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(self.argv, env={"PATH": SEARCH_PATH}, stderr=subprocess.DEVNULL)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _servers(self, site: NginxSite, number: int) -> str:
        conduct, place = site.conduct, site.place
        answer = f"try_files /{conduct.body_bytes}.html =404;"
        texts = []
        if conduct.secure and site.chain is not None:
            listens = place.listens(place.secure_port, f" ssl{' http2' if conduct.http2 else ''}")
            texts.append(self._server(site, listens + _tls_lines(site, site.chain, number), answer))
        plain = {Plain.REDIRECT: "return 301 https://$host$request_uri;", Plain.PAGE: answer, Plain.CLOSED: _CLOSE}
        if conduct.plain is not Plain.CLOSED:
            texts.append(self._server(site, place.listens(place.plain_port), plain[conduct.plain]))
        return "".join(texts)

    def _server(self, site: NginxSite, lines: list[str], answer: str) -> str:
        text = "\n    ".join(lines)
        return _SERVER.format(conduct=site.conduct, lines=text, folder=self._folder, answer=answer)
