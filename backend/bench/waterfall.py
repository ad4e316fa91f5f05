"""`python -m backend.bench.waterfall`: what the bench of drawing draws, as one JSON document on stdout.

For each number of requests `html` is the component as the server writes it, and `data` the same rows for plain code.
Chromium, which the backend never drives, is driven by `deploy/local/drawing.py`.
"""

import json
import os
import secrets
import sys
from dataclasses import asdict

import django
from cryptography.fernet import Fernet
from django.template.loader import render_to_string

from backend.web.waterfall.board import board_of
from backend.web.waterfall.rows import page_chart
from workers.measurement.messages import PageMeasurement
from workers.measurement.timing import Span, Timing
from workers.measurement.vitals import Vitals
from workers.measurement.waterfall import Request, ResourceType, TimingSource, Waterfall

SIZES = (100, 2_000)
_HOSTS = ("www.shop.example", "cdn.shop.example", "img.shop.example", "tags.vendor.example")


def main() -> int:
    os.environ["FIRSTBYTE_SECRET_KEY"] = secrets.token_urlsafe(50)
    os.environ["FIRSTBYTE_FERNET_KEYS"] = Fernet.generate_key().decode()
    os.environ["DJANGO_SETTINGS_MODULE"] = "backend.settings"
    django.setup()
    json.dump({size: drawn(size) for size in SIZES}, sys.stdout)
    return 0


def drawn(requests: int) -> dict[str, str]:
    """One page in both forms."""
    page = made_up_page(requests)
    html = render_to_string("runs/_waterfall.html", {"board": board_of(page, {}), "details_url": "/"})
    return {"html": html, "data": json.dumps({"rows": [asdict(row) for row in page_chart(page).rows]})}


def made_up_page(requests: int) -> PageMeasurement:
    """A page of so many requests; every tenth opens a connection, so that all phases are there."""
    rows = tuple(_request(number) for number in range(1, requests + 1))
    end_us = max(row.timing.end_us or 0 for row in rows)
    return PageMeasurement(
        waterfall=Waterfall(requests=rows, connections=()),
        vitals=Vitals(fcp_us=300_000, lcp_us=700_000, load_us=end_us),
        document=1,
    )


def _request(number: int) -> Request:
    start_us = 0 if number == 1 else 250_000 + number * 1_700
    begin_us = start_us + 4_000 + number * 37 % 9_000
    lengths = (8_000, 30_000, 34_000) if number % 10 == 1 else ()
    spans: list[Span] = []
    for length_us in (*lengths, 400, 20_000 + number * 911 % 70_000, 5_000 + number * 577 % 40_000):
        spans.append(Span(start_us=begin_us, end_us=begin_us + length_us))
        begin_us += length_us
    dns, connect, tls = spans[:3] if lengths else (None, None, None)
    send, wait, download = spans[-3:]
    host = _HOSTS[number % len(_HOSTS)]
    return Request(
        number=number,
        url=f"https://{host}/static/{number}/resource-{number % 17}.js?v={number}",
        method="GET",
        resource_type=ResourceType.DOCUMENT if number == 1 else ResourceType.SCRIPT,
        timing=Timing(
            start_us=start_us,
            end_us=begin_us,
            dns=dns,
            connect=connect,
            tls=tls,
            send=send,
            wait=wait,
            download=download,
        ),
        timing_source=TimingSource.NETLOG,
        status=404 if number % 50 == 7 else 200,
        transferred_bytes=1_000 + number * 7_919 % 90_000,
        render_blocking=number % 25 == 3,
    )


if __name__ == "__main__":
    sys.exit(main())
