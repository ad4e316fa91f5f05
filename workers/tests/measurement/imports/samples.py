"""Small files in the dialects of several tools, as these tools write them."""

import json
from typing import Any

Document = dict[str, Any]

START = "2026-11-21T12:00:00.000Z"
HTML = "https://shop.example/"


def entry(started: str = START, **fields: Any) -> Document:
    """One entry by the book: 10 ms queued, 20 DNS, 50 connect of which 30 TLS, 1 send, 40 wait, 9 receive."""
    timings = {"blocked": 10, "dns": 20, "connect": 50, "ssl": 30, "send": 1, "wait": 40, "receive": 9}
    usual: Document = {
        "startedDateTime": started,
        "time": 130,
        "request": {"method": "GET", "url": HTML, "httpVersion": "HTTP/1.1", "cookies": [], "headers": [],
                    "queryString": [], "headersSize": 100, "bodySize": 0},
        "response": {"status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1", "cookies": [], "headers": [],
                     "content": {"size": 900, "mimeType": "text/html"}, "redirectURL": "", "headersSize": 100,
                     "bodySize": 400},
        "cache": {},
        "timings": timings,
    }  # fmt: skip
    return usual | fields


def at(url: str, **fields: Any) -> Document:
    """An entry of another address."""
    made = entry(**fields)
    return made | {"request": made["request"] | {"url": url}}


def har(*entries: Document, creator: str = "Tool", **log: Any) -> Document:
    usual: Document = {"version": "1.2", "creator": {"name": creator, "version": "1"}, "entries": list(entries)}
    return {"log": usual | log}


def page(page_id: str = "page_1", started: str = START, **fields: Any) -> Document:
    timings = {"onContentLoad": 300.5, "onLoad": 500}
    return {"startedDateTime": started, "id": page_id, "title": HTML, "pageTimings": timings} | fields


def written(document: Document) -> bytes:
    return json.dumps(document).encode()


def devtools() -> Document:
    """Chrome's export: queueing inside blocked, sizes and errors in the answer, an initiator with a stack."""
    script = at(
        "https://cdn.example/app.js",
        started="2026-11-21T12:00:00.140Z",
        _initiator={"type": "script", "stack": {"callFrames": [{"url": ""}, {"url": "https://shop.example/boot.js"}]}},
        _resourceType="script",
        _priority="High",
        connection="77",
        serverIPAddress="[2001:db8::7]",
        pageref="page_1",
        timings={"blocked": 5.5, "dns": -1, "ssl": -1, "connect": -1, "send": 0.2, "wait": 30, "receive": 4.3,
                 "_blocked_queueing": 2.1},
        time=40,
    )  # fmt: skip
    script["response"] |= {"httpVersion": "h2", "_transferSize": 1234, "_error": None}
    again = script | {"startedDateTime": "2026-11-21T12:00:00.400Z", "_fromCache": "memory", "connection": "0",
                      "timings": {"blocked": -1, "dns": -1, "ssl": -1, "connect": -1, "send": 0, "wait": 0,
                                  "receive": 0.05, "_blocked_queueing": -1}, "time": 0.05}  # fmt: skip
    blocked = {"blocked": 7, "dns": -1, "ssl": -1, "connect": -1, "send": 0, "wait": 0, "receive": 0}
    broken = at("https://ads.example/x.gif", started="2026-11-21T12:00:00.200Z", timings=blocked, pageref="page_1")
    broken["response"] = {"status": 0, "headers": [], "content": {}, "_transferSize": 0, "_error": "net::ERR_FAILED"}
    document = entry(pageref="page_1", connection="76", _resourceType="document", _priority="VeryHigh")
    return har(document, script, broken, again, creator="WebInspector", pages=[page()])


def firefox() -> Document:
    """TLS beside connect, zeros for what did not happen, the port as the connection, all bytes in bodySize."""
    first = {"blocked": 62, "dns": 14, "connect": 17, "ssl": 26, "send": 0, "wait": 14, "receive": 21}
    second = {"blocked": 0, "dns": 0, "connect": 0, "ssl": 0, "send": 0, "wait": 34, "receive": 0}
    return har(
        entry(timings=first, time=154, connection="443", started="2026-11-21T13:00:00.000+01:00"),
        at("https://shop.example/a.css", timings=second, time=34, connection="443"),
        creator="Firefox",
        browser={"name": "Firefox", "version": "146.0.1"},
        pages=[page()],
    )


def playwright() -> Document:
    """The page's start is its tab's, sums count TLS twice, nothing says how long a request queued; times may lack."""
    timings = {"dns": 2, "connect": 50, "ssl": 30, "send": 0, "wait": 40, "receive": 9}
    plain = {"dns": -1, "connect": 5, "ssl": 6, "send": 0, "wait": 3, "receive": -1}
    failed = at("https://gone.example/", started="2026-11-21T12:00:05.300Z", time=-1,
                timings={"send": -1, "wait": -1, "receive": -1}, pageref="p")  # fmt: skip
    failed["response"] |= {
        "status": -1,
        "_transferSize": -1,
        "bodySize": -1,
        "_failureText": "net::ERR_NAME_NOT_RESOLVED",
    }
    return har(
        entry(started="2026-11-21T12:00:05.000Z", timings=timings, time=131, pageref="p"),
        at("http://plain.example/x", started="2026-11-21T12:00:05.200Z", timings=plain, time=14, pageref="p"),
        failed,
        creator="Playwright",
        pages=[page("p", pageTimings={"onContentLoad": 5200, "onLoad": 5400})],
    )


def browsertime() -> Document:
    """chrome-har: queued before the entry's start, WebPageTest's initiator, figures in pageTimings and groups."""
    timings = {"blocked": 1, "dns": 20, "connect": 50, "ssl": 30, "send": 1, "wait": 40, "receive": 9, "_queued": 4}
    figures = page(
        pageTimings={"onContentLoad": 300, "onLoad": 500, "_firstPaint": 210, "_largestContentfulPaint": 420},
        _visualMetrics={"SpeedIndex": 333, "FirstVisualChange": 200, "LastVisualChange": 450},
        _googleWebVitals={"firstContentfulPaint": 211, "cumulativeLayoutShift": 0.02, "totalBlockingTime": 0},
    )
    first = entry(timings=timings, time=121, connection="12", _initiator="https://shop.example/", pageref="page_1")
    return har(first, creator="Browsertime", pages=[figures])


def webpagetest_request(**fields: Any) -> Document:
    usual: Document = {
        "full_url": HTML, "method": "GET", "responseCode": 200, "request_type": "Document", "protocol": "HTTP/2",
        "contentType": "text/html", "socket": 165, "ip_addr": "[2001:db8::1]", "bytesIn": 2007,
        "objectSizeUncompressed": 5000, "created": 15, "dns_start": 2, "dns_end": 56, "connect_start": 56,
        "connect_end": 73, "ssl_start": 73, "ssl_end": 116, "load_start": 116, "ttfb_start": 116, "ttfb_end": 144,
        "download_start": 144, "download_end": 149, "load_end": 149, "all_start": 2, "all_end": 149,
        "tls_version": "TLS 1.3", "priority": "Highest", "final_base_page": True,
        "headers": {"request": [":authority: shop.example", "cookie: a=s3cret"], "response": ["HTTP/2 200", "age: 3"]},
    }  # fmt: skip
    return usual | fields


def webpagetest(*loads: int, repeat: bool = True) -> Document:
    """`jsonResult.php` of a test whose runs loaded in so many milliseconds."""
    idle = {"dns_start": -1, "dns_end": -1, "connect_start": -1, "connect_end": -1, "ssl_start": -1, "ssl_end": -1}
    image = webpagetest_request(full_url="https://shop.example/a.png", request_type="Image", contentType="image/png",
                                final_base_page=False, created=150, load_start=160, ttfb_start=160, ttfb_end=190,
                                download_start=190, download_end=200, load_end=200, all_start=160, all_end=200,
                                renderBlocking="non_blocking", **idle)  # fmt: skip
    runs: Document = {}
    for number, load in enumerate(loads, start=1):
        figures = {"URL": HTML, "date": 1774569362.5, "loadTime": load, "docTime": load, "fullyLoaded": load + 500,
                   "TTFB": 144, "render": 200, "SpeedIndex": load - 50, "firstContentfulPaint": 210, "result": 0,
                   "chromeUserTiming.LargestContentfulPaint": 400, "chromeUserTiming.CumulativeLayoutShift": 0.1,
                   "TotalBlockingTime": 0, "longTasks": [[100, 160]],
                   "userTimes": {"hero": 320.5, "far": 600001, "none": None}, "userTime": 320.5,
                   "userTimingMeasures": [{"name": "cart", "startTime": 30, "duration": 12.5},
                     {"name": "for ever", "startTime": 30, "duration": 6e5}, 7, {"name": "x"}],
                   "browser_name": "Chrome",
                   "browser_version": "146.0.0.0"}  # fmt: skip
        views: Document = {"firstView": figures | {"requests": [webpagetest_request(), image]}}
        if repeat:
            views["repeatView"] = figures | {"loadTime": load // 2, "requests": [webpagetest_request()]}
        runs[str(number)] = views
    return {"data": {"url": HTML, "completed": 1774566251, "runs": runs}, "webPagetestVersion": "21.07"}
