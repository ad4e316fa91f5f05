"""Shapes that are about connections: how many are opened, who pays for them, who shares them."""

from workers.measurement.page_options import Protocol
from workers.tests.shapes.site import Reply, Shape, Trick, image, page, script, style

_CLOSE = (("Connection", "close"),)
_ALT_SVC = (("Alt-Svc", 'h3=":443"; ma=600'),)
# Chromium believes QUIC only of authorities that everybody knows, or of names that it is told to: on a port that is
# never used this is all that the switch does.
_QUIC_MAY_BE = "--origin-to-force-quic-on=three.test:9"


def _pictures(count: int, place: str = "") -> bytes:
    return page("".join(f"<img src={place}{number}.png>" for number in range(count)))


CONNECTIONS = {
    "plain-h1": Shape(
        url="https://one.test/",
        replies={
            "https://one.test/": Reply(body=page("<p>text", "<link rel=stylesheet href=a.css>")),
            "https://one.test/a.css": style(after_ms=40),
        },
        rows="""
            document    https://one.test/       200 http/1.1  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            stylesheet  https://one.test/a.css  200 http/1.1  1 reuses  send wait=70 download  by https://one.test/
        """,
        connections="1  one.test:443  http/1.1  2 requests",
    ),
    "clear-h1": Shape(
        url="http://one.test/",
        replies={
            "http://one.test/": Reply(body=page("<script src=a.js></script>")),
            "http://one.test/a.js": script(),
        },
        rows="""
            document  http://one.test/      200 http/1.1  1 opens   dns=30 connect=30 send wait=30 download
            script    http://one.test/a.js  200 http/1.1  1 reuses  send wait=30 download  by http://one.test/
        """,
        connections="1  one.test:80  http/1.1  2 requests",
    ),
    "six-h1": Shape(
        url="https://one.test/",
        replies={
            "https://one.test/": Reply(
                body=page("".join(f"<script async src={number}.js></script>" for number in range(8)))
            ),
            **{f"https://one.test/{number}.js": script(after_ms=200) for number in range(8)},
        },
        rows="""
            document  https://one.test/       200 http/1.1  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            script    https://one.test/0.js   200 http/1.1  1 reuses  send wait=230 download  by https://one.test/
            script    https://one.test/1.js   200 http/1.1  2 opens   connect=30 tls=30 send wait=230 download  by https://one.test/; resumed
            script    https://one.test/2.js   200 http/1.1  3 opens   connect=30 tls=30 send wait=230 download  by https://one.test/; resumed
            script    https://one.test/3.js   200 http/1.1  4 opens   connect=30 tls=30 send wait=230 download  by https://one.test/
            script    https://one.test/4.js   200 http/1.1  5 opens   connect=30 tls=30 send wait=230 download  by https://one.test/
            script    https://one.test/5.js   200 http/1.1  6 opens   connect=30 tls=30 send wait=230 download  by https://one.test/
            script    https://one.test/6.js   200 http/1.1  1 reuses  send wait=230 download  by https://one.test/
            script    https://one.test/7.js   200 http/1.1  2 reuses  send wait=230 download  by https://one.test/
        """,
        connections="""
            1  one.test:443  http/1.1  3 requests
            2  one.test:443  http/1.1  2 requests  resumed
            3  one.test:443  http/1.1  1 requests  resumed
            4  one.test:443  http/1.1  1 requests
            5  one.test:443  http/1.1  1 requests
            6  one.test:443  http/1.1  1 requests
        """,
    ),
    "closed-each-time-h1": Shape(
        url="https://one.test/",
        replies={
            "https://one.test/": Reply(body=page("<script src=a.js></script>"), trick=Trick.CLOSE, headers=_CLOSE),
            "https://one.test/a.js": script(
                "document.write('<script src=b.js></' + 'script>')", trick=Trick.CLOSE, headers=_CLOSE
            ),
            "https://one.test/b.js": script(trick=Trick.CLOSE, headers=_CLOSE),
        },
        rows="""
            document  https://one.test/      200 http/1.1  1 opens  dns=30 connect=30 tls=30 send wait=30 download
            script    https://one.test/a.js  200 http/1.1  2 opens  connect=30 tls=30 send wait=30 download  by https://one.test/; resumed
            script    https://one.test/b.js  200 http/1.1  3 opens  connect=30 tls=30 send wait=30 download  by https://one.test/a.js; resumed
        """,
        connections="""
            1  one.test:443  http/1.1  1 requests
            2  one.test:443  http/1.1  1 requests  resumed
            3  one.test:443  http/1.1  1 requests  resumed
        """,
    ),
    "one-connection-h2": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": Reply(body=_pictures(7)),
            **{f"https://two.test/{number}.png": image(after_ms=50 * number) for number in range(7)},
        },
        rows="""
            document  https://two.test/       200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            image     https://two.test/0.png  200 h2  1 reuses  send wait=30 download   by https://two.test/
            image     https://two.test/1.png  200 h2  1 reuses  send wait=80 download   by https://two.test/
            image     https://two.test/2.png  200 h2  1 reuses  send wait=130 download  by https://two.test/
            image     https://two.test/3.png  200 h2  1 reuses  send wait=180 download  by https://two.test/
            image     https://two.test/4.png  200 h2  1 reuses  send wait=230 download  by https://two.test/
            image     https://two.test/5.png  200 h2  1 reuses  send wait=280 download  by https://two.test/
            image     https://two.test/6.png  200 h2  1 reuses  send wait=330 download  by https://two.test/
        """,
        connections="1  two.test:443  h2  8 requests",
    ),
    "coalesced-h2": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": Reply(body=_pictures(2, "https://img.two.test/")),
            "https://img.two.test/0.png": image(),
            "https://img.two.test/1.png": image(after_ms=60),
        },
        rows="""
            document  https://two.test/           200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            image     https://img.two.test/0.png  200 h2  1 reuses  dns=30 send wait=30 download  by https://two.test/; coalesced
            image     https://img.two.test/1.png  200 h2  1 reuses  send wait=90 download         by https://two.test/; coalesced
        """,
        connections="1  two.test:443  h2  3 requests",
    ),
    "not-coalesced-h2": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": Reply(body=_pictures(2, "https://cdn.test/")),
            "https://cdn.test/0.png": image(),
            "https://cdn.test/1.png": image(),
        },
        rows="""
            document  https://two.test/       200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            image     https://cdn.test/0.png  200 h2  2 opens   dns=30 connect=30 tls=30 send wait=30 download  by https://two.test/
            image     https://cdn.test/1.png  200 h2  2 reuses  send wait=30 download  by https://two.test/
        """,
        connections="""
            1  two.test:443  h2  1 requests
            2  cdn.test:443  h2  2 requests
            3  cdn.test:443  h2  0 requests  preconnected
        """,
    ),
    "forced-h3": Shape(
        url="https://three.test/",
        replies={
            "https://three.test/": Reply(body=_pictures(2)),
            "https://three.test/0.png": image(),
            "https://three.test/1.png": image(after_ms=60),
        },
        rows="""
            document  https://three.test/       200 h3  1 opens   dns=30 tls=30 send wait=30 download
            image     https://three.test/0.png  200 h3  1 reuses  send wait=30 download  by https://three.test/
            image     https://three.test/1.png  200 h3  1 reuses  send wait=90 download  by https://three.test/
        """,
        connections="1  three.test:443  h3  3 requests",
        protocol=Protocol.H3,
    ),
    "alt-svc-h3": Shape(
        url="https://three.test/",
        replies={
            "https://three.test/": Reply(
                body=page("<script>setTimeout(() => { new Image().src = '0.png' }, 300)</script><img src=slow.png>"),
                headers=_ALT_SVC,
            ),
            "https://three.test/0.png": image(),
            "https://three.test/slow.png": image(after_ms=800),
        },
        rows="""
            document  https://three.test/          200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            image     https://three.test/slow.png  200 h2  1 reuses  send wait=830 download  by https://three.test/
            image     https://three.test/0.png     200 h3  2 opens   tls=30 send wait=30 download  by https://three.test/; preconnected
        """,
        connections="""
            1  three.test:443  h2  2 requests
            2  three.test:443  h3  1 requests  preconnected
        """,
        switches=(_QUIC_MAY_BE,),
    ),
    "resumed-h1": Shape(
        url="https://also.test/",
        replies={
            "https://also.test/": Reply(body=_pictures(2)),
            "https://also.test/0.png": image(after_ms=150),
            "https://also.test/1.png": image(after_ms=150),
        },
        rows="""
            document  https://also.test/       200 http/1.1  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            image     https://also.test/0.png  200 http/1.1  1 reuses  send wait=180 download  by https://also.test/
            image     https://also.test/1.png  200 http/1.1  2 opens   connect=30 tls=30 send wait=180 download  by https://also.test/; resumed
        """,
        connections="""
            1  also.test:443  http/1.1  2 requests
            2  also.test:443  http/1.1  1 requests  resumed
        """,
    ),
    "font-of-its-own-connection": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": Reply(
                body=page("<p>text<img src=https://cdn.test/0.png>", "<link rel=stylesheet href=a.css>")
            ),
            "https://two.test/a.css": style(
                "@font-face { font-family: f; src: url(https://cdn.test/f.woff2) } p { font-family: f }"
            ),
            "https://cdn.test/0.png": image(),
            "https://cdn.test/f.woff2": Reply(
                body=b"no font", kind="font/woff2", headers=(("Access-Control-Allow-Origin", "*"),)
            ),
        },
        rows="""
            document    https://two.test/          200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            stylesheet  https://two.test/a.css     200 h2  1 reuses  send wait=30 download  by https://two.test/
            image       https://cdn.test/0.png     200 h2  2 opens   dns=30 connect=30 tls=30 send wait=30 download  by https://two.test/
            font        https://cdn.test/f.woff2   200 h2  3 opens   connect=30 tls=30 send wait=30 download  by https://two.test/a.css
        """,
        connections="""
            1  two.test:443  h2  2 requests
            2  cdn.test:443  h2  1 requests
            3  cdn.test:443  h2  1 requests
        """,
    ),
    "websocket": Shape(
        url="https://one.test/",
        replies={
            "https://one.test/": Reply(body=page("<script>new WebSocket('wss://one.test/talk')</script>")),
            "https://one.test/talk": Reply(trick=Trick.SOCKET),
        },
        rows="""
            document   https://one.test/    200 http/1.1  1 opens  dns=30 connect=30 tls=30 send wait=30 download
            websocket  wss://one.test/talk  101 http/1.1  2 opens  connect=30 tls=30 send wait=30  by https://one.test/; resumed; open
        """,
        connections="""
            1  one.test:443  http/1.1  1 requests
            2  one.test:443  http/1.1  1 requests  resumed
        """,
    ),
    "websocket-refused": Shape(
        url="https://one.test/",
        replies={
            "https://one.test/": Reply(body=page("<script>new WebSocket('wss://one.test/talk')</script>")),
            "https://one.test/talk": Reply(status=403, body=b"no", kind="text/plain"),
        },
        rows="""
            document   https://one.test/    200 http/1.1  1 opens  dns=30 connect=30 tls=30 send wait=30 download
            websocket  wss://one.test/talk  ERR_INVALID_RESPONSE 403  2 opens  connect=30 tls=30 send wait=30  by https://one.test/; resumed
        """,
        connections="""
            1  one.test:443  http/1.1  1 requests
            2  one.test:443  http/1.1  1 requests  resumed
        """,
    ),
}
