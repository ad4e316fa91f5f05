"""The demo sites as they are served: a real nginx on free ports of loopback."""

import json
import os
import re
import signal
import ssl
import subprocess
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from http.client import HTTPResponse
from pathlib import Path
from time import monotonic, time

import pytest
import trustme

from deploy.local.demo import demo, prepare, slow_down
from deploy.local.places import Places, make_state
from deploy.local.settings import Settings, settle
from deploy.local.tests.rig import CODE, wait_until
from workers.tests.ports import free_port
from workers.tests.waiting import undisturbed


@dataclass(frozen=True)
class Sites:
    places: Places
    settings: Settings

    def get(self, url: str) -> HTTPResponse:
        """An answer, from a server whose certificate the throw-away authority vouches for."""
        context = ssl.create_default_context(cafile=str(self.places.authority))
        port = int(url.split("/")[2].rpartition(":")[2])
        host = url.split("/")[2].rpartition(":")[0]
        # The system's resolver need not know names below localhost (RFC 6761 asks it to, minimal Debians do not).
        request = urllib.request.Request(url.replace(host, "127.0.0.1"), headers={"Host": f"{host}:{port}"})
        context.check_hostname = False
        answer = urllib.request.urlopen(request, context=context, timeout=60)
        assert isinstance(answer, HTTPResponse)
        return answer


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[Sites]:
    """Both sites of an installation of this test's own, in a folder with a name as people give them."""
    code = tmp_path / "my checkout; 1"
    (code / "deploy").mkdir(parents=True)
    (code / "deploy" / "demo").symlink_to(CODE / "deploy" / "demo")
    places = Places(code=code)
    make_state(places)
    # Ports by chance: those that an installation would choose, the next test would choose as well.
    settings = replace(settle(places.settings), shop_port=free_port(), cdn_port=free_port())
    service = demo(places, settings)
    service.prepare()
    # Root's nginx would hand its work to a user who cannot read the pages; the product never runs it as root.
    extra = ["-g", "user root;"] if os.geteuid() == 0 else []
    with subprocess.Popen([*service.command, *extra], env=dict(service.env), cwd=service.cwd) as process:
        try:
            wait_until(service.ready, "nginx to listen")
            yield Sites(places, settings)
        finally:
            process.send_signal(signal.SIGTERM)


class _Addresses(HTMLParser):
    """The addresses that a page makes a browser fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        named = dict(attributes)
        address = named.get("src") if tag in ("img", "script") else named.get("href") if tag == "link" else None
        if address:
            self.found.append(address)


def test_the_shop_thinks_before_it_answers(sites: Sites) -> None:
    began = monotonic()
    with sites.get(sites.settings.shop_url) as answer:
        assert b"Lantern &amp; Loom" in answer.read()
    assert monotonic() - began >= 0.2


@undisturbed
def test_the_shop_works_longer_when_told_to_and_as_before_when_told_so(sites: Sites) -> None:
    slow_down(sites.places, sites.settings, 900)
    assert _seconds(sites) >= 2
    slow_down(sites.places, sites.settings, 0)
    assert _seconds(sites) < 2


def _seconds(sites: Sites) -> float:
    began = monotonic()
    sites.get(sites.settings.shop_url).close()
    return monotonic() - began


def test_the_cdn_keeps_what_it_fetched_and_says_how_old_it_is(sites: Sites) -> None:
    url = f"{sites.settings.cdn_url}assets/base.css"
    began, told, ages = time(), list[str](), list[int]()
    for _ in range(2):
        with sites.get(url) as answer:
            # What has not come whole is not kept yet.
            answer.read()
            told.append(answer.headers["X-Cache"])
            ages.append(int(answer.headers["Age"]))
    assert told == ["MISS", "HIT"]
    # Counted from the second in which it was fetched, which may have ended since.
    assert 0 <= ages[0] <= ages[1] <= time() - int(began)


def test_the_cdn_never_keeps_what_is_counted_anew(sites: Sites) -> None:
    url = f"{sites.settings.cdn_url}api/stock.json"
    for _ in range(2):
        with sites.get(url) as answer:
            assert answer.headers["X-Cache"] == "MISS"
            assert json.load(answer)["in_stock"] == 8


def test_every_address_of_the_page_is_answered_by_the_host_that_it_names(sites: Sites) -> None:
    with sites.get(sites.settings.shop_url) as answer:
        page = _Addresses()
        page.feed(answer.read().decode())
    hosts = {address.split("/")[2] if address.startswith("https:") else "shop" for address in page.found}
    assert hosts == {"shop", f"cdn.localhost:{sites.settings.cdn_port}"}
    assert len(page.found) > 15
    for address in page.found:
        url = address if address.startswith("https:") else sites.settings.shop_url.rstrip("/") + address
        with sites.get(url) as asset:
            assert asset.headers.get_content_type() != "application/octet-stream"


def test_the_cdn_speaks_http_2_and_the_shop_http_1(sites: Sites) -> None:
    spoken = []
    for port in (sites.settings.shop_port, sites.settings.cdn_port):
        command = f"openssl s_client -connect 127.0.0.1:{port} -servername shop.localhost -alpn h2,http/1.1".split()
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
        spoken += re.findall(rb"ALPN protocol: (\S+)", done.stdout)
    assert spoken == [b"http/1.1", b"h2"]


def test_certificates_name_both_hosts_and_their_authority_has_no_key_left(sites: Sites) -> None:
    folder = sites.places.authority.parent
    for name in ("shop.localhost", "cdn.localhost"):
        command = ["openssl", "verify", "-CAfile", "ca.pem", "-verify_hostname", name, "leaf.pem"]
        assert subprocess.run(command, cwd=folder, capture_output=True).returncode == 0
    assert not (folder / "ca.key").exists()


def test_certificates_that_are_good_for_long_are_kept(sites: Sites) -> None:
    before = sites.places.authority.read_bytes()
    prepare(sites.places, sites.settings)
    assert sites.places.authority.read_bytes() == before


def test_certificates_that_do_not_hold_yet_are_made_anew(sites: Sites) -> None:
    """As after a clock that was ahead and was set right."""
    ours, folder = trustme.CA(), sites.places.authority.parent
    leaf = ours.issue_cert("shop.localhost", not_before=datetime.now(UTC) + timedelta(days=1))
    ours.cert_pem.write_to_path(str(folder / "ca.pem"))
    leaf.cert_chain_pems[0].write_to_path(str(folder / "leaf.pem"))
    leaf.private_key_pem.write_to_path(str(folder / "leaf.key"))
    prepare(sites.places, sites.settings)
    assert subprocess.run(["openssl", "verify", "-CAfile", "ca.pem", "leaf.pem"], cwd=folder).returncode == 0


def test_no_word_between_signs_is_left_unfilled(sites: Sites) -> None:
    folder = sites.places.authority.parent
    for path in [folder / "nginx.conf", *Path(folder / "pages").rglob("*.*")]:
        if path.suffix != ".jpg":
            assert re.findall(r"@[a-z_]+@", path.read_text()) == []
