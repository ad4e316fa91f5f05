"""Pages of the twins, and how they are loaded: files that come late, documents in pieces, what a script makes."""

from collections.abc import Mapping
from dataclasses import replace

from workers.measurement.messages import PageMeasurement
from workers.tests.browser.conftest import Load, measured
from workers.tests.browser.slow_site import Slow, slowly_serving

# What a busy machine adds to a paint.
JITTER_US = 40_000
# A busy machine only ever adds: the quickest load of each is compared, and more are made until they agree.
LOADS, ROUNDS = 2, 10
HEAD = "<!doctype html><title>Twin</title>"
TEXT = "<h1>Hello</h1><p>Words to be painted first.</p>"
KEPT = (("Cache-Control", "max-age=31536000"),)


def html(head: str, body: str = TEXT) -> Slow:
    return Slow(body=f"{HEAD}{head}<body>{body}".encode(), headers=(("Cache-Control", "no-cache"),))


def styles(**how: object) -> Slow:
    values: dict[str, object] = {"body": b"body { color: #222 }", "kind": "text/css", "headers": KEPT} | how
    return Slow(**values)  # type: ignore[arg-type]  # by name


SLOW_STYLES = styles(think_s=0.35)
SLOW_SCRIPT = Slow(body=b"window.ran = true", kind="text/javascript", think_s=0.35, headers=KEPT)
MAKES = b"document.getElementById('app').innerHTML = '<h1>Made</h1>'"
MAKING = replace(SLOW_SCRIPT, body=MAKES)
APPLICATION = {
    "/": html("<link rel=stylesheet href=/a.css><script src=/a.js defer></script>", "<div id=app></div>"),
    "/a.js": replace(MAKING, think_s=0.1),
}


def in_pieces(body: str) -> Slow:
    """The body comes with the second piece, 100 ms after the first."""
    return Slow(body=f"{HEAD}<body><!-- {'x' * 6_000} -->{body}".encode(), bytes_per_s=60_000)


def loaded(load: Load, answers: Mapping[str, Slow], handshake_s: float) -> list[PageMeasurement]:
    with slowly_serving({}, handshake_s=handshake_s) as site:
        site.answers = at_port(answers, site.port)
        return [measured(load(site.url())) for _ in range(LOADS)]


def at_port(answers: Mapping[str, Slow], port: int) -> dict[str, Slow]:
    """With the site's own port where their bodies say PORT."""
    number = str(port).encode()
    return {path: replace(answer, body=answer.body.replace(b"PORT", number)) for path, answer in answers.items()}
