"""Shapes in which the browser asks once more for what it was refused, or waits for what another overtakes it on."""

from workers.tests.shapes.site import Reply, Shape, Trick, image, page

_PICTURE = Reply(body=page("<img src=0.png>"))
_SOON = "<script>setTimeout(() => fetch('https://cdn.test/1.json', { mode: 'no-cors', credentials: 'include' }), 50)</script>"
_FOR_HINTS = (
    ("Accept-CH", "Sec-CH-Viewport-Width"),
    ("Critical-CH", "Sec-CH-Viewport-Width"),
    ("Vary", "Sec-CH-Viewport-Width"),
)


def _first(**answer: object) -> Reply:
    return image(first=Reply(**answer))  # type: ignore[arg-type]


RETRIES = {
    "overtaken-while-connecting": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": Reply(body=page(f"<img src=https://cdn.test/0.png>{_SOON}")),
            "https://cdn.test/0.png": image(),
            "https://cdn.test/1.json": Reply(body=b"{}", kind="application/json"),
        },
        rows="""
            document  https://two.test/        200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            image     https://cdn.test/0.png   200 h2  2 opens   dns=30 connect=30 tls=30 send wait=30 download  by https://two.test/
            fetch     https://cdn.test/1.json  200 h2  2 reuses  send wait=30 download  by https://two.test/
        """,
        connections="""
            1  two.test:443  h2  1 requests
            2  cdn.test:443  h2  2 requests
            3  cdn.test:443  0 requests  preconnected
        """,
    ),
    "asked-again-for-hints": Shape(
        url="https://two.test/",
        replies={"https://two.test/": Reply(body=page("<p>page</p>"), headers=_FOR_HINTS)},
        rows="""
            document  https://two.test/  200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download  to https://two.test/
            document  https://two.test/  200 h2  1 reuses  send wait=30 download
        """,
        connections="1  two.test:443  h2  2 requests",
    ),
    "misdirected": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": Reply(body=page("<img src=https://img.two.test/0.png>")),
            "https://img.two.test/0.png": _first(status=421, body=b"elsewhere", kind="text/plain"),
        },
        rows="""
            document  https://two.test/           200 h2  1 opens  dns=30 connect=30 tls=30 send wait=30 download
            image     https://img.two.test/0.png  200 h2  2 opens  connect=30 tls=30 send wait=30 download  by https://two.test/; retried
        """,
        connections="""
            1  two.test:443      h2  1 requests
            2  img.two.test:443  h2  1 requests
        """,
    ),
    "connection-given-up": Shape(
        url="https://two.test/",
        replies={"https://two.test/": _PICTURE, "https://two.test/0.png": _first(trick=Trick.GO_AWAY)},
        rows="""
            document  https://two.test/       200 h2  1 opens  dns=30 connect=30 tls=30 send wait=30 download
            image     https://two.test/0.png  200 h2  2 opens  connect=30 tls=30 send wait=30 download  by https://two.test/; resumed; retried
        """,
        connections="""
            1  two.test:443  h2  1 requests
            2  two.test:443  h2  1 requests  resumed
        """,
    ),
    "stream-refused": Shape(
        url="https://two.test/",
        replies={"https://two.test/": _PICTURE, "https://two.test/0.png": _first(trick=Trick.REFUSE)},
        rows="""
            document  https://two.test/       200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            image     https://two.test/0.png  200 h2  1 reuses  send wait=30 download  by https://two.test/; retried
        """,
        connections="1  two.test:443  h2  2 requests",
    ),
    "closed-when-asked-again": Shape(
        url="https://one.test/",
        replies={"https://one.test/": _PICTURE, "https://one.test/0.png": _first(trick=Trick.HANG_UP)},
        rows="""
            document  https://one.test/       200 http/1.1  1 opens  dns=30 connect=30 tls=30 send wait=30 download
            image     https://one.test/0.png  200 http/1.1  2 opens  connect=30 tls=30 send wait=30 download  by https://one.test/; resumed; retried
        """,
        connections="""
            1  one.test:443  http/1.1  1 requests
            2  one.test:443  http/1.1  1 requests  resumed
        """,
    ),
    "timed-out-when-asked-again": Shape(
        url="https://one.test/",
        replies={
            "https://one.test/": _PICTURE,
            "https://one.test/0.png": _first(status=408, headers=(("Connection", "close"),), trick=Trick.CLOSE),
        },
        rows="""
            document  https://one.test/       200 http/1.1  1 opens  dns=30 connect=30 tls=30 send wait=30 download
            image     https://one.test/0.png  200 http/1.1  2 opens  connect=30 tls=30 send wait=30 download  by https://one.test/; resumed; retried
        """,
        connections="""
            1  one.test:443  http/1.1  1 requests
            2  one.test:443  http/1.1  1 requests  resumed
        """,
    ),
}
