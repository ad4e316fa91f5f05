"""Shapes with a service worker: one that answers, keeps silent, sleeps, or has documents asked for ahead."""

from workers.measurement.page_options import PageState
from workers.tests.shapes.site import Reply, Shape, image, page, script

_INSTALL = """
addEventListener('install', event => event.waitUntil(
    caches.open('c').then(cache => cache.add('kept.png')).then(() => skipWaiting())));
addEventListener('activate', event => event.waitUntil(clients.claim()));
addEventListener('fetch', event => event.respondWith(
    caches.match(event.request).then(kept => kept || fetch(event.request))));
"""
# Goes on to another page as soon as its service worker has taken over.
_CONTROLLED = Reply(
    body=page(
        "<script>navigator.serviceWorker.register('sw.js');"
        "navigator.serviceWorker.oncontrollerchange = () => { location.href = '/again' }</script>"
    )
)
_SILENT = """
addEventListener('install', () => skipWaiting());
addEventListener('activate', event => event.waitUntil(clients.claim()));
addEventListener('fetch', () => {});
"""
_ASLEEP = """
addEventListener('install', () => skipWaiting());
addEventListener('activate', event => event.waitUntil(clients.claim()));
addEventListener('fetch', event => event.respondWith(fetch(event.request)));
"""
_AHEAD = """
addEventListener('install', () => skipWaiting());
addEventListener('activate', event => event.waitUntil(
    registration.navigationPreload.enable().then(() => clients.claim())));
addEventListener('fetch', event => {
    if (event.request.mode === 'navigate') event.respondWith(event.preloadResponse);
});
"""

SERVICE_WORKERS = {
    "service-worker": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": _CONTROLLED,
            "https://two.test/sw.js": script(_INSTALL),
            "https://two.test/kept.png": image(),
            "https://two.test/again": Reply(body=page("<img src=kept.png><img src=fresh.png>")),
            "https://two.test/fresh.png": image(),
        },
        rows="""
            document  https://two.test/           200 h2              1 opens   dns=30 connect=30 tls=30 send wait=30 download
            script    https://two.test/sw.js      200 h2              1 reuses  send wait=30 download
            fetch     https://two.test/kept.png   200 h2              1 reuses  send wait=30 download  by https://two.test/sw.js; service_worker
            document  https://two.test/again      200 service_worker  -         -                      by https://two.test/
            fetch     https://two.test/again      200 h2              1 reuses  send wait=30 download  by https://two.test/sw.js; service_worker
            image     https://two.test/kept.png   200 service_worker  -         -                      by https://two.test/again
            image     https://two.test/fresh.png  200 service_worker  -         -                      by https://two.test/again
            fetch     https://two.test/fresh.png  200 h2              1 reuses  send wait=30 download  by https://two.test/sw.js; service_worker
        """,
        connections="1  two.test:443  h2  5 requests",
    ),
    "silent-service-worker": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": _CONTROLLED,
            "https://two.test/sw.js": script(_SILENT),
            "https://two.test/again": Reply(body=page("<img src=0.png>")),
            "https://two.test/0.png": image(),
        },
        rows="""
            document  https://two.test/       200 h2  1 opens   dns=30 connect=30 tls=30 send wait=30 download
            script    https://two.test/sw.js  200 h2  1 reuses  send wait=30 download
            document  https://two.test/again  200 h2  1 reuses  send wait=30 download  by https://two.test/
            image     https://two.test/0.png  200 h2  1 reuses  send wait=30 download  by https://two.test/again
        """,
        connections="1  two.test:443  h2  4 requests",
    ),
    "sleeping-service-worker": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": Reply(
                body=page("<img src=fresh.png><script>navigator.serviceWorker.register('sw.js')</script>"),
                headers=(("Cache-Control", "no-store"),),
            ),
            "https://two.test/sw.js": script(_ASLEEP),
            "https://two.test/fresh.png": image(headers=(("Cache-Control", "no-store"),)),
        },
        repeat=PageState.WARM_CACHE,
        rows="""
            document  https://two.test/           200 service_worker  -         -
            other     https://two.test/           200 h2              1 opens   dns connect=30 tls=30 send wait=30 download  service_worker
            image     https://two.test/fresh.png  200 service_worker  -         -                      by https://two.test/
            fetch     https://two.test/fresh.png  200 h2              1 reuses  send wait=30 download  by https://two.test/sw.js; service_worker
        """,
        connections="""
            1  two.test:443  h2  2 requests
        """,
    ),
    "navigation-preload": Shape(
        url="https://two.test/",
        replies={
            "https://two.test/": _CONTROLLED,
            "https://two.test/sw.js": script(_AHEAD),
            "https://two.test/again": Reply(body=page("<p>Again</p>")),
        },
        rows="""
            document  https://two.test/           200 h2              1 opens   dns=30 connect=30 tls=30 send wait=30 download
            script    https://two.test/sw.js      200 h2              1 reuses  send wait=30 download
            document  https://two.test/again      200 service_worker  -         -                      by https://two.test/
            other     https://two.test/again      200 h2              1 reuses  send wait=30 download  service_worker
        """,
        connections="1  two.test:443  h2  3 requests",
    ),
}
