"""`./dev bench waterfall`: how fast a waterfall is drawn in Chromium, beside an SVG of all rows by plain code.

Both are drawn in turn in one page. "First draw" is from the moment the page has the component's HTML and data as text
until the frame that shows it is painted, with the parsing of the HTML and of the whole script in it. The plain SVG
begins with the same data as text and makes one element after the other: a text a column and a rectangle a bar.

"Frames while scrolling" are the times from one animation frame to the next. Chromium has 60 in a second, so that one
that is late by a little takes the time of two. Beside it stands the same scroll, in turn, over what no script touches:
the plain SVG and an empty page of its height. Where those are slow too, it is the machine that is busy.
"""

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from deploy.local.browser import launch

ROUNDS = 30
SCROLLS = 5
# Milliseconds at most to the first frame, by number of requests.
LIMITS_MS = {100: 50.0, 2_000: 60.0}
FRAME_LIMIT_MS = 20.0
_DIST = Path(__file__).resolve().parents[2] / "backend" / "web" / "static" / "dist"
_WINDOW = (1320, 900)

# What stands above a waterfall on its page and has been drawn before it: it brings the fonts and the forms' looks.
_HEAD = """<header class="top"><a class="brand" href="/">Firstbyte</a></header><main class="page"><h1>A page</h1>
<p>What was <b>measured</b> <kbd>k</kbd></p><form class="inline"><input type="search"><select><option>all</select>
<button class="button">Apply</button></form></main>"""
# Then for a while that is another one each time: whoever is asked at one instant between two frames only measures how
# long it is from there to the next.
_RESTED = "(rest_ms) => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, rest_ms)))"
_REST_MS, _FRAME_MS = 20.0, 1000 / 60
# Resolves with the milliseconds from the call of `draw` to the end of the frame that shows what it made.
_TIMED = """
const timed = (draw) => new Promise((resolve) => {
  const began = performance.now();
  draw();
  requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => resolve(performance.now() - began);
    channel.port2.postMessage(0);
  });
});
"""
_OURS = (
    "async ({ html, script }) => {"
    + _TIMED
    + """
  return timed(() => {
    const page = document.createElement("main");
    page.className = "page";
    page.innerHTML = html;
    document.querySelector("body > div").append(page);
    const code = document.createElement("script");
    code.textContent = script;
    document.querySelector("body > div").append(code);
  });
}"""
)
_PLAIN = (
    "async ({ data }) => {"
    + _TIMED
    + """
  const NAMESPACE = "http://www.w3.org/2000/svg";
  return timed(() => {
    const rows = JSON.parse(data).rows;
    const svg = document.createElementNS(NAMESPACE, "svg");
    svg.setAttribute("width", "1200");
    svg.setAttribute("height", String(rows.length * 27));
    const put = (name, attributes, text) => {
      const element = document.createElementNS(NAMESPACE, name);
      for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
      if (text !== undefined) element.textContent = text;
      svg.append(element);
    };
    rows.forEach((row, index) => {
      const y = index * 27;
      put("text", { x: 8, y: y + 18 }, `${row.number}. ${row.name} ${row.host}`);
      put("text", { x: 340, y: y + 18 }, row.status);
      put("text", { x: 400, y: y + 18 }, row.size);
      put("text", { x: 470, y: y + 18 }, row.time);
      for (const bar of row.bars) {
        put("rect", { class: `p-${bar.phase}`, x: 540 + bar.x * 6.6, width: bar.width * 6.6, y: y + 7, height: 12 });
      }
    });
    document.querySelector("body > div").append(svg);
  });
}"""
)
_EMPTY = "({ height }) => { document.querySelector('body > div').style.height = `${height}px`; }"
# Scrolls by a quarter of a window in each frame, for two seconds, and tells how long each frame took.
_SCROLL = """async () => {
  const lengths = [];
  let last = await new Promise(requestAnimationFrame);
  for (let step = 0; step < 120; step++) {
    scrollBy({ top: step < 60 ? 240 : -240, behavior: "instant" });
    const now = await new Promise(requestAnimationFrame);
    lengths.push(now - last);
    last = now;
  }
  return lengths;
}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the table; without a limit it is only told."""

    name: str
    value: float
    limit: float | None = None
    unit: str = "ms"

    @property
    def met(self) -> bool:
        return self.limit is None or self.value <= self.limit

    def line(self) -> str:
        told = f"  {self.name:<76} {self.value:8.2f} {self.unit:<3}"
        return (
            told.rstrip() if self.limit is None else f"{told} at most {self.limit:g}: {'met' if self.met else 'MISSED'}"
        )


def main() -> int:
    inputs = _inputs()
    with sync_playwright() as playwright:
        browser = launch(playwright)
        figures = list(_measure(browser, inputs))
        browser.close()
    print("Drawing a waterfall, medians of interleaved rounds")
    print("\n".join(figure.line() for figure in figures))
    return 0 if all(figure.met for figure in figures) else 1


def _inputs() -> dict[int, dict[str, str]]:
    """The component and the plain rows, as the service writes them."""
    written = subprocess.run([sys.executable, "-m", "backend.bench.waterfall"], stdout=subprocess.PIPE, check=True)
    return {int(size): drawn for size, drawn in json.loads(written.stdout).items()}


def _measure(browser: Browser, inputs: Mapping[int, Mapping[str, str]]) -> Iterator[Figure]:
    for requests, limit_ms in LIMITS_MS.items():
        yield from _first_draw(browser, inputs[requests], requests, limit_ms)
    longest = max(LIMITS_MS)
    yield from _scroll(browser, inputs[longest], longest)


def _first_draw(browser: Browser, drawn: Mapping[str, str], requests: int, limit_ms: float) -> Iterator[Figure]:
    page, ours = _page(browser), _ours(drawn)
    plain = {"data": drawn["data"]}
    # The first of each warms the browser up.
    instants = [0.0, *(number / ROUNDS for number in range(ROUNDS))]
    pairs = [
        (_once(page, _OURS, ours, instant=instant), _once(page, _PLAIN, plain, instant=instant)) for instant in instants
    ][1:]
    page.close()
    ours_ms, plain_ms = (statistics.median(column) for column in zip(*pairs, strict=True))
    yield Figure(name=f"{requests:,} requests, first draw", value=ours_ms, limit=limit_ms)
    yield Figure(name=f"{requests:,} requests, plain SVG of all rows", value=plain_ms)
    yield Figure(name=f"{requests:,} requests, ratio to the plain SVG", value=ours_ms / plain_ms, limit=1.0, unit="")


def _scroll(browser: Browser, drawn: Mapping[str, str], requests: int) -> Iterator[Figure]:
    """The medians of interleaved scrolls; the first of each warms the browser up."""
    pages = {name: _page(browser) for name in ("", ", plain SVG of all rows", ", empty page")}
    ours, plain, empty = pages.values()
    _once(ours, _OURS, _ours(drawn))
    _once(plain, _PLAIN, {"data": drawn["data"]})
    empty.evaluate(_EMPTY, {"height": plain.evaluate("document.documentElement.scrollHeight")})
    rounds = [[_p95(page.evaluate(_SCROLL)) for page in pages.values()] for _ in range(SCROLLS + 1)][1:]
    limits = (FRAME_LIMIT_MS, None, None)
    for name, column, limit in zip(pages, zip(*rounds, strict=True), limits, strict=True):
        called = f"{requests:,} requests, frames while scrolling, p95{name}"
        yield Figure(name=called, value=statistics.median(column), limit=limit)


def _p95(lengths: list[float]) -> float:
    return sorted(lengths)[int(0.95 * len(lengths))]


def _ours(drawn: Mapping[str, str]) -> dict[str, str]:
    return {"html": drawn["html"], "script": (_DIST / "app.js").read_text()}


def _page(browser: Browser) -> Page:
    page = browser.new_page(viewport={"width": _WINDOW[0], "height": _WINDOW[1]})
    page.set_content(f"<style>{(_DIST / 'app.css').read_text()}</style>{_HEAD}<div></div>")
    return page


def _once(page: Page, code: str, given: Mapping[str, str], *, instant: float = 0.0) -> float:
    """The milliseconds of one drawing, on a page that is empty below its head and has nothing else to do.

    `instant`, from 0 to 1, is when between two frames it is asked for.
    """
    page.evaluate("() => document.querySelector('body > div').replaceChildren()")
    page.evaluate(_RESTED, _REST_MS + instant * _FRAME_MS)
    return float(page.evaluate(code, given))


if __name__ == "__main__":
    sys.exit(main())
