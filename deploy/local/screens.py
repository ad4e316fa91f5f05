"""`./dev screens`: a picture of every page of the running service, in light, dark and on a phone.

Pages are found as a person finds them, by following links after signing in: of many of one kind, the first.
"""

import re
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from playwright.sync_api import Browser, Page, sync_playwright

from deploy.local.browser import launch
from deploy.local.fleet import Login, read_login
from deploy.local.places import Places
from deploy.local.process import StepError
from deploy.local.settings import read_settings

LOOKS = {"light": (1280, 900, "light"), "dark": (1280, 900, "dark"), "phone": (390, 844, "light")}
MAX_PAGES = 60
# A long page is drawn whole for its picture, which a busy machine takes its time for.
_PATIENCE_MS = 120_000
# An id is what differs between two pages of one kind: a UUID, a number, a token.
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d+")
# What signs out, is Django's own, or is no page.
_ELSEWHERE = re.compile(
    r"^/(account/logout|admin|static|api/v1/(?!docs)|media|metrics|livez|readyz|healthz)|/screenshot$"
)


def kind_of(path: str) -> str:
    """A path without its ids: pages of one kind have the same."""
    return _ID.sub("-", path).strip("/").replace("/", "_") or "home"


def take_pictures(base_url: str, login: Login, folder: Path) -> list[Path]:
    """Pictures of all pages in all looks, newest instead of those there were. Raises StepError without a password."""
    if login.password is None:
        raise StepError("The password of the first login is not known here any more.")
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.png"):
        old.unlink()
    with sync_playwright() as playwright:
        browser = launch(playwright)
        paths = list(_walk(_signed_in(browser, base_url, login, "light"), base_url))
        return [
            picture
            for look in LOOKS
            for picture in _pictures(_signed_in(browser, base_url, login, look), base_url, paths, folder, look)
        ]


def _signed_in(browser: Browser, base_url: str, login: Login, look: str) -> Page:
    width, height, scheme = LOOKS[look]
    page = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if scheme == "dark" else "light"
    ).new_page()
    page.set_default_timeout(_PATIENCE_MS)
    page.goto(base_url)
    page.fill("input[name=login]", login.email)
    page.fill("input[name=password]", login.password or "")
    page.press("input[name=password]", "Enter")
    page.wait_for_url("**/sites/**")
    return page


def _walk(page: Page, base_url: str) -> Iterator[str]:
    """The path of one page of each kind, breadth first."""
    waiting, seen = deque(["/sites/"]), {kind_of("/sites/")}
    while waiting and len(seen) <= MAX_PAGES:
        path = waiting.popleft()
        # Asked first: what is no page would begin a download.
        if not page.request.get(base_url + path).headers.get("content-type", "").startswith("text/html"):
            continue
        page.goto(base_url + path)
        arrived = urlsplit(page.url).path
        if arrived != path:
            # It only leads to another page, which has its turn of its own.
            if kind_of(arrived) not in seen:
                seen.add(kind_of(arrived))
                waiting.append(arrived)
            continue
        yield path
        for link in page.eval_on_selector_all("a[href]:not([download])", "links => links.map(link => link.href)"):
            found = urlsplit(urljoin(page.url, link))
            if f"{found.scheme}://{found.netloc}" != base_url or _ELSEWHERE.search(found.path):
                continue
            if kind_of(found.path) not in seen:
                seen.add(kind_of(found.path))
                waiting.append(found.path)


def _pictures(page: Page, base_url: str, paths: list[str], folder: Path, look: str) -> Iterator[Path]:
    for path in paths:
        page.goto(base_url + path)
        picture = folder / f"{kind_of(path)}.{look}.png"
        page.screenshot(path=picture, full_page=True, animations="disabled")
        yield picture


def main(arguments: list[str]) -> int:
    """`python -m deploy.local.screens FOLDER`, with the checkout's folder."""
    places = Places(code=Path(arguments[0]))
    settings, login = read_settings(places.settings), read_login(places.fleet)
    if settings is None or login is None:
        sys.stderr.write("There is nothing to look at yet. Run ./dev up.\n")
        return 1
    try:
        pictures = take_pictures(settings.base_url, login, places.state / "screens")
    except StepError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    print(f"{len(pictures)} pictures of {len(pictures) // len(LOOKS)} pages are in {places.state / 'screens'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
