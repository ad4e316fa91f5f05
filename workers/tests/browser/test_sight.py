"""What is seen of the screen, the main thread and the console, of pages that do known things at known instants."""

import io
import threading
from statistics import median

import pytest
from PIL import Image

from workers.browser import capture
from workers.browser.sight import MAX_FILM_BYTES
from workers.measurement.connection import Header
from workers.measurement.messages import PageMeasurement
from workers.measurement.page_view import MAX_CONSOLE_MESSAGES, MAX_FRAMES, ConsoleLevel
from workers.measurement.routes import PictureKind
from workers.tests.browser.conftest import DONE, HELD, Load, Shown, cut_off, measured
from workers.tests.browser.sites import Answer, Site
from workers.tests.waiting import undisturbed

# The screen is black, then red, then green …, half a step each. What is told is the frame before which it was drawn.
COLOURS = f"""<body style="margin:0"><div id=a style="height:100vh"></div>{HELD}<script>
const colours = ["#000", "#f00", "#0f0", "#00f", "#ff0", "#0ff"];
function next() {{
  if (!colours.length) {{ {DONE}; return; }}
  const colour = colours.shift();
  requestAnimationFrame(() => {{ a.style.background = colour; console.error(colour); setTimeout(next, 150); }});
}}
requestAnimationFrame(() => setTimeout(next, 100));
</script>"""
# After the first paint 300 ms of script, then 200 ms of layouts that a script forces.
WORK = f"""<p id=p>Text</p>{HELD}<script>
function script(until) {{ let n = 0; while (performance.now() < until) n++; }}
function layouts(until) {{
  p.innerHTML = "<span>word </span>".repeat(3000);
  while (performance.now() < until) {{ p.style.width = 100 + Math.random() * 500 + "px"; p.offsetHeight; }}
}}
new PerformanceObserver(() => {{
  setTimeout(() => script(performance.now() + 300), 100);
  setTimeout(() => layouts(performance.now() + 200), 700);
  setTimeout(() => {DONE}, 1200);
}}).observe({{ type: "paint", buffered: true }});
</script>"""
# Six shifts of what stands below, then a task of 300 ms.
SHIFTING = f"""<div id=d></div><p>Text</p>{HELD}<script>
let left = 6;
function shift() {{ d.style.height = (7 - left) * 40 + "px"; setTimeout(--left ? shift : busy, 60); }}
function busy() {{ const end = performance.now() + 300; while (performance.now() < end); {DONE}; }}
setTimeout(shift, 300);
</script>"""
# A render of 800 ms with what the page fetched last.
HYDRATED = """<p id=p>Text</p><script>
fetch("/data.json").then((answer) => answer.json()).then(() => {
  const end = performance.now() + 800;
  while (performance.now() < end);
  p.outerHTML = "<h1 style='background: red'>Much more of a text than there was</h1>";
});
</script>"""
# Every frame is another noise, for a second and a half of a machine that has nothing else to do.
NOISE = f"""<canvas id=c width=1350 height=940></canvas>{HELD}<script>
const pen = c.getContext("2d");
let frames = 0;
function draw() {{
  for (let n = 0; n < 400; n++) {{
    pen.fillStyle = `hsl(${{Math.random() * 360}} 90% 50%)`;
    pen.fillRect(Math.random() * 1350, Math.random() * 940, 90, 90);
  }}
  if (frames++ < 100) requestAnimationFrame(draw); else {DONE};
}}
draw();
</script>"""


@undisturbed
def test_each_frame_stands_where_the_page_changed(shown: Shown) -> None:
    run = shown(COLOURS)
    page = measured(run)
    assert page.film is not None
    changes = [message.at_us for message in page.console if message.at_us is not None]
    frames = page.film.frames[1:]
    assert len(frames) == len(changes) == 6
    late_us = [frame.at_us - change_us for frame, change_us in zip(frames, changes, strict=True)]
    # A frame is shown at the next refresh of the screen, 17 ms later at most, of a machine that has nothing else to do.
    assert min(late_us) > -17_000
    assert median(late_us) < 50_000
    vitals = page.vitals
    assert (vitals.start_render_us, vitals.visually_complete_us) == (frames[0].at_us, frames[-1].at_us)
    assert vitals.speed_index_us is not None
    assert frames[0].at_us < vitals.speed_index_us <= frames[-1].at_us


@undisturbed
def test_a_film_is_one_picture_of_its_frames_in_their_order(shown: Shown) -> None:
    run = shown(COLOURS)
    film = measured(run).film
    assert film is not None
    sprite = Image.open(io.BytesIO(run.pictures[PictureKind.FILM]))
    assert sprite.size == (film.width * 7, film.height)
    middle = [sprite.getpixel((film.width * number + film.width // 2, film.height // 2)) for number in range(7)]
    bright = [tuple(part > 127 for part in colour) for colour in middle if isinstance(colour, tuple)]
    assert bright == [
        (True, True, True),
        (False, False, False),
        (True, False, False),
        (False, True, False),
        (False, False, True),
        (True, True, False),
        (False, True, True),
    ]


@undisturbed
def test_script_and_layout_are_told_apart_and_block(shown: Shown) -> None:
    page = measured(shown(WORK))
    cpu, tasks = page.vitals.cpu, page.vitals.long_tasks
    assert cpu is not None
    assert tasks is not None
    assert page.vitals.tbt_us is not None
    assert 295_000 <= cpu.script_us <= 450_000
    assert cpu.layout_us + cpu.style_us >= 80_000
    assert cpu.script_us + cpu.layout_us + cpu.style_us >= 400_000
    assert sum(task.end_us - task.start_us >= 199_000 for task in tasks) >= 2
    assert page.vitals.tbt_us >= 250_000 + 150_000 - 2_000
    assert page.activity is not None
    # The script took a whole step at least, wherever it began.
    assert max(page.activity.script_us) > 0.9 * page.activity.step_us
    assert sum(page.activity.received_bytes) > 0
    assert sum(page.activity.cpu_us) > 200_000
    assert page.vitals.dom_interactive_us is not None


@undisturbed
def test_a_page_that_never_stands_still_gives_a_film_within_its_bounds(shown: Shown) -> None:
    run = shown(NOISE)
    film = measured(run).film
    assert film is not None
    assert 10 < len(film.frames) <= MAX_FRAMES
    assert len(run.pictures[PictureKind.FILM]) <= MAX_FILM_BYTES


def test_the_console_is_told_without_secrets_and_within_bounds(shown: Shown) -> None:
    body = (
        f"{HELD}<script>console.error('sent', 's3cr3t-value'); console.warn('careful'); console.log('nothing');"
        "function flood() { for (let n = 0; n < 200; n++) console.error('x'.repeat(10000)); fetch('/done'); }"
        "null.x;</script>"
        '<img src="/missing.png" onerror="setTimeout(flood, 50)">'
    )
    console = measured(shown(body, headers=(Header(name="X-Key", value="s3cr3t-value"),))).console
    texts = [message.text for message in console]
    # The picture is asked for ahead of the script: its 404 may come at any place.
    said = [message for message in console if "404" not in message.text]
    assert said[0].text == "sent (redacted)"
    assert (said[1].text, said[1].level) == ("careful", ConsoleLevel.WARNING)
    assert any(text.startswith("Uncaught TypeError") for text in texts)
    assert any("404" in text for text in texts)
    assert "nothing" not in texts
    assert len(console) == MAX_CONSOLE_MESSAGES


def test_a_page_that_does_nothing_blocks_nothing(load: Load, site: Site) -> None:
    page = measured(load(site.page("/", "<p>Quiet</p>")))
    assert page.vitals.long_tasks is not None
    assert page.console == ()
    assert page.vitals.start_render_us is not None
    assert page.vitals.fcp_us is not None


def test_a_page_whose_script_shows_nothing_is_said_to_have_stayed_empty(load: Load, site: Site) -> None:
    empty = measured(load(site.page("/app", "<div id=root></div><script>root.innerHTML = missing()</script>")))
    assert [warning for warning in empty.warnings if "stayed empty" in warning]
    shown = measured(load(site.page("/page", "<div style='height: 300px; background: navy'></div>")))
    assert not [warning for warning in shown.warnings if "stayed empty" in warning]


def test_whether_a_script_made_the_largest_text_is_told(load: Load, site: Site) -> None:
    adds = (
        "<p>Wait</p><h1 id=h></h1><script>h.textContent = 'A text that nobody sent'</script><script src=/a.js></script>"
    )
    stands = "<h1>A text that was sent</h1><script src=/a.js></script>"
    assert measured(load(site.page("/app", adds))).text_made is True
    assert measured(load(site.page("/page", stands))).text_made is False
    assert measured(load(site.page("/picture", "<img src=/picture.png width=300 height=200>"))).text_made is None


def test_a_page_that_shifts_more_often_than_is_told_still_tells_of_its_tasks(
    shown: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = capture._INJECTION.replace("LIMIT = 2000", "LIMIT = 3")
    assert few != capture._INJECTION
    monkeypatch.setattr(capture, "_INJECTION", few)
    page = measured(shown(SHIFTING))
    assert len(page.vitals.shifts) == 2
    assert (page.vitals.tbt_us or 0) >= 250_000


@undisturbed
def test_what_the_last_answer_sets_off_blocks_and_is_seen(load: Load, site: Site) -> None:
    """The task ends when the network has long been quiet."""
    site.answers["/data.json"] = Answer(body=b"{}", kind="application/json")
    page = measured(load(site.page("/", HYDRATED)))
    assert page.vitals.long_tasks is not None
    task = max(page.vitals.long_tasks, key=lambda one: one.duration_us)
    # What is there already may be drawn for the first time while it begins: TBT counts from then on.
    counted_us = task.end_us - max(task.start_us, page.vitals.fcp_us or 0)
    assert (page.vitals.tbt_us or 0) >= counted_us - 50_000
    assert task.duration_us >= 800_000
    assert page.vitals.cpu is not None
    assert page.vitals.cpu.script_us + page.vitals.cpu.other_us >= 800_000
    assert page.vitals.lcp_us is not None
    assert page.vitals.visually_complete_us is not None
    assert min(page.vitals.lcp_us, page.vitals.visually_complete_us) > task.start_us + 700_000


def test_nobody_knows_the_tasks_of_a_page_that_never_came_to_the_end_of_one(load: Load, site: Site) -> None:
    url = site.page("/", "<script>while (true);</script>")
    outcome = cut_off(load, url, lambda page: any("did not answer" in told for told in page.warnings), first_s=1.0)
    page = outcome.measurement
    assert isinstance(page, PageMeasurement)
    assert (page.vitals.long_tasks, page.vitals.tbt_us) == (None, None)
    assert any("did not answer" in warning for warning in page.warnings)


def test_a_server_that_never_answers_says_nothing_of_the_main_thread(load: Load, site: Site) -> None:
    over = threading.Event()
    site.answers["/silent"] = Answer(wait_for=over)
    page = load(site.url("/silent"), timeout_us=1_000_000).outcome.measurement
    over.set()
    assert isinstance(page, PageMeasurement)
    assert not any("main thread" in warning for warning in page.warnings)
