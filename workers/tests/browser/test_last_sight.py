"""The picture of the page at which a script stopped: it is there, and no secret can be read in it."""

import asyncio
import base64
import io
from pathlib import Path
from typing import Any, cast

import pytest
from PIL import Image, ImageChops
from playwright.async_api import CDPSession, Error

from workers.browser.last_sight import last_sight
from workers.browser.pool import BrowserPool
from workers.browser.seen import PageRun
from workers.measurement.failure import FailureKind
from workers.measurement.page_options import Click, PageOptions, Step, TypeText, Visit
from workers.tests.browser.conftest import Load, browser_settings, failed, page_request
from workers.tests.browser.sites import Answer, Site, serving
from workers.tests.waiting import undisturbed

# As long as each other, so that a password's dots are, too.
SECRETS = ("s3cret-Sesame", "0ther-Phrases")
STYLE = "<style>* { font: 20px sans-serif; caret-color: transparent; margin: 1px }</style>"
# What a page may do with what is typed: keep it, cut it off, write it out in pieces, in capitals, from an attribute,
# within a shadow that nobody may look into, in a list, as a picture.
WAYS = """<input id=plain><textarea id=area></textarea><div contenteditable id=free style="width:9em">.</div>
<input id=short oninput="this.value = this.value.slice(0, 5)"><input id=first><p id=e1></p><p id=e2></p>
<style>#e3::after { content: attr(data-x) }</style><p id=e3></p><p id=e4></p><select id=e5></select>
<canvas id=e6 width=300 height=40></canvas><script>
const shadow = e4.attachShadow({mode: "closed"});
first.oninput = () => {
  const typed = first.value;
  first.type = "password";
  e1.innerHTML = [...typed].map(char => `<b>${char}</b>`).join(" ");
  e2.innerText = "Hello " + typed.toUpperCase();
  e3.dataset.x = typed;
  shadow.innerHTML = `<i>${typed}</i>`;
  e5.innerHTML = `<option>${typed}`;
  const pen = e6.getContext("2d");
  pen.font = "20px sans-serif";
  pen.fillText(typed, 0, 20);
};</script>"""
FIELDS = ("#plain", "#area", "#free", "#short", "#first")


@pytest.fixture
def stopped(load: Load, site: Site, monkeypatch: pytest.MonkeyPatch) -> "Stopped":
    return Stopped(load, site, monkeypatch)


class Stopped:
    """Runs scripts whose last step cannot be done; all else is given longer where a machine is busy."""

    def __init__(self, load: Load, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
        self._load, self._site, self._patch = load, site, monkeypatch

    def at(self, body: str, *steps: Step, pictured: bool = True) -> PageRun:
        visit = Visit(url=self._site.page("/login", f"{STYLE}<p>Welcome</p>{body}"))
        options = PageOptions(steps=(visit, *steps, Click(selector="#never")))
        for given_s in (1, 6, 20):
            self._patch.setattr("workers.browser.steps.STEP_S", given_s)
            self._patch.setattr("workers.browser.last_sight._PATIENCE_S", 10.0 * given_s)
            run = self._load(self._site.page("/", "x"), page=options)
            is_told = f"step {len(steps) + 2}, click #never: no such element" in failed(run).failure.detail
            if is_told and (run.screenshot is not None) is pictured:
                break
        assert failed(run).failure.kind is FailureKind.STEP_FAILED
        return run


def typed(text: str, *fields: str, secret: bool = True) -> list[TypeText]:
    return [TypeText(selector=field, text=text, secret=secret) for field in fields]


def are_alike(runs: list[PageRun]) -> bool:
    images = [Image.open(io.BytesIO(run.screenshot or b"")).convert("L") for run in runs]
    return ImageChops.difference(*images).getbbox() is None


def test_the_page_at_which_a_script_stopped_is_shown_with_what_was_typed(stopped: Stopped) -> None:
    runs = [stopped.at(WAYS, *typed(text, *FIELDS, secret=False)) for text in SECRETS]
    assert not are_alike(runs)


def test_whatever_a_page_does_with_a_secret_its_picture_is_that_of_any_other(stopped: Stopped) -> None:
    assert are_alike([stopped.at(WAYS, *typed(text, *FIELDS)) for text in SECRETS])


def test_a_secret_within_a_frame_is_written_over(stopped: Stopped, site: Site) -> None:
    frame = site.page("/frame", f"{STYLE}<input id=code oninput='e.innerText = this.value'><p id=e></p>")
    body = f"<iframe src={frame} width=600 height=200></iframe>"
    assert are_alike([stopped.at(body, *typed(text, "iframe >>> #code")) for text in SECRETS])


def test_there_is_no_picture_of_a_page_that_writes_a_secret_again_and_again(stopped: Stopped) -> None:
    body = """<input id=code type=password><p id=e></p>
<script>new MutationObserver(() => { if (e.innerText !== code.value) e.innerText = code.value })
  .observe(e, {childList: true, characterData: true, subtree: true});
code.oninput = () => { e.innerText = code.value }</script>"""
    assert stopped.at(body, *typed(SECRETS[0], "#code"), pictured=False).pictures == {}


def test_there_is_no_picture_of_where_no_page_may_lead(ca_file: Path, site: Site) -> None:
    with serving({"/": Answer(body=b"inside")}, secure=False, address="127.0.0.2") as hidden:
        site.answers["/out"] = Answer(status=302, headers=(("Location", f"http://127.0.0.2:{hidden.port}/"),))
        steps = (Visit(url=site.url("/out")), Click(selector="]["))
        with BrowserPool(browser_settings(ca_file)) as pool:
            run = pool.load(page_request(site.page("/", "x"), page=PageOptions(steps=steps)))
    assert failed(run).failure.kind is FailureKind.BLOCKED_DESTINATION
    assert run.pictures == {}


class LosingFrames:
    """A browser that never shows what is asked for first, and then says that it cannot."""

    def __init__(self) -> None:
        self.asked = 0

    async def send(self, _: str, __: Any = None) -> dict[str, str]:
        self.asked += 1
        if self.asked == 1:
            await asyncio.Event().wait()
        if self.asked == 2:
            raise Error("Unable to capture screenshot")
        return {"data": base64.b64encode(b"a picture").decode()}


@undisturbed
def test_a_picture_that_the_browser_lost_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.browser.last_sight._PATIENCE_S", 3.0)
    browser = LosingFrames()
    assert asyncio.run(last_sight(cast(CDPSession, browser), (), frames=1)) == b"a picture"
    assert browser.asked == 3
