"""Pages that a real nginx serves at the far end of the lab's link, and what Chromium at its near end makes of them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from workers.measurement.messages import PageMeasurement
from workers.measurement.page_options import PageState
from workers.tests.browser.conftest import measured
from workers.tests.netlab.nginx import SEARCH_PATH
from workers.tests.netlab.programs import start_inside
from workers.tests.nginx_frame import framed
from workers.tests.shapes.browsing import ShapeLab
from workers.tests.shapes.site import Shape

HOST, OTHER = "two.test", "far.two.test"
_KINDS = "text/html html; text/css css; text/javascript js; image/png png; font/woff2 woff2;"
_SERVER = """\
  server {{
    listen {address}:443 ssl{words};
    server_name {name};
    ssl_certificate {folder}/{certificate}.pem;
    ssl_certificate_key {folder}/{certificate}.key;
    ssl_protocols TLSv1.2 TLSv1.3;
    root {root};
    index index.html;
    gzip {gzip};
    gzip_types text/css text/javascript;
    add_header Cache-Control '{policy}';
{locations}
  }}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSite:
    """Files by path, with `index.html` for the page. `policies` are the Cache-Control of paths that have one of their
    own; `more` are lines of nginx's own for each server. `elsewhere` are files of the owner's other host, OTHER."""

    files: Mapping[str, bytes]
    elsewhere: Mapping[str, bytes] = field(default_factory=dict)
    http2: bool = True
    gzip: bool = False
    policy: str = "max-age=31536000"
    policies: Mapping[str, str] = field(default_factory=dict)
    more: str = ""


@contextmanager
def serving(lab: ShapeLab, site: PageSite) -> Iterator[None]:
    """The site at the far end, until the end of the block."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        servers = [_server(lab, site, folder, HOST, "two"), _server(lab, site, folder, OTHER, "far")]
        for host, files in ((HOST, site.files), (OTHER, site.elsewhere)):
            lab.lab.zone.a[host] = [lab.lab.server_address4]
            for path, body in files.items():
                place = folder / host / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(body)
        (folder / "nginx.conf").write_text(framed(folder, f"  types {{ {_KINDS} }}\n" + "".join(servers)))
        argv = ["env", f"PATH={SEARCH_PATH}", "nginx", "-e", str(folder / "error.log"), "-p", name]
        process = start_inside(lab.lab.server, [*argv, "-c", str(folder / "nginx.conf")])
        try:
            lab.lab.wait_for_port(443, lab.lab.server_address4)
            yield
        finally:
            process.terminate()
            process.wait()


def loaded(lab: ShapeLab, repeat: PageState | None = None) -> PageMeasurement:
    """The page of the site that is being served, loaded by a browser that knows nothing, and once more in a state."""
    return measured(lab.run(Shape(url=f"https://{HOST}/", replies={}, rows="", connections="", repeat=repeat)))


def _server(lab: ShapeLab, site: PageSite, folder: Path, name: str, certificate: str) -> str:
    policies = site.policies.items()
    return _SERVER.format(
        address=lab.lab.server_address4,
        words=" http2" if site.http2 else "",
        name=name,
        folder=lab.folder,
        certificate=certificate,
        root=folder / name,
        gzip="on" if site.gzip else "off",
        policy=site.policy,
        locations="\n".join(
            [f"    location = /{path} {{ add_header Cache-Control '{policy}'; }}" for path, policy in policies]
            + [f"    {site.more}"]
        ),
    )
