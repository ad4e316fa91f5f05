"""A real CDN in small: nginx with a cache before an nginx that packs, over TLS with a throw-away authority."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from workers.tests.nginx_frame import framed
from workers.tests.ports import free_port
from workers.tests.servers import LOOPBACK, Authority
from workers.tests.waiting import wait_for

CDN, ORIGIN = "cdn.localhost", "origin.localhost"
BODY = "/* a style sheet */\n" + "body { margin: 0; padding: 1px }\n" * 600
_SITES = """\
  proxy_cache_path {folder}/cache keys_zone=cdn:1m;
  types {{ text/css css; }}
  gzip_types text/css;
  ssl_certificate {folder}/server.pem;
  ssl_certificate_key {folder}/server.key;
  server {{
    listen {host}:{origin} ssl http2;
    root {folder}/pages;
    gzip on;
  }}
  server {{
    listen {host}:{cdn} ssl;
    location = /closing.css {{ keepalive_timeout 0; alias {folder}/pages/a.css; }}
    location / {{
      proxy_pass https://{host}:{origin};
      proxy_cache cdn;
      proxy_cache_valid 200 10m;
      add_header X-Cache $upstream_cache_status;
    }}
  }}
"""


class Nginx(NamedTuple):
    """Where both can be asked, each under its own name, for /a.css; the CDN for /closing.css too, in HTTP/1.1 alone."""

    cdn: int
    origin: int
    ca_file: Path

    def url(self, path: str = "/a.css", *, of: str = CDN) -> str:
        return f"https://{of}:{self.cdn if of == CDN else self.origin}{path}"


@contextmanager
def running_nginx(folder: Path) -> Iterator[Nginx]:
    authority = Authority.make(folder)
    leaf = authority.ca.issue_cert(CDN, ORIGIN)
    leaf.private_key_pem.write_to_path(str(folder / "server.key"))
    for part in leaf.cert_chain_pems:
        part.write_to_path(str(folder / "server.pem"), append=True)
    (folder / "pages").mkdir()
    (folder / "pages" / "a.css").write_text(BODY)
    cdn, origin = free_port(), free_port()
    configuration = folder / "nginx.conf"
    configuration.write_text(framed(folder, _SITES.format(folder=folder, host=LOOPBACK, cdn=cdn, origin=origin)))
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
    process = subprocess.Popen(
        ["nginx", "-e", str(folder / "error.log"), "-p", str(folder), "-c", str(configuration)],
        env={"PATH": path},
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(lambda: process.poll() is not None or _accepts(cdn), "nginx to listen")
        assert process.poll() is None, (folder / "error.log").read_text()
        yield Nginx(cdn=cdn, origin=origin, ca_file=authority.ca_file)
    finally:
        process.terminate()
        process.wait()


def _accepts(port: int) -> bool:
    try:
        with socket.create_connection((LOOPBACK, port), timeout=2):
            return True
    except OSError:
        return False
