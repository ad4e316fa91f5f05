"""Steps before a view: what they leave is carried over, what they cannot do is told, and never what they type."""

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from workers.browser.pool import BrowserPool
from workers.browser.seen import PageRun
from workers.measurement.failure import Failure, FailureKind
from workers.measurement.page_options import Click, Key, PageOptions, PageState, Press, Step, TypeText, Visit, WaitFor
from workers.tests.browser.conftest import Load, browser_settings, failed, measured, page_request
from workers.tests.browser.sites import Answer, Site, serving
from workers.tests.ports import closed_port
from workers.tests.waiting import undisturbed

SECRET = "s3cret-s3cret"
FORM = """<form id=login action=/session method=get onsubmit="return login(this)">
<input id=user name=user><input id=password type=password name=password><select id=team><option value=a><option value=b>
</select><button id=go>Go</button></form><p class=twice>1<p class=twice>2<p id=hidden style="display:none">no
<script>function login(form) {
  document.cookie = "session=" + form.user.value + "-" + form.password.value.length + "; max-age=600";
  localStorage.team = form.team.value;
  indexedDB.open("app", 1).onupgradeneeded = event => event.target.result.createObjectStore("s").put("deep", "k");
  document.body.innerHTML = "<h1 id=hello>Hello</h1>";
  return false;
}</script>"""
TELL = """<script>document.title = document.cookie + "|" + localStorage.team;
indexedDB.open("app", 1).onsuccess = event => {
  const database = event.target.result;
  if (database.objectStoreNames.length) {
    const asked = database.transaction("s").objectStore("s").get("k");
    asked.onsuccess = () => document.title += "|" + asked.result;
  }
}</script><img src=/a.png>"""


def login(site: Site, *more: Step) -> tuple[Step, ...]:
    site.page("/login", FORM)
    return (
        Visit(url=site.url("/login")),
        TypeText(selector="#user", text="me"),
        TypeText(selector="#password", text=SECRET, secret=True),
        TypeText(selector="#team", text="b"),
        Click(selector="#go"),
        WaitFor(selector="#hello"),
        *more,
    )


@undisturbed
def test_a_view_behind_a_login_has_its_cookies_and_storage_and_is_cold_all_the_same(load: Load, site: Site) -> None:
    site.hits.clear()
    url = site.page("/", TELL)
    page = measured(load(url, page=PageOptions(steps=login(site), loads=2)))
    assert page.title == f"session=me-{len(SECRET)}|b|deep"
    assert len(site.seen("/login")) == 1
    assert len(site.seen("/")) == len(site.seen("/a.png")) == 2
    connection = next(one for one in page.waterfall.connections if one.requests)
    assert connection.connect is not None
    assert connection.resumed is False
    assert [sample.failure for sample in page.samples] == [None, None]


def test_a_form_without_a_button_is_sent_by_enter_and_what_that_begins_is_waited_for(load: Load, site: Site) -> None:
    site.page("/login", "<input id=user><form action=/in><input id=password type=password></form>")
    site.answers["/in"] = Answer(body=b"in", headers=(("Set-Cookie", "session=yes"),))
    steps = (
        Visit(url=site.url("/login")),
        TypeText(selector="#user", text="me"),
        Press(key=Key.TAB),
        Press(key=Key.ENTER),
    )
    measured(load(site.page("/", "<p>page"), page=PageOptions(steps=steps)))
    assert len(site.seen("/in?")) == 1
    assert [headers.get("cookie") for headers in site.seen("/")] == ["session=yes"]


@pytest.mark.parametrize("state", [PageState.WARM_CACHE, PageState.WARM_CONNECTION])
def test_a_repeat_view_behind_a_login_is_still_logged_in(load: Load, site: Site, state: PageState) -> None:
    page = measured(load(site.page("/", TELL), page=PageOptions(steps=login(site), repeat=state)))
    assert page.repeat is not None
    assert [headers.get("cookie") for headers in site.seen("/")] == [f"session=me-{len(SECRET)}"] * 2


def test_nothing_that_is_typed_is_told_anywhere(
    load: Load, site: Site, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = site.page("/", "<p>page")
    bad = Click(selector="#no-such")
    monkeypatch.setattr("workers.browser.steps.STEP_S", 1)
    with caplog.at_level(logging.DEBUG):
        good = load(url, page=PageOptions(steps=login(site)))
        wrong = load(url, page=PageOptions(steps=(*login(site)[:3], bad)))
        stuck = load(url, page=PageOptions(steps=(login(site)[0], TypeText(selector="#hidden", text=SECRET))))
    for run in (good, wrong, stuck):
        assert SECRET not in repr(run)
        assert SECRET.encode() not in b"".join(run.pictures.values())
    assert SECRET not in caplog.text


def fails(load: Load, site: Site, monkeypatch: pytest.MonkeyPatch, *script: Step, step_s: int = 1) -> Failure:
    """How the last step failed. Those before it are given longer where a busy machine cannot do them so soon."""
    url = site.page("/", "<p>page")
    for given_s in (step_s, 6 * step_s, 20 * step_s):
        monkeypatch.setattr("workers.browser.steps.STEP_S", given_s)
        outcome = failed(load(url, page=PageOptions(steps=script)))
        if f"step {len(script)}, " in outcome.failure.detail:
            break
    assert outcome.failure.kind is FailureKind.STEP_FAILED
    assert outcome.measurement is None
    assert site.seen("/") == []
    return replace(outcome.failure, detail=outcome.failure.detail.replace(f"within {given_s} s", f"within {step_s} s"))


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (Click(selector="#no"), "step 2, click #no: no such element within 1 s"),
        (Click(selector="#hidden"), "step 2, click #hidden: not visible within 1 s"),
        (Click(selector=".twice"), "step 2, click .twice: 2 elements are visible; say which one"),
        (Click(selector="]["), "step 2, click ][: this is no CSS selector"),
        (TypeText(selector="#no", text="x"), "step 2, type into #no: no such element within 1 s"),
        (TypeText(selector=".twice", text="x"), "step 2, type into .twice: 2 elements are visible; say which one"),
        (WaitFor(selector="#never"), "step 2, wait for #never: no such element within 1 s"),
    ],
)
def test_a_step_that_cannot_be_done_says_which_and_why(
    load: Load, site: Site, monkeypatch: pytest.MonkeyPatch, step: Step, reason: str
) -> None:
    visit = Visit(url=site.page("/login", FORM))
    assert fails(load, site, monkeypatch, visit, step).detail.endswith(reason)


def test_a_visit_that_fails_is_told_with_the_browsers_name_for_it(
    load: Load, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = f"https://localhost:{closed_port()}/?token=abc"
    reason = fails(load, site, monkeypatch, Visit(url=gone)).detail
    assert reason.endswith("ERR_CONNECTION_REFUSED")
    assert "abc" not in reason


def test_a_step_may_lead_nowhere_that_a_page_may_not(ca_file: Path, site: Site) -> None:
    inside = PageOptions(steps=(Visit(url="http://169.254.169.254/latest/"),))
    with serving({"/": Answer(body=b"inside")}, secure=False, address="127.0.0.2") as hidden:
        site.answers["/out"] = Answer(status=302, headers=(("Location", f"http://127.0.0.2:{hidden.port}/"),))
        led = PageOptions(steps=(Visit(url=site.url("/out")),))
        with BrowserPool(browser_settings(ca_file)) as pool:
            runs: list[PageRun] = [pool.load(page_request(site.page("/", "x"), page=page)) for page in (inside, led)]
    assert [failed(run).failure.kind for run in runs] == [FailureKind.BLOCKED_DESTINATION] * 2
    assert site.seen("/") == []


def test_a_secret_is_typed_on_no_page_that_a_click_led_elsewhere(
    load: Load, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.page("/login", FORM)
    there = site.url("/login", host="other.localhost")
    visit = Visit(url=site.page("/start", f"<a id=out href='{there}'>out</a>"))
    typed = TypeText(selector="#password", text=SECRET, secret=True)
    reason = fails(load, site, monkeypatch, visit, Click(selector="#out"), typed, step_s=20).detail
    assert len(site.seen("/login")) == 1
    assert f"step 3, type into #password: the page is of other.localhost:{site.port}; " in reason
    assert "a secret is typed only where a step visits its host" in reason
    assert SECRET not in reason


def test_dialogs_new_tabs_and_downloads_hold_nothing_up(load: Load, site: Site) -> None:
    site.answers["/file"] = Answer(body=b"x" * 1000, headers=(("Content-Disposition", "attachment"),))
    site.page("/tab", "<p>tab")
    start = """<button id=ask onclick="this.dataset.said = confirm('Sure?') || prompt('Who?')">ask</button>
<a id=tab href=/tab target=_blank>tab</a><a id=file href=/file>file</a><button id=leave
onclick="document.cookie = 'done=' + document.querySelector('#ask').dataset.said; location = '/end'">leave</button>
<script>addEventListener("beforeunload", event => event.preventDefault())</script>"""
    site.page("/end", "<p id=end>end")
    clicks = [Click(selector=f"#{name}") for name in ("ask", "tab", "file", "leave")]
    steps: tuple[Step, ...] = (Visit(url=site.page("/start", start)), *clicks, WaitFor(selector="#end"))
    measured(load(site.page("/", "<p>page"), page=PageOptions(steps=steps)))
    assert [headers.get("cookie") for headers in site.seen("/")] == ["done=null"]


def test_a_click_that_leads_to_another_page_is_followed_and_what_it_sets_is_carried_over(
    load: Load, site: Site
) -> None:
    form = (
        "<form action=/session><input id=user name=u><input id=password type=password name=p><button id=go>Go</button>"
    )
    to_account = (("Set-Cookie", "in=1; HttpOnly"), ("Location", "/account"))
    site.answers["/session"] = Answer(status=302, headers=to_account)
    site.page("/account", "<h1 id=hello>Hello")
    steps: tuple[Step, ...] = (
        Visit(url=site.page("/login", form)),
        TypeText(selector="#user", text="me"),
        TypeText(selector="#password", text=SECRET, secret=True),
        Click(selector="#go"),
        WaitFor(selector="#hello"),
    )
    run = load(site.page("/", "<p>page"), page=PageOptions(steps=steps))
    assert measured(run).waterfall.requests[0].url == site.url("/")
    assert [headers.get("cookie") for headers in site.seen("/")] == ["in=1"]
    assert [path for path, _ in site.hits if path.startswith("/session")] == [f"/session?u=me&p={SECRET}"]
    assert SECRET not in repr(run)


def test_a_page_that_never_ends_takes_a_step_no_longer_than_its_time(
    load: Load, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = "<p>busy<script>setInterval(() => fetch('/tick?' + Math.random()), 20)</script><p id=late>"
    visit = Visit(url=site.page("/endless", endless))
    assert fails(load, site, monkeypatch, visit, WaitFor(selector="#never")).detail.endswith("within 1 s")
    measured(load(site.page("/", "<p>page"), page=PageOptions(steps=(visit,))))


def test_pages_that_ask_without_end_stop_the_steps_before_they_fill_the_memory(
    ca_file: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.browser.steps.STEP_S", 60)
    site.answers["/head"] = Answer(headers=tuple((f"x-{number}", "y" * 4000) for number in range(50)))
    url = site.page("/", "<script type=module>for (;;) await fetch('/head?' + Math.random())</script>")
    steps = (Visit(url=url), WaitFor(selector="#never"))
    with BrowserPool(browser_settings(ca_file, max_page_bytes=5 * 2**20)) as pool:
        run = pool.load(page_request(url, page=PageOptions(steps=steps)))
        assert "the browser's log of all that the steps ask for is larger than 5 MB" in failed(run).failure.detail
        assert not run.pictures


def test_a_login_within_a_frame_is_done_like_any_other(load: Load, site: Site) -> None:
    form = f"{FORM}<script>document.querySelector('#password').onkeydown = event => parent.keys += event.key</script>"
    site.page("/login", form)
    visit = Visit(url=site.page("/start", "<script>keys = ''</script><iframe title=Ad></iframe><iframe src=/login>"))
    inside = "iframe[src*=login] >>> "
    steps: tuple[Step, ...] = (
        visit,
        TypeText(selector=f"{inside}#user", text="me"),
        TypeText(selector=f"{inside}#password", text=SECRET, secret=True),
        Press(key=Key.ENTER),
        WaitFor(selector=f"{inside}#hello"),
    )
    page = measured(load(site.page("/", TELL), page=PageOptions(steps=steps)))
    assert page.title == f"session=me-{len(SECRET)}|a|deep"


@pytest.mark.parametrize(
    ("selector", "reason"),
    [
        ("iframe.no >>> #user", "no frame iframe.no within 1 s"),
        ("iframe >>> #user", "2 frames are iframe; say which one"),
        ("iframe[src] >>> #no", "no such element within 1 s"),
    ],
)
def test_a_frame_that_cannot_be_found_is_told_apart_from_what_it_lacks(
    load: Load, site: Site, monkeypatch: pytest.MonkeyPatch, selector: str, reason: str
) -> None:
    site.page("/login", FORM)
    visit = Visit(url=site.page("/start", "<iframe title=Ad></iframe><iframe src=/login>"))
    assert fails(load, site, monkeypatch, visit, Click(selector=selector)).detail.endswith(f": {reason}")


def test_a_secret_is_typed_into_no_frame_of_a_stranger(load: Load, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.page("/login", FORM)
    frame = site.url("/login", host="other.localhost")
    visit = Visit(url=site.page("/start", f"<iframe src={frame}>"))
    typed = TypeText(selector="iframe >>> #password", text=SECRET, secret=True)
    reason = fails(load, site, monkeypatch, visit, typed, step_s=20).detail
    assert f"the page is of other.localhost:{site.port}; a secret is typed only where a step visits" in reason


def test_a_click_that_asks_for_another_tab_is_told_where_the_script_stops_for_it(
    load: Load, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = (
        "<a id=out href='/in?token=abc' target=_blank>in</a><button id=pop onclick='window.open(`/pop`)'>pop</button>"
    )
    visit = Visit(url=site.page("/start", start))
    waits = fails(load, site, monkeypatch, visit, Click(selector="#out"), WaitFor(selector="#account")).detail
    asked = "step 2, click #out asked for another tab, "
    assert asked in waits
    assert "but steps are done in one: visit its address instead; step 3, wait for #account: no such element" in waits
    assert "abc" not in waits
    last = fails(load, site, monkeypatch, visit, Click(selector="#pop")).detail
    assert last.endswith(
        f"step 2, click #pop asked for another tab, {site.url('/pop')}, but steps are done in one:"
        " visit its address instead"
    )
