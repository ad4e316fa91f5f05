"""Shapes that are about single requests: their methods, their answers, and how they end."""

from workers.tests.shapes.site import Reply, Shape, Trick, image, page, style

_OPEN_TO_ALL = (("Access-Control-Allow-Origin", "*"),)
_GIF = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="
_BLOB = "fetch('0.png').then(r => r.blob()).then(b => { new Image().src = URL.createObjectURL(b) })"
_COOKIES = tuple(("Set-Cookie", f"c{number}={'x' * 3500}") for number in range(8))
_GIVEN_UP = "const c = new AbortController(); fetch('never', { signal: c.signal }).catch(() => 0); setTimeout(() => c.abort(), 200)"
_ASKED_FIRST = "fetch('https://cdn.test/data', { headers: { 'X-Kind': 'shape' } })"
_NAMED = "const x = new XMLHttpRequest(); x.open('GET', 'secret', true, 'who', 'word'); x.send()"


def _scripted(text: str) -> Reply:
    return Reply(body=page(f"<script>{text}</script>"))


REQUESTS = {
    "data-and-blob": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": Reply(body=page(f"<img src={_GIF}><script>{_BLOB}</script>")),
            "https://two.test/0.png": image(),
        },
        rows="""
            document  https://two.test/       200 h2    1 opens   dns=30 connect=30 tls=30 send wait=30 download
            image     data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=   200 data  -         -                      by https://two.test/
            fetch     https://two.test/0.png  200 h2    1 reuses  send wait=30 download  by https://two.test/
            image     blob:https://two.test/  200 data  -         -
        """,
        connections="1  two.test:443  h2  2 requests",
    ),
    "preflight": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": _scripted(_ASKED_FIRST),
            "https://cdn.test/data": Reply(body=b"{}", kind="application/json", headers=_OPEN_TO_ALL),
        },
        rows="""
            document  https://two.test/      200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            fetch     https://cdn.test/data  200 h2  2 reuses  send wait=30 download  by https://two.test/
            other     https://cdn.test/data  204 h2  2 opens   dns=30 connect=30 tls=30 send wait=30 download  OPTIONS; by https://cdn.test/data; preflight
        """,
        connections="""
            1  two.test:443  h2  1 requests
            2  cdn.test:443  h2  2 requests
        """,
    ),
    "cancelled": Shape(
        url="https://two.test/",
        replies={"https://two.test/": _scripted(_GIVEN_UP), "https://two.test/never": Reply(after_ms=5000)},
        rows="""
            document  https://two.test/       200 h2       1 opens   dns=30 connect=30 tls=30 send wait=30 download
            fetch     https://two.test/never  ERR_ABORTED  1 reuses  send  by https://two.test/; cancelled
        """,
        connections="1  two.test:443  h2  2 requests",
    ),
    "streaming": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": _scripted("fetch('stream').then(r => r.text())"),
            "https://two.test/stream": Reply(
                kind="text/plain", pieces=((0, b"0"), (100, b"1"), (100, b"2"), (100, b"3"))
            ),
        },
        rows="""
            document  https://two.test/        200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            fetch     https://two.test/stream  200 h2  1 reuses  send wait=30 download=300  by https://two.test/
        """,
        connections="1  two.test:443  h2  2 requests",
    ),
    "event-stream": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": _scripted("new EventSource('events')"),
            "https://two.test/events": Reply(
                kind="text/event-stream", pieces=((0, b"data: 1\n\n"), (100, b"data: 2\n\n")), trick=Trick.STAY_OPEN
            ),
        },
        rows="""
            document  https://two.test/        200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            fetch     https://two.test/events  200 h2  1 reuses  send wait=30  by https://two.test/; open
        """,
        connections="1  two.test:443  h2  2 requests",
    ),
    "login-asked-for": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": _scripted("fetch('secret')"),
            "https://two.test/secret": Reply(body=b"{}", kind="application/json", trick=Trick.LOGIN),
        },
        rows="""
            document  https://two.test/        200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            fetch     https://two.test/secret  401 h2  1 reuses  send wait=30 download  by https://two.test/
        """,
        connections="1  two.test:443  h2  2 requests",
    ),
    "login-given": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": _scripted(_NAMED),
            "https://two.test/secret": Reply(body=b"{}", kind="application/json", trick=Trick.LOGIN, after_ms=60),
        },
        rows="""
            document  https://two.test/        200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            fetch     https://two.test/secret  200 h2  1 reuses  send wait=90 download  by https://two.test/; retried
        """,
        connections="1  two.test:443  h2  2 requests",
    ),
    "beacon": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": _scripted("onload = () => navigator.sendBeacon('beacon', 'word')"),
            "https://two.test/beacon": Reply(status=204),
        },
        rows="""
            document  https://two.test/        200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            other     https://two.test/beacon  204 h2  1 reuses  send wait=30 download  POST; by https://two.test/
        """,
        connections="1  two.test:443  h2  2 requests",
    ),
    "post": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": _scripted("fetch('form', { method: 'POST', body: new URLSearchParams({ a: 1 }) })"),
            "https://two.test/form": Reply(status=204, after_ms=50),
        },
        rows="""
            document  https://two.test/      200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            fetch     https://two.test/form  204 h2  1 reuses  send wait=80 download  POST; by https://two.test/
        """,
        connections="1  two.test:443  h2  2 requests",
    ),
    "media-in-ranges": Shape(
        url="https://one.test/",
        replies={
            "https://one.test/": Reply(body=page("<video preload=auto src=film.webm></video>")),
            "https://one.test/film.webm": Reply(
                body=bytes(3000), kind="video/webm", headers=(("Accept-Ranges", "bytes"),), trick=Trick.RANGES
            ),
        },
        rows="""
            document  https://one.test/           200 http/1.1  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            media     https://one.test/film.webm  206 http/1.1  1 reuses  send wait=30 download  by https://one.test/
        """,
        connections="1  one.test:443  http/1.1  2 requests",
    ),
    "no-content": Shape(
        url="https://one.test/",
        replies={"https://one.test/": _scripted("fetch('nothing')"), "https://one.test/nothing": Reply(status=204)},
        rows="""
            document  https://one.test/         200 http/1.1  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            fetch     https://one.test/nothing  204 http/1.1  1 reuses  send wait=30 download=0  by https://one.test/
        """,
        connections="1  one.test:443  http/1.1  2 requests",
    ),
    # Its head is more than a flight, takes the server its time to pack, and Chrome tells of it once it is whole.
    "large-cookies": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": Reply(body=page("<p>text", "<link rel=stylesheet href=a.css>"), headers=_COOKIES),
            "https://two.test/a.css": style(),
        },
        rows="""
            document    https://two.test/       200 h2  1 opens   dns=30 connect=30 tls=30 send wait download
            stylesheet  https://two.test/a.css  200 h2  1 reuses  send wait download  by https://two.test/
        """,
        connections="1  two.test:443  h2  2 requests",
    ),
    "same-address-twice": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": _scripted("fetch('data').then(() => fetch('data'))"),
            "https://two.test/data": Reply(
                body=b"{}", kind="application/json", headers=(("Cache-Control", "no-store"),)
            ),
        },
        rows="""
            document  https://two.test/      200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            fetch     https://two.test/data  200 h2  1 reuses  send wait=30 download  by https://two.test/
            fetch     https://two.test/data  200 h2  1 reuses  send wait=30 download  by https://two.test/
        """,
        connections="1  two.test:443  h2  3 requests",
    ),
}
