"""Shapes that are about the way to a document: redirects, failures, and servers that take their time."""

from workers.tests.shapes.site import Reply, Shape, Trick, image, moved, page, script, style

_SLOWLY = tuple((100, b"<p>piece</p>") for _ in range(3))

WAYS = {
    "redirect-chain": Shape(
        url="https://one.test/",
        replies={
            "https://one.test/": moved("/b", status=301),
            "https://one.test/b": moved("/c", after_ms=50),
            "https://one.test/c": Reply(body=page("<p>end")),
        },
        rows="""
            document  https://one.test/   301 http/1.1  1 opens   dns=30 connect=30 tls=30 send wait=30 download  to https://one.test/b
            document  https://one.test/b  302 http/1.1  1 reuses  send wait=80 download  to https://one.test/c
            document  https://one.test/c  200 http/1.1  1 reuses  send wait=30 download
        """,
        connections="1  one.test:443  http/1.1  3 requests",
    ),
    "redirect-to-another-host": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": moved("https://cdn.test/"),
            "https://cdn.test/": Reply(body=page("<p>end")),
        },
        rows="""
            document  https://two.test/  302 h2  1 opens  dns=30 connect=30 tls=30 send wait=30 download  to https://cdn.test/
            document  https://cdn.test/  200 h2  2 opens  dns=30 connect=30 tls=30 send wait=30 download
        """,
        connections="""
            1  two.test:443  h2  1 requests
            2  cdn.test:443  h2  1 requests
        """,
    ),
    "http-to-https": Shape(
        url="http://two.test/",
        replies={
            "http://two.test/": moved("https://two.test/", status=301),
            "https://two.test/": Reply(body=page("<p>end")),
        },
        rows="""
            document  http://two.test/   301 http/1.1  1 opens  dns=30 connect=30 send wait=30 download  to https://two.test/
            document  https://two.test/  200 h2        2 opens  dns=30 connect=30 tls=30 send wait=30 download
        """,
        connections="""
            1  two.test:80   http/1.1  1 requests
            2  two.test:443  h2  1 requests
        """,
    ),
    "redirected-image": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": Reply(body=page("<img src=go>")),
            "https://two.test/go": moved("https://cdn.test/0.png"),
            "https://cdn.test/0.png": image(),
        },
        rows="""
            document  https://two.test/       200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            image     https://two.test/go     302 h2  1 reuses  send wait=30 download  by https://two.test/; to https://cdn.test/0.png
            image     https://cdn.test/0.png  200 h2  2 opens   dns=30 connect=30 tls=30 send wait=30 download  by https://two.test/
        """,
        connections="""
            1  two.test:443  h2  2 requests
            2  cdn.test:443  h2  1 requests
        """,
    ),
    "meta-refresh": Shape(
        url="https://one.test/",
        replies={
            "https://one.test/": Reply(body=page("<p>soon", '<meta http-equiv="refresh" content="0;url=/next">')),
            "https://one.test/next": Reply(body=page("<p>end")),
        },
        rows="""
            document  https://one.test/      200 http/1.1  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            document  https://one.test/next  200 http/1.1  1 reuses  send wait=30 download
        """,
        connections="1  one.test:443  http/1.1  2 requests",
    ),
    "script-redirect": Shape(
        url="https://one.test/",
        replies={
            "https://one.test/": Reply(body=page("<script>location.replace('/next')</script>")),
            "https://one.test/next": Reply(body=page("<p>end")),
        },
        rows="""
            document  https://one.test/      200 http/1.1  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            document  https://one.test/next  200 http/1.1  1 reuses  send wait=30 download  by https://one.test/
        """,
        connections="1  one.test:443  http/1.1  2 requests",
    ),
    "missing-asset": Shape(
        url="https://one.test/",
        replies={"https://one.test/": Reply(body=page("<img src=gone.png>"))},
        rows="""
            document  https://one.test/          200 http/1.1  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            image     https://one.test/gone.png  404 http/1.1  1 reuses  send wait=30 download  by https://one.test/
        """,
        connections="1  one.test:443  http/1.1  2 requests",
    ),
    "unknown-host": Shape(
        url="https://one.test/",
        replies={"https://one.test/": Reply(body=page("<img src=https://nobody.test/0.png>"))},
        rows="""
            document  https://one.test/          200 http/1.1           1 opens  dns=30 connect=30 tls=30 send wait=30 download
            image     https://nobody.test/0.png  ERR_NAME_NOT_RESOLVED  -        dns=30  by https://one.test/
        """,
        connections="1  one.test:443  http/1.1  1 requests",
    ),
    "site-without-a-name": Shape(
        url="https://nobody.test/",
        replies={"https://one.test/": Reply(body=page("<p>end"))},
        rows="document  https://nobody.test/  ERR_NAME_NOT_RESOLVED  -  dns=30",
        connections="",
    ),
    # glibc asks twice.
    "host-whose-name-server-fails": Shape(
        url="https://one.test/",
        replies={"https://one.test/": Reply(body=page("<img src=https://broken.test/0.png>"))},
        failing=("broken.test",),
        rows="""
            document  https://one.test/          200 http/1.1                1 opens  dns=30 connect=30 tls=30 send wait=30 download
            image     https://broken.test/0.png  ERR_NAME_RESOLUTION_FAILED  -        dns=60  by https://one.test/
        """,
        connections="1  one.test:443  http/1.1  1 requests",
    ),
    "site-whose-name-server-fails": Shape(
        url="https://broken.test/",
        replies={"https://one.test/": Reply(body=page("<p>end"))},
        failing=("broken.test",),
        rows="document  https://broken.test/  ERR_NAME_RESOLUTION_FAILED  -  dns=60",
        connections="",
    ),
    # And waits for 5 s each time, where the resolver file says nothing else.
    "site-whose-name-server-is-silent": Shape(
        url="https://broken.test/",
        replies={"https://one.test/": Reply(body=page("<p>end"))},
        silent=("broken.test",),
        rows="document  https://broken.test/  ERR_NAME_RESOLUTION_FAILED  -  dns=10000",
        connections="",
    ),
    "refused-host": Shape(
        url="https://one.test/",
        replies={"https://one.test/": Reply(body=page("<img src=https://closed.test:444/0.png>"))},
        elsewhere=("closed.test",),
        rows="""
            document  https://one.test/              200 http/1.1            1 opens  dns=30 connect=30 tls=30 send wait=30 download
            image     https://closed.test:444/0.png  ERR_CONNECTION_REFUSED  -        dns=30 connect=30  by https://one.test/
        """,
        connections="1  one.test:443  http/1.1  1 requests",
    ),
    "untrusted-host": Shape(
        url="https://one.test/",
        replies={"https://one.test/": Reply(body=page("<img src=https://bad.test/0.png>"))},
        elsewhere=("bad.test",),
        rows="""
            document  https://one.test/       200 http/1.1                1 opens  dns=30 connect=30 tls=30 send wait=30 download
            image     https://bad.test/0.png  ERR_CERT_AUTHORITY_INVALID  2 opens  dns=30 connect=30 tls=30  by https://one.test/
        """,
        connections="""
            1  one.test:443  http/1.1  1 requests
            2  bad.test:443  1 requests  ERR_CERT_AUTHORITY_INVALID
        """,
    ),
    "hung-up": Shape(
        url="https://one.test/",
        replies={
            "https://one.test/": Reply(body=page("<script src=https://also.test/a.js></script>")),
            "https://also.test/a.js": Reply(trick=Trick.HANG_UP, after_ms=50),
        },
        rows="""
            document  https://one.test/       200 http/1.1        1 opens  dns=30 connect=30 tls=30 send wait=30 download
            script    https://also.test/a.js  ERR_EMPTY_RESPONSE  2 opens  dns=30 connect=30 tls=30 send  by https://one.test/
        """,
        connections="""
            1  one.test:443   http/1.1  1 requests
            2  also.test:443  http/1.1  1 requests
        """,
    ),
    "slow-head": Shape(
        url="https://one.test/",
        replies={"https://one.test/": Reply(body=page("<p>late"), after_ms=400)},
        rows="""
            document  https://one.test/  200 http/1.1  1 opens  dns=30 connect=30 tls=30 send wait=430 download=0
        """,
        connections="1  one.test:443  http/1.1  1 requests",
    ),
    "slow-body": Shape(
        url="https://one.test/",
        replies={"https://one.test/": Reply(pieces=((0, page("<p>first")), *_SLOWLY))},
        rows="""
            document  https://one.test/  200 http/1.1  1 opens  dns=30 connect=30 tls=30 send wait=30 download=300
        """,
        connections="1  one.test:443  http/1.1  1 requests",
    ),
    "late-discovered-style": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": Reply(
                pieces=((0, page("<p>first")), (300, b"<link rel=stylesheet href=a.css>"), (200, b"<p>last"))
            ),
            "https://two.test/a.css": style(after_ms=300),
        },
        rows="""
            document    https://two.test/       200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download=500
            stylesheet  https://two.test/a.css  200 h2  1 reuses  send wait=330 download  by https://two.test/
        """,
        connections="1  two.test:443  h2  2 requests",
    ),
    "empty-document": Shape(
        url="https://one.test/",
        replies={"https://one.test/": Reply()},
        rows="""
            document  https://one.test/  200 http/1.1  1 opens  dns=30 connect=30 tls=30 send wait=30 download=0
        """,
        connections="1  one.test:443  http/1.1  1 requests",
    ),
    "imported-styles": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": Reply(body=page("<p>text", "<link rel=stylesheet href=a.css>")),
            "https://two.test/a.css": style("@import 'b.css';"),
            "https://two.test/b.css": style("p { background: url(0.png) }"),
            "https://two.test/0.png": image(),
        },
        rows="""
            document    https://two.test/       200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            stylesheet  https://two.test/a.css  200 h2  1 reuses  send wait=30 download  by https://two.test/
            stylesheet  https://two.test/b.css  200 h2  1 reuses  send wait=30 download  by https://two.test/a.css
            image       https://two.test/0.png  200 h2  1 reuses  send wait=30 download  by https://two.test/b.css
        """,
        connections="1  two.test:443  h2  4 requests",
    ),
    "module-scripts": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": Reply(body=page("<script type=module src=a.js></script>")),
            "https://two.test/a.js": script("import './b.js'"),
            "https://two.test/b.js": script(),
        },
        rows="""
            document  https://two.test/      200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            script    https://two.test/a.js  200 h2  1 reuses  send wait=30 download  by https://two.test/
            script    https://two.test/b.js  200 h2  1 reuses  send wait=30 download  by https://two.test/a.js
        """,
        connections="1  two.test:443  h2  3 requests",
    ),
    "module-moved-to-another-host": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": Reply(body=page("<script type=module src=old.js></script>")),
            "https://two.test/old.js": moved("https://cdn.test/new.js"),
            "https://cdn.test/new.js": script(headers=(("Access-Control-Allow-Origin", "*"),)),
        },
        rows="""
            document  https://two.test/        200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            script    https://two.test/old.js  302 h2  1 reuses  send wait=30 download  by https://two.test/; to https://cdn.test/new.js
            script    https://cdn.test/new.js  200 h2  2 opens   dns=30 connect=30 tls=30 send wait=30 download  by https://two.test/
        """,
        connections="""
            1  two.test:443  h2  2 requests
            2  cdn.test:443  h2  1 requests
        """,
    ),
}
