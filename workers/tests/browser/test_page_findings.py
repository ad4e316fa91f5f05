"""What is said of small pages in a real Chromium, of each of which is known by construction what holds it up."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest

from workers.diagnosis.page.diagnose import diagnose_page
from workers.measurement.finding import FindingId
from workers.tests.browser.conftest import Load, measured
from workers.tests.browser.sites import picture
from workers.tests.browser.slow_site import Slow, noise, slowly_serving
from workers.tests.browser.twin_pages import at_port, html, styles
from workers.tests.waiting import undisturbed

TEXT = "<h1>Hello</h1><p>Words to be painted first.</p>"
KEPT = (("Cache-Control", "max-age=31536000, immutable"),)
NEVER_KEPT = (("Cache-Control", "no-store"),)
SLOW_S = 0.3
HERO = Slow(body=picture(600, 400), kind="image/png", think_s=SLOW_S, headers=KEPT)
LARGE = Slow(body=noise(900, 600), kind="image/png", headers=KEPT)
SHEET = styles(think_s=SLOW_S)
FONT = Slow(body=b"x" * 3000, kind="font/woff2", think_s=SLOW_S, headers=KEPT)
SHOWN = "<img src=/hero.png width=600 height=400>"
SMALL = "<img src=/large.png width=100 height=66>"
FACE = "<style>@font-face { font-family: F; src: url(/f.woff2); font-display: swap } body { font-family: F }</style>"
OTHER_FACE = "<style>@font-face { font-family: 'My G'; src: url(/g.woff2); font-display: swap }</style>"
# As hosts of fonts have it: nobody but the browser may read it.
THEIR_FACE = "<link rel=stylesheet href=//127.0.0.1:PORT/faces.css><style>body { font-family: F }</style>"
FACES = b"/* latin */ @font-face { font-family: 'F'; src: url(https://localhost:PORT/f.woff2) format('woff2') }"
FACED = "<p style='font-family: serif'>x</p><h1>Hello</h1>"
BACKGROUND = "<style>.hero { background: url(/hero.png); width: 600px; height: 400px }</style>"
ELEMENT = """<script>customElements.define("x-y", class extends HTMLElement {
  connectedCallback() { this.attachShadow({ mode: "open" }).innerHTML = `%s`; }
})</script>"""
SLIDES = """<div id=d></div><script>
const slides = ["/small.png", "/hero.png"];
setInterval(() => { const next = slides.shift(); if (next) d.append(Object.assign(new Image(), { src: next })); }, 500);
</script>"""


def script(text: str = "window.ran = true", **how: object) -> Slow:
    values: dict[str, object] = {"body": text.encode(), "kind": "text/javascript", "think_s": SLOW_S, "headers": KEPT}
    return Slow(**(values | how))  # type: ignore[arg-type]  # by name


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """`told` are the ids of what is found, each with the paths of its rows; nothing else is."""

    head: str = ""
    body: str = TEXT
    answers: Mapping[str, Slow]
    told: Mapping[FindingId, set[str]]


def healthy(head: str = "", body: str = TEXT, **answers: Slow) -> Case:
    return Case(head=head, body=body, answers=_named(answers), told={})


def faulty(id: FindingId, *rows: str, head: str = "", body: str = TEXT, **answers: Slow) -> Case:
    return Case(head=head, body=body, answers=_named(answers), told={id: set(rows)})


def _named(answers: Mapping[str, Slow]) -> dict[str, Slow]:
    """`a_css` is `/a.css`."""
    return {f"/{name.replace('_', '.')}": answer for name, answer in answers.items()}


BLOCKING, LATE, OVERSIZED = FindingId.PAGE_RENDER_BLOCKING, FindingId.PAGE_LCP_LATE, FindingId.PAGE_IMAGE_OVERSIZED
CASES = {
    "a font that is preloaded and swapped": healthy(
        f"<link rel=preload as=font href=/f.woff2 crossorigin>{FACE}", f_woff2=FONT
    ),
    "a font that is swapped late": healthy(FACE, f_woff2=FONT),
    "fonts of which one is swapped, and the other may be nobody's": healthy(
        f"{FACE}<style>@font-face {{ font-family: G; src: url(/g.woff2) }} i {{ font-family: G }}</style>",
        f"{TEXT}<i>x</i>",
        f_woff2=FONT,
        g_woff2=FONT,
    ),
    "text that a script shows when its font has come": healthy(
        FACE.replace("; font-display: swap", "") + "<style>h1 { opacity: 0 }</style>",
        "<h1>Hi</h1><script>document.fonts.ready.then(() => document.querySelector('h1').style.opacity = 1)</script>",
        f_woff2=FONT,
    ),
    "text that styles of a script hide until its font has come": healthy(
        FACE.replace("; font-display: swap", ""),
        "<p style='font-family: serif'>x</p><h1>Hi</h1>"
        "<script>const s = new CSSStyleSheet(); s.replaceSync('h1 { visibility: hidden }');"
        "document.adoptedStyleSheets = [s]; document.fonts.ready.then(() => s.replaceSync('b { top: 0 }'))</script>",
        f_woff2=FONT,
    ),
    "text that a script takes a cloak from when its font has come": healthy(
        FACE.replace("; font-display: swap", "") + "<style>[cloak] { visibility: hidden }</style>",
        "<p style='font-family: serif'>x</p><main cloak><h1>Hi</h1></main><script>document.fonts.ready.then(() => "
        "document.querySelector('main').removeAttribute('cloak'))</script>",
        f_woff2=FONT,
    ),
    "text that a script unfolds when its font has come": healthy(
        FACE.replace("; font-display: swap", ""),
        "<p style='font-family: serif'>x</p><details><summary style='font-family: serif'>x</summary><h1>Hi</h1>"
        "</details><script>document.fonts.load('1em F').finally(() => document.querySelector('details').open = true)"
        "</script>",
        f_woff2=FONT,
    ),
    "text that a clock adds before its font has come": healthy(
        FACE.replace("; font-display: swap", ""),
        "<p>x</p><script>setTimeout(() => document.body.insertAdjacentHTML('beforeend', '<h1>A</h1>'), 150)</script>",
        f_woff2=FONT,
    ),
    "text whose font hides it, beside another that is swapped": faulty(
        FindingId.PAGE_TEXT_HIDDEN,
        "/f.woff2",
        head=f"{OTHER_FACE}{FACE.replace('; font-display: swap', '')}<style>i {{ font-family: 'My G' }}</style>",
        body="<i>x</i><h1>Hello</h1>",
        f_woff2=FONT,
        g_woff2=replace(FONT, think_s=0.0),
    ),
    "text that is shown in another font when it has waited for long": faulty(
        FindingId.PAGE_TEXT_HIDDEN,
        "/f.woff2",
        head=FACE.replace("; font-display: swap", ""),
        body="<p style='font-family: serif'>x</p><h1>Hello</h1>",
        f_woff2=replace(FONT, think_s=2.5),
    ),
    "text whose font hides it, by the words of another host": faulty(
        FindingId.PAGE_TEXT_HIDDEN,
        "/f.woff2",
        head=THEIR_FACE,
        body=FACED,
        f_woff2=FONT,
        faces_css=styles(body=FACES + b"@media all { h1 { color: #222 } }"),
    ),
    "text that a style sheet of another host may have hidden": healthy(
        THEIR_FACE,
        FACED,
        f_woff2=FONT,
        faces_css=styles(body=FACES + b"@media all { h1 { opacity: 0 } } h1 { opacity: 1 !important }"),
    ),
    "text that what a style sheet of another host imports may have hidden": healthy(
        THEIR_FACE, FACED, f_woff2=FONT, faces_css=styles(body=b"@import 'data:text/css,';" + FACES)
    ),
    "async, deferred and module scripts": healthy(
        "<script async src=/a.js></script><script defer src=/b.js></script><script type=module src=/c.js></script>",
        a_js=script(),
        b_js=script(),
        c_js=script(),
    ),
    "a script that a script adds": healthy(
        "<script>document.head.append(Object.assign(document.createElement('script'), { src: '/a.js' }))</script>",
        a_js=script(),
    ),
    "style sheets for another medium": healthy(
        "<link rel=stylesheet media='(min-width: 9000px)' href=/a.css><link rel=stylesheet media=print href=/b.css "
        "onload=\"this.media='all'\"><link rel=preload as=style href=/c.css onload=\"this.rel='stylesheet'\">",
        a_css=SHEET,
        b_css=SHEET,
        c_css=SHEET,
    ),
    "styles in the document": healthy("<style>p { color: #222 }</style>"),
    "a script at the end of the document": healthy(body=f"{TEXT}<script src=/a.js></script>", a_js=script()),
    "a style sheet in the middle of the document": healthy(
        body=f"{TEXT}<link rel=stylesheet href=/a.css><p>More</p>", a_css=SHEET
    ),
    "a slow picture that the document names": healthy(body=f"{TEXT}{SHOWN}", hero_png=HERO),
    "a slow picture of high priority": healthy(
        body=f"{TEXT}<img fetchpriority=high src=/hero.png width=600 height=400>", hero_png=HERO
    ),
    "a background that is preloaded": healthy(
        f"<link rel=preload as=image href=/hero.png>{BACKGROUND}", f"{TEXT}<div class=hero></div>", hero_png=HERO
    ),
    "the poster of a film": healthy(body=f"{TEXT}<video poster=/hero.png width=600 height=400></video>", hero_png=HERO),
    "a picture in the document itself": healthy(
        body=f"{TEXT}<img width=600 height=400 src=\"data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'/>\">"
    ),
    "a sprite of drawings": healthy(
        body=f"{TEXT}<svg><use href=/s.svg#a></use></svg>",
        s_svg=Slow(
            body=b"<svg xmlns='http://www.w3.org/2000/svg'><symbol id='a'/></svg>", kind="image/svg+xml", headers=KEPT
        ),
    ),
    "a lazy picture below the fold": healthy(
        body=f"{TEXT}<div style='height: 9000px'></div><img loading=lazy src=/hero.png>", hero_png=HERO
    ),
    "a frame whose styles are slow": healthy(
        body=f"{TEXT}<iframe src=/f.html></iframe>", f_html=html("<link rel=stylesheet href=/a.css>"), a_css=SHEET
    ),
    "styles within an element": healthy(
        ELEMENT % "<link rel=stylesheet href=/a.css>", f"{TEXT}<x-y></x-y>", a_css=SHEET
    ),
    "text that a script adds late": faulty(
        FindingId.PAGE_CLIENT_RENDERED,
        "/a.js",
        head="<script defer src=/a.js></script>",
        body="<h1>Hello</h1>",
        a_js=script("document.body.insertAdjacentHTML('beforeend', '<p>' + 'words '.repeat(200))"),
    ),
    "text that a script changes late": healthy(
        "<script defer src=/a.js></script>",
        "<h1>Hello and welcome to this page</h1>",
        a_js=script("document.querySelector('h1').append(', Ann')"),
    ),
    "small text that a script adds late": healthy(
        "<script defer src=/a.js></script>",
        f"<h1>Hello</h1><p>{'Words that stand there. ' * 40}</p>",
        a_js=script("document.body.insertAdjacentHTML('beforeend', '<p>a few words')"),
    ),
    "the next slide of a carousel": healthy(
        body=f"{TEXT}{SLIDES}",
        hero_png=Slow(body=picture(600, 400), kind="image/png", headers=KEPT),
        small_png=Slow(body=picture(60, 40), kind="image/png", headers=KEPT),
    ),
    "a picture that a frame shows large": healthy(
        body=f"{TEXT}{SMALL}<iframe width=900 height=600 src=/f.html></iframe>",
        f_html=html("", "<img src=/large.png width=880>"),
        large_png=LARGE,
    ),
    "a picture that is a background too": healthy(
        "<style>div { background: url(/large.png); width: 900px; height: 600px }</style>",
        f"{TEXT}{SMALL}<div></div>",
        large_png=LARGE,
    ),
    "a picture that an element shows large": healthy(
        ELEMENT % "<img src=/large.png>", f"{TEXT}{SMALL}<x-y></x-y>", large_png=LARGE
    ),
    "a picture with one pixel in two": healthy(body=f"{TEXT}<img src=/large.png width=450>", large_png=LARGE),
    "small files that nobody keeps": healthy(
        "<script async src=/a.js></script>", a_js=script(think_s=0.0, headers=NEVER_KEPT)
    ),
    "a part of a film that nobody keeps": healthy(
        body=f"{TEXT}<video src=/v.mp4 width=100></video>",
        v_mp4=Slow(
            body=b"\0" * 90_000,
            kind="video/mp4",
            status=206,
            headers=(*NEVER_KEPT, ("Content-Range", "bytes 0-89999/90000")),
        ),
    ),
    "a style sheet": faulty(BLOCKING, "/a.css", head="<link rel=stylesheet href=/a.css>", a_css=SHEET),
    "a script in the head": faulty(BLOCKING, "/a.js", head="<script src=/a.js></script>", a_js=script()),
    "a module that is told to block": faulty(
        BLOCKING, "/a.js", head="<script type=module blocking=render src=/a.js></script>", a_js=script()
    ),
    "a style sheet that another one imports": Case(
        head="<link rel=stylesheet href=/a.css>",
        body=TEXT,
        answers={"/a.css": styles(body=b"@import '/b.css'; p { color: #222 }", think_s=SLOW_S), "/b.css": SHEET},
        told={BLOCKING: {"/a.css", "/b.css"}, FindingId.PAGE_CSS_IMPORT: {"/b.css"}},
    ),
    "a script that is not there": faulty(
        BLOCKING, "/a.js", head="<script src=/a.js></script>", a_js=script("not here", status=404)
    ),
    "a picture that a script adds": faulty(
        LATE,
        "/hero.png",
        head="<script defer src=/a.js></script>",
        a_js=script("document.body.append(Object.assign(new Image(), { src: '/hero.png' }))"),
        hero_png=HERO,
    ),
    "a picture that data name": faulty(
        LATE,
        "/hero.png",
        head="<script>fetch('/d.json').then((answer) => answer.json()).then((url) => "
        "document.body.append(Object.assign(new Image(), { src: url })))</script>",
        d_json=Slow(body=b'"/hero.png"', kind="application/json", think_s=SLOW_S),
        hero_png=HERO,
    ),
    "a picture of nine times the size": faulty(OVERSIZED, "/large.png", body=f"{TEXT}{SMALL}", large_png=LARGE),
    "such a picture within an element": faulty(
        OVERSIZED, "/large.png", head=ELEMENT % SMALL, body=f"{TEXT}<x-y></x-y>", large_png=LARGE
    ),
    "a large script that nobody keeps": faulty(
        FindingId.PAGE_UNCACHED,
        "/a.js",
        head="<script async src=/a.js></script>",
        a_js=script(f"// {'x' * 200}\n" * 400, headers=NEVER_KEPT, compressed=False, kind="application/octet-stream"),
    ),
}


@pytest.mark.parametrize("name", CASES)
@undisturbed
def test_a_page_is_told_what_holds_it_up_and_nothing_else(load: Load, name: str) -> None:
    case = CASES[name]
    with slowly_serving({}) as site:
        site.answers = at_port({"/": html(case.head, case.body)} | dict(case.answers), site.port)
        page = measured(load(site.url()))
    paths = {row.number: row.url.removeprefix(site.url("")) for row in page.waterfall.requests}
    found = diagnose_page(page).findings
    assert {one.id: {paths[number] for number in one.rows} for one in found} == case.told
