"""Shapes that are about who asks: hints, frames, workers, caches.

The whole Chromium connects twice to where it is about to go. What it connects ahead it also looks up ahead, on nobody's
behalf.
"""

from workers.tests.shapes.site import Reply, Shape, image, moved, page, script, style

_LATER = "<script>setTimeout(() => {{ new Image().src = '{}' }}, 400)</script>"
_KEPT = (("Cache-Control", "max-age=600"),)
_CHECKED = (("Cache-Control", "no-cache"),)
_FRAME = "document.body.append(Object.assign(document.createElement('iframe'), { src: 'frame' }))"
_SPECULATE = """
onload = () => setTimeout(() => {
    const rules = { prefetch: [{ source: 'list', urls: ['/next'], eagerness: 'immediate' }] };
    document.head.append(Object.assign(document.createElement('script'),
        { type: 'speculationrules', textContent: JSON.stringify(rules) }));
    setTimeout(() => { location.href = '/next' }, 300);
}, 100)
"""

ASKERS = {
    "preconnect-hint": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": Reply(
                body=page(
                    _LATER.format("https://far.two.test/0.png"), "<link rel=preconnect href=https://far.two.test>"
                )
                + b"<img src=slow.png>"
            ),
            "https://two.test/slow.png": image(after_ms=700),
            "https://far.two.test/0.png": image(),
        },
        full=True,
        rows="""
            document  https://two.test/          200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            image     https://two.test/slow.png  200 h2  1 reuses  send wait=730 download  by https://two.test/
            image     https://far.two.test/0.png  200 h2  3 opens  connect=30 tls=30 send wait=30 download  by https://two.test/; preconnected
        """,
        connections="""
            1  two.test:443      h2  2 requests
            2  two.test:443      h2  0 requests  preconnected
            3  far.two.test:443  h2  1 requests  preconnected
        """,
    ),
    "unused-preconnect": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": Reply(
                body=page("<img src=slow.png>", "<link rel=preconnect href=https://far.two.test>")
            ),
            "https://two.test/slow.png": image(after_ms=300),
        },
        elsewhere=("far.two.test",),
        full=True,
        rows="""
            document  https://two.test/          200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            image     https://two.test/slow.png  200 h2  1 reuses  send wait=330 download  by https://two.test/
        """,
        connections="""
            1  two.test:443      h2  2 requests
            2  two.test:443      h2  0 requests  preconnected
            3  far.two.test:443  h2  0 requests  preconnected
        """,
    ),
    "dns-prefetch-hint": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": Reply(
                body=page(
                    _LATER.format("https://far.two.test/0.png"), "<link rel=dns-prefetch href=https://far.two.test>"
                )
                + b"<img src=slow.png>"
            ),
            "https://two.test/slow.png": image(after_ms=700),
            "https://far.two.test/0.png": image(),
        },
        full=True,
        rows="""
            document  https://two.test/          200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            image     https://two.test/slow.png  200 h2  1 reuses  send wait=730 download  by https://two.test/
            image     https://far.two.test/0.png  200 h2  3 opens   connect=30 tls=30 send wait=30 download  by https://two.test/
        """,
        connections="""
            1  two.test:443      h2  2 requests
            2  two.test:443      h2  0 requests  preconnected
            3  far.two.test:443  h2  1 requests
        """,
    ),
    "preload": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": Reply(
                body=page("<link rel=stylesheet href=a.css>", "<link rel=preload as=font crossorigin href=f.woff2>")
            ),
            "https://two.test/a.css": style("@font-face { font-family: f; src: url(f.woff2) } body { font-family: f }"),
            "https://two.test/f.woff2": Reply(body=b"no font", kind="font/woff2"),
        },
        rows="""
            document    https://two.test/         200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            font        https://two.test/f.woff2  200 h2  1 reuses  send wait=30 download  by https://two.test/; preload
            stylesheet  https://two.test/a.css    200 h2  1 reuses  send wait=30 download  by https://two.test/
        """,
        connections="""
            1  two.test:443  h2  3 requests
        """,
    ),
    "prefetch": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": Reply(body=page("<p>text", "<link rel=prefetch href=next.js>")),
            "https://two.test/next.js": script(),
        },
        rows="""
            document  https://two.test/         200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            other     https://two.test/next.js  200 h2  1 reuses  send wait=30 download  by https://two.test/; prefetch
        """,
        connections="1  two.test:443  h2  2 requests",
    ),
    "page-fetched-ahead": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": Reply(body=page(f"<p>text<script>{_SPECULATE}</script>")),
            "https://two.test/next": Reply(body=page("<p>next<img src=0.png>")),
            "https://two.test/0.png": image(),
        },
        rows="""
            document  https://two.test/       200 h2          1 opens   dns=30 connect=30 tls=30 send wait=30 download
            other     https://two.test/next   200 h2          1 reuses  send wait=30 download  by https://two.test/; prefetch
            document  https://two.test/next   200 disk_cache  -         -                      by https://two.test/
            image     https://two.test/0.png  200 h2          1 reuses  send wait=30 download  by https://two.test/next
        """,
        connections="1  two.test:443  h2  3 requests",
    ),
    "early-hints": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": Reply(
                body=page("<p>text", "<link rel=stylesheet href=a.css>"),
                hints=("<https://two.test/a.css>; rel=preload; as=style",),
                after_ms=300,
            ),
            "https://two.test/a.css": style(headers=_KEPT),
        },
        rows="""
            document    https://two.test/       200 h2  1 opens   dns=30 connect=30 tls=30 send wait=330 download  early_hints
            stylesheet  https://two.test/a.css  200 h2  1 reuses  send wait=30 download  preload
            stylesheet  https://two.test/a.css  200 disk_cache  -  -  by https://two.test/
        """,
        connections="1  two.test:443  h2  2 requests",
    ),
    "early-hint-under-way": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": Reply(
                body=page("<p>text", "<link rel=stylesheet href=a.css>"),
                hints=("<https://two.test/a.css>; rel=preload; as=style",),
                after_ms=100,
            ),
            "https://two.test/a.css": style(after_ms=400, headers=_KEPT),
        },
        rows="""
            document    https://two.test/       200 h2  1 opens   dns=30 connect=30 tls=30 send wait=130 download  early_hints
            stylesheet  https://two.test/a.css  200 h2  1 reuses  send wait=430 download  preload
            stylesheet  https://two.test/a.css  200 disk_cache  -  -  by https://two.test/
        """,
        connections="1  two.test:443  h2  2 requests",
    ),
    "frame-of-the-same-host": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": Reply(body=page("<iframe src=frame></iframe>")),
            "https://two.test/frame": Reply(body=page("<img src=0.png>")),
            "https://two.test/0.png": image(),
        },
        rows="""
            document  https://two.test/       200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            document  https://two.test/frame  200 h2  1 reuses  send wait=30 download  by https://two.test/; frame
            image     https://two.test/0.png  200 h2  1 reuses  send wait=30 download  by https://two.test/frame; frame
        """,
        connections="1  two.test:443  h2  3 requests",
    ),
    "frame-of-another-host": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": Reply(body=page("<iframe src=https://cdn.test/frame></iframe>")),
            "https://cdn.test/frame": Reply(body=page("<img src=0.png>")),
            "https://cdn.test/0.png": image(),
        },
        rows="""
            document  https://two.test/       200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            document  https://cdn.test/frame  200 h2  2 opens   dns=30 connect=30 tls=30 send wait=30 download  by https://two.test/; frame
            image     https://cdn.test/0.png  200 h2  2 reuses  send wait=30 download  by https://cdn.test/frame; frame
        """,
        connections="""
            1  two.test:443  h2  1 requests
            2  cdn.test:443  h2  2 requests
        """,
    ),
    "worker": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": Reply(body=page("<script>new Worker('w.js')</script>")),
            "https://two.test/w.js": script("importScripts('lib.js'); fetch('data.json')"),
            "https://two.test/lib.js": script("self.ran = true"),
            "https://two.test/data.json": Reply(body=b"{}", kind="application/json"),
        },
        rows="""
            document  https://two.test/           200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            script    https://two.test/w.js       200 h2  1 reuses  send wait=30 download  by https://two.test/
            script    https://two.test/lib.js     200 h2  1 reuses  send wait=30 download  by https://two.test/w.js; worker
            fetch     https://two.test/data.json  200 h2  1 reuses  send wait=30 download  by https://two.test/w.js; worker
        """,
        connections="1  two.test:443  h2  4 requests",
    ),
    "worker-from-the-cache": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": Reply(
                body=page("<script>fetch('w.js').then(r => r.text()).then(() => new Worker('w.js'))</script>")
            ),
            "https://two.test/w.js": script(headers=_KEPT),
        },
        rows="""
            document  https://two.test/      200 h2           1 opens   dns=30 connect=30 tls=30 send wait=30 download
            fetch     https://two.test/w.js  200 h2           1 reuses  send wait=30 download  by https://two.test/
            script    https://two.test/w.js  None disk_cache  -         -                      by https://two.test/
        """,
        connections="1  two.test:443  h2  2 requests",
    ),
    "worker-moved": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": Reply(body=page("<script>new Worker('old.js')</script>")),
            "https://two.test/old.js": moved("/new.js"),
            "https://two.test/new.js": script("fetch('data.json')"),
            "https://two.test/data.json": Reply(body=b"{}", kind="application/json"),
        },
        rows="""
            document  https://two.test/           200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            script    https://two.test/old.js     302 h2  1 reuses  send wait=30 download  by https://two.test/; to https://two.test/new.js
            script    https://two.test/new.js     200 h2  1 reuses  send wait=30 download
            fetch     https://two.test/data.json  200 h2  1 reuses  send wait=30 download  by https://two.test/new.js; worker
        """,
        connections="1  two.test:443  h2  4 requests",
    ),
    "worklet": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": Reply(
                body=page(
                    "<script>navigator.serviceWorker.register('sw.js');"
                    "setTimeout(() => new OfflineAudioContext(1, 1, 44100).audioWorklet.addModule('a.js'), 400)</script>"
                )
            ),
            "https://two.test/sw.js": script(),
            "https://two.test/a.js": script("import './b.js'"),
            "https://two.test/b.js": script(),
        },
        rows="""
            document  https://two.test/       200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            script    https://two.test/sw.js  200 h2  1 reuses  send wait=30 download
            script    https://two.test/a.js   200 h2  1 reuses  send wait=30 download
            script    https://two.test/b.js   200 h2  1 reuses  send wait=30 download  by https://two.test/a.js; worker
        """,
        connections="""
            1  two.test:443  h2  4 requests
        """,
    ),
    "shared-worker": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": Reply(body=page("<script>new SharedWorker('s.js').port.start()</script>")),
            "https://two.test/s.js": script("importScripts('lib.js'); fetch('data.json')"),
            "https://two.test/lib.js": script("self.ran = true"),
            "https://two.test/data.json": Reply(
                body=b"{}", kind="application/json", headers=(("Set-Cookie", "of=worker"),)
            ),
        },
        rows="""
            document  https://two.test/           200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            script    https://two.test/s.js       200 h2  1 reuses  send wait=30 download  by https://two.test/
            script    https://two.test/lib.js     200 h2  1 reuses  send wait=30 download  by https://two.test/s.js; worker
            fetch     https://two.test/data.json  200 h2  1 reuses  send wait=30 download  by https://two.test/s.js; worker
        """,
        connections="1  two.test:443  h2  4 requests",
    ),
    "memory-cache": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": Reply(body=page(f"<img src=0.png><script>onload = () => {{ {_FRAME} }}</script>")),
            "https://two.test/frame": Reply(body=page("<img src=0.png>")),
            "https://two.test/0.png": image(headers=_KEPT),
        },
        rows="""
            document  https://two.test/       200 h2            1 opens   dns=30 connect=30 tls=30 send wait=30 download
            image     https://two.test/0.png  200 h2            1 reuses  send wait=30 download  by https://two.test/
            document  https://two.test/frame  200 h2            1 reuses  send wait=30 download  by https://two.test/; frame
            image     https://two.test/0.png  200 memory_cache  -         -                      by https://two.test/frame; frame
        """,
        connections="1  two.test:443  h2  3 requests",
    ),
    "disk-cache": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": Reply(
                body=page("<script src=a.js></script><script>onload = () => { location.href = '/again' }</script>")
            ),
            "https://two.test/again": Reply(body=page("<script>fetch('a.js')</script>")),
            "https://two.test/a.js": script(headers=_KEPT),
        },
        rows="""
            document  https://two.test/       200 h2          1 opens   dns=30 connect=30 tls=30 send wait=30 download
            script    https://two.test/a.js   200 h2          1 reuses  send wait=30 download  by https://two.test/
            document  https://two.test/again  200 h2          1 reuses  send wait=30 download  by https://two.test/
            fetch     https://two.test/a.js   200 disk_cache  -         -                      by https://two.test/again
        """,
        connections="1  two.test:443  h2  3 requests",
    ),
    "revalidated": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": Reply(
                body=page("<script src=a.js></script><script>onload = () => { location.href = '/again' }</script>")
            ),
            "https://two.test/again": Reply(body=page("<script src=a.js></script>")),
            "https://two.test/a.js": script(headers=_CHECKED, etag='"1"'),
        },
        rows="""
            document  https://two.test/       200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            script    https://two.test/a.js   200 h2  1 reuses  send wait=30 download  by https://two.test/
            document  https://two.test/again  200 h2  1 reuses  send wait=30 download  by https://two.test/
            script    https://two.test/a.js   304 h2  1 reuses  send wait=30 download  by https://two.test/again
        """,
        connections="1  two.test:443  h2  4 requests",
    ),
}
