"""What a fresh context holds of the runs before it in the same browser: nothing.

Each test first sees that the same thing is remembered within one context, or it would prove nothing.
"""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Browser, BrowserContext, Error

from workers.browser.chromium import inspect_chromium
from workers.browser.launch import ORDINARY, Launch
from workers.browser.session import Session
from workers.measurement.captures_page import NetlogCapture
from workers.measurement.page_options import HostMapping
from workers.tests.browser import processes
from workers.tests.browser.conftest import browser_settings
from workers.tests.browser.sites import Answer, certificate, serving
from workers.tests.waiting import undisturbed, wait_for

SAFE = "hsts.example"


@asynccontextmanager
async def browsing(ca_file: Path, launch: Launch = ORDINARY, *, quic: bool = False) -> AsyncIterator[Session]:
    session = await Session.start(browser_settings(ca_file, quic=quic), inspect_chromium(), launch, sandbox=False)
    try:
        yield session
    finally:
        await session.close()


async def seen_by(context: BrowserContext, url: str) -> str:
    """Where a visit ends, or Chrome's name for why it does not."""
    page = await context.new_page()
    try:
        await page.goto(url)
    except Error as error:
        return next((word for word in str(error).replace(":", " ").split() if word.startswith("ERR_")), "lost")
    return page.url


@undisturbed
def test_a_host_that_demanded_https_is_asked_without_it_by_the_next_run(ca_file: Path) -> None:
    strict = Answer(body=b"<p>safe", headers=(("Strict-Transport-Security", "max-age=600"),))

    async def run(port: int) -> tuple[str, str]:
        mapping = HostMapping(host=SAFE, address="127.0.0.1", port=port)
        async with browsing(ca_file, Launch(host_map=(mapping,))) as session:
            browser, _ = session.parts
            first = await browser.new_context()
            await seen_by(first, f"https://{SAFE}/")
            remembered = await seen_by(first, f"http://{SAFE}/")
            await first.close()
            return remembered, await seen_by(await browser.new_context(), f"http://{SAFE}/")

    with serving({"/": strict}, leaf=certificate(SAFE)) as site:
        remembered, fresh = asyncio.run(run(site.port))
    assert remembered == f"https://{SAFE}/"
    # The server speaks TLS only: plain words are not answered.
    assert fresh == "ERR_EMPTY_RESPONSE"


@undisturbed
def test_who_offered_http3_is_not_asked_for_it_by_the_next_run(ca_file: Path) -> None:
    async def run(offer: str, plain: str, heard: socket.socket) -> tuple[bool, bool]:
        known = set[bytes]()
        async with browsing(ca_file, quic=True) as session:
            browser, _ = session.parts
            first = await browser.new_context()
            await seen_by(first, offer)
            await seen_by(first, plain)
            remembered = await another_came(heard, known, within_s=20)
            await first.close()
            # What the first one tried in parting.
            while await another_came(heard, known, within_s=1):
                pass
            second = await browser.new_context()
            await seen_by(second, plain)
            await seen_by(second, plain)
            return remembered, await another_came(heard, known)

    with socket.socket(type=socket.SOCK_DGRAM) as heard:
        heard.bind(("127.0.0.1", 0))
        heard.setblocking(False)
        offering = Answer(body=b"<p>offer", headers=(("Alt-Svc", f'h3=":{heard.getsockname()[1]}"; ma=600'),))
        with serving({"/offer": offering, "/": Answer(body=b"<p>plain")}) as site:
            offer, plain = (site.url(path, host="127.0.0.1") for path in ("/offer", "/"))
            assert asyncio.run(run(offer, plain, heard)) == (True, False)


async def another_came(heard: socket.socket, known: set[bytes], within_s: float = 0.4) -> bool:
    """Whether a packet of another connection than those that are known comes in that time; it is known from then on.

    One that is not answered is tried again and again, less and less often, by a process that hears of its end late.
    """
    try:
        async with asyncio.timeout(within_s):
            while (name := connection_of(await asyncio.get_running_loop().sock_recv(heard, 2048))) in known:
                pass
    except TimeoutError:
        return False
    known.add(name)
    return True


def connection_of(packet: bytes) -> bytes:
    """What whoever opened it calls the other end, by chance: RFC 9000, 17.2."""
    return packet[6 : 6 + packet[5]]


@undisturbed
def test_a_certificate_is_verified_anew_by_each_run(ca_file: Path) -> None:
    async def run(url: str) -> list[int]:
        async with browsing(ca_file) as session:
            browser, _ = session.parts
            return [await verifications(browser, session, url) for _ in range(3)]

    with serving({"/": Answer(body=b"<p>page")}) as site:
        assert asyncio.run(run(site.url("/"))) == [1, 1, 1]


async def verifications(browser: Browser, session: Session, url: str) -> int:
    session.tail.skip()
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto(url)
    log = await session.tail.read_now(await context.new_cdp_session(page))
    await context.close()
    assert log is not None
    return count(log, "CERT_VERIFIER_JOB") // 2


def count(log: NetlogCapture, name: str) -> int:
    number = log.constants["logEventTypes"][name]
    events = (json.loads(line.rstrip(b",\r\n")) for line in log.lines if line.startswith(b'{"') and b'"type"' in line)
    return sum(event.get("type") == number for event in events)


@undisturbed
def test_pages_of_different_runs_share_no_process_and_so_no_compiled_script(ca_file: Path) -> None:
    async def run(url: str) -> list[set[int]]:
        async with browsing(ca_file) as session:
            browser, _ = session.parts
            found = []
            for _ in range(2):
                before = set(processes.renderers())
                context = await browser.new_context()
                await seen_by(context, url)
                found.append(set(processes.renderers()) - before)
                await context.close()
                ended = found[-1]
                await asyncio.to_thread(
                    wait_for, lambda ended=ended: not ended & set(processes.renderers()), "its process to end"
                )
            return found

    with serving({"/": Answer(body=b"<p>page")}) as site:
        first, second = asyncio.run(run(site.url("/")))
    assert first
    assert second
    assert not first & second
