"""Proof that a person visits: asked for by each vendor in its own way, and never where a page is simply shown."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from workers.measurement.captures_page import PageCapture
from workers.measurement.compute.page.challenge import challenge_by_headers, challenge_of_page
from workers.measurement.compute.page.outcome import judge_page
from workers.measurement.compute.page.page import Page
from workers.measurement.connection import Header
from workers.measurement.failure import FailureKind
from workers.measurement.messages import Failed, Kind, Measured, PageMeasurement
from workers.measurement.timing import Timing
from workers.measurement.vitals import Vitals
from workers.measurement.waterfall import Request, ResourceType, RowFlag, TimingSource, Waterfall
from workers.tests.builders import build_request

SHOP = "https://www.shop.example/"
CLOUDFLARE = {
    "Date": "Sat, 21 Nov 2026 12:00:00 GMT",
    "Content-Type": "text/html; charset=UTF-8",
    "Accept-CH": "Sec-CH-UA-Bitness, Sec-CH-UA-Arch, Sec-CH-UA-Full-Version",
    "cf-mitigated": "challenge",
    "Critical-CH": "Sec-CH-UA-Bitness",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "SAMEORIGIN",
    "Server": "cloudflare",
    "CF-RAY": "8fcb3f8a0cc56750-FRA",
}
AWS = {
    "Server": "CloudFront",
    "Content-Type": "text/html",
    "x-amzn-waf-action": "challenge",
    "Cache-Control": "no-store, max-age=0",
    "X-Cache": "Error from cloudfront",
    "X-Amz-Cf-Id": "abc==",
}
DATADOME = {
    "Server": "nginx",
    "Content-Type": "text/html;charset=utf-8",
    "X-DataDome": "protected",
    "X-DataDome-CID": "AHrlqAAAAAMA",
    "X-DD-B": "2",
    "Cache-Control": "max-age=0, private, no-cache, no-store, must-revalidate",
}
VERCEL = {"Server": "Vercel", "X-Vercel-Mitigated": "challenge", "X-Vercel-Id": "fra1::1"}
KASADA = {"Server": "nginx", "x-kpsdk-ct": "0A1", "x-kpsdk-r": "1-AA"}
AKAMAI = {"Server": "AkamaiGHost", "sec-cp-challenge": "true", "Content-Type": "application/json"}
IMPERVA = {
    "Content-Type": "text/html",
    "X-CDN": "Imperva",
    "X-Iinfo": "13-4-4 NNNN CT(0 0 0) RT(1 2) q(0 -1 -1 -1) r(0 -1)",
}
SUCURI = {"Server": "Sucuri/Cloudproxy", "X-Sucuri-ID": "15008"}


def headers(sent: Mapping[str, str]) -> tuple[Header, ...]:
    return tuple(Header(name=name, value=value) for name, value in sent.items())


def row(number: int, url: str, **changes: Any) -> Request:
    values: dict[str, Any] = {
        "method": "GET",
        "resource_type": ResourceType.SCRIPT,
        "timing": Timing(start_us=0, end_us=100_000),
        "timing_source": TimingSource.NETLOG,
        "status": 200,
        "body_bytes": 5_000,
    }
    return Request(number=number, url=url, **(values | changes))


def loaded(
    status: int, sent: Mapping[str, str], *asked: str, title: str | None = None, body_bytes: int = 4_000
) -> PageMeasurement:
    """A document and what it loaded."""
    document = row(
        1,
        SHOP,
        resource_type=ResourceType.DOCUMENT,
        status=status,
        response_headers=headers(sent),
        body_bytes=body_bytes,
    )
    rows = (document, *(row(number, url) for number, url in enumerate(asked, 2)))
    return PageMeasurement(waterfall=Waterfall(requests=rows, connections=()), vitals=Vitals(), document=1, title=title)


def vendor(page: PageMeasurement) -> str | None:
    found = challenge_of_page(page.waterfall.requests, page.document, page.title)
    return None if found is None else found.vendor


@pytest.mark.parametrize(
    ("status", "sent", "expected"),
    [
        (403, CLOUDFLARE, "Cloudflare (cf-mitigated: challenge)"),
        (202, AWS, "AWS WAF (x-amzn-waf-action: challenge)"),
        (405, AWS | {"x-amzn-waf-action": "captcha"}, "AWS WAF (x-amzn-waf-action: captcha)"),
        (403, DATADOME, "DataDome (x-dd-b: 2)"),
        (403, VERCEL, "Vercel (x-vercel-mitigated: challenge)"),
        (429, KASADA, "Kasada (x-kpsdk-ct, status 429)"),
        (428, AKAMAI, "Akamai (sec-cp-challenge: true)"),
    ],
)
def test_an_answer_that_says_so_itself_is_a_challenge(status: int, sent: Mapping[str, str], expected: str) -> None:
    assert str(challenge_by_headers(status, headers(sent))) == expected


@pytest.mark.parametrize(
    ("status", "sent"),
    [
        (200, {name: value for name, value in CLOUDFLARE.items() if name != "cf-mitigated"}),
        (403, {name: value for name, value in CLOUDFLARE.items() if name != "cf-mitigated"}),
        (403, AWS | {"x-amzn-waf-action": "block"}),
        (200, DATADOME),
        (403, {name: value for name, value in DATADOME.items() if name != "X-DD-B"}),
        (200, KASADA),
        (200, IMPERVA),
        (403, IMPERVA),
        (403, SUCURI),
        (403, {"Server": "AkamaiGHost", "Mime-Version": "1.0"}),
        (503, {"Retry-After": "120"}),
        (429, {"Retry-After": "5"}),
    ],
)
def test_an_answer_of_the_same_vendors_that_asks_nothing_is_none(status: int, sent: Mapping[str, str]) -> None:
    assert challenge_by_headers(status, headers(sent)) is None


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (loaded(503, {"Server": "cloudflare"}, title="Just a moment..."), "Cloudflare"),
        (loaded(307, SUCURI, title="You are being redirected..."), "Sucuri"),
        (loaded(403, {"Server": "ddos-guard"}, title="DDoS-Guard"), "DDoS-Guard"),
        (loaded(403, {}, "https://captcha.px-cdn.net/PXabc/captcha.js", title="Access denied"), "HUMAN (PerimeterX)"),
        (loaded(403, {}, "https://ct.captcha-delivery.com/c.js", title="shop.example"), "DataDome"),
        (loaded(200, {}, "https://www.shop.example/_sec/cp_challenge/ak-challenge-4-3.htm"), "Akamai"),
        (loaded(200, {}, "https://www.shop.example/_sec/cp_challenge/sec-cpt-int-4-3.js", title="Wait"), "Akamai"),
        (
            loaded(200, {}, "https://www.shop.example/_fs-ch-1T1wmsGaOgGaSxcX/script.js", title="Client Challenge"),
            "Fastly",
        ),
        (loaded(200, {}, "https://www.shop.example/.within.website/x/cmd/anubis/static/js/main.mjs"), "Anubis"),
        (loaded(200, IMPERVA, "https://www.shop.example/_Incapsula_Resource?SWUDNSAI=31", body_bytes=900), "Imperva"),
        (loaded(403, {}, "https://js.hcaptcha.com/1/api.js"), "hCaptcha"),
        (loaded(429, {}, "https://www.google.com/recaptcha/api.js"), "reCAPTCHA"),
        (loaded(403, {}, "https://challenges.cloudflare.com/turnstile/v0/api.js"), "Cloudflare Turnstile"),
    ],
)
def test_a_page_that_is_only_a_test_of_the_visitor_is_a_challenge(page: PageMeasurement, expected: str) -> None:
    assert vendor(page) == expected


@pytest.mark.parametrize(
    "page",
    [
        loaded(200, {}, "https://www.google.com/recaptcha/api.js", title="Contact"),
        loaded(200, {}, "https://js.hcaptcha.com/1/api.js", title="Sign in"),
        loaded(200, {"Server": "cloudflare"}, "https://challenges.cloudflare.com/turnstile/v0/api.js", title="Sign in"),
        loaded(403, {}, "https://www.google.com/recaptcha/api.js", title="Members only", body_bytes=60_000),
        loaded(503, {}, "https://www.google.com/recaptcha/api.js", title="We will be back"),
        loaded(200, {"Server": "cloudflare"}, title="Just a moment..."),
        loaded(503, {"Server": "nginx"}, title="Just a moment..."),
        loaded(200, IMPERVA, "https://www.shop.example/_Incapsula_Resource?SWJIYLWA=719", title="Shop", body_bytes=900),
        loaded(200, IMPERVA, "https://www.shop.example/_Incapsula_Resource?SWJIYLWA=719", body_bytes=20_000),
        loaded(200, {}, "https://geo.captcha-delivery.com/captcha/?initialCid=A", title="Shop"),
        loaded(200, {}, "https://captcha.px-cdn.net/PXabc/captcha.js", title="Shop"),
        loaded(200, {}, "https://www.shop.example/_sec/cp_challenge/sec-cpt-3-6.js", title="Sign in"),
        loaded(200, {}, "https://www.shop.example/_sec/cp_challenge/sec-4-4.js", title="Sign in"),
        loaded(200, {}, "https://cdn.example.net/_sec/cp_challenge/ak-challenge-4-3.htm", title="Shop"),
        loaded(200, {}, "https://www.shop.example/cdn-cgi/challenge-platform/scripts/jsd/main.js", title="Shop"),
        loaded(200, {}, "https://js.datadome.co/tags.js", title="Shop"),
        loaded(200, {}, title="How to solve a captcha: just a moment..."),
        loaded(403, {"Server": "AkamaiGHost"}, title="Access Denied"),
        loaded(200, {}, title=None),
    ],
)
def test_a_page_that_is_shown_is_none_whatever_it_loads(page: PageMeasurement) -> None:
    assert vendor(page) is None


def test_a_test_that_the_browser_passed_is_told_too_since_it_took_its_time() -> None:
    page = loaded(200, {}, title="Shop")
    test = row(1, SHOP, resource_type=ResourceType.DOCUMENT, status=202, response_headers=headers(AWS))
    final = replace(page.waterfall.requests[0], number=3)
    rows = (test, row(2, "https://a.token.awswaf.com/challenge.js"), final)
    assert vendor(replace(page, waterfall=Waterfall(requests=rows, connections=()), document=3)) == "AWS WAF"
    framed = (replace(test, flags=(RowFlag.FRAME,)), *rows[1:])
    assert vendor(replace(page, waterfall=Waterfall(requests=framed, connections=()), document=3)) is None


def test_what_a_script_was_refused_is_not_the_pages_own() -> None:
    page = loaded(200, {}, title="Shop")
    refused = row(
        2, "https://api.shop.example/", resource_type=ResourceType.FETCH, response_headers=headers(CLOUDFLARE)
    )
    waterfall = Waterfall(requests=(*page.waterfall.requests, refused), connections=())
    assert vendor(replace(page, waterfall=waterfall)) is None


def outcome(page: PageMeasurement, **seen: Any) -> Measured | Failed:
    capture = PageCapture(url=SHOP, main_frame="f", events=(), **({"load_seen": True} | seen))
    request = build_request(kind=Kind.PAGE, url=SHOP)
    return judge_page(request, capture, Page(measurement=page, addresses=frozenset()), lambda _: True)


def test_a_challenge_fails_the_run_by_its_vendor_and_keeps_what_was_seen() -> None:
    page = loaded(202, AWS)
    judged = outcome(page)
    assert isinstance(judged, Failed)
    assert judged.failure.kind is FailureKind.PAGE_CHALLENGE
    assert judged.failure.detail.endswith(": AWS WAF (x-amzn-waf-action: challenge)")
    assert judged.measurement == page


def test_a_challenge_that_never_stops_loading_or_has_no_body_is_still_one() -> None:
    for seen in ({"load_seen": False}, {"net_error": "ERR_HTTP_RESPONSE_CODE_FAILURE", "load_seen": False}):
        judged = outcome(loaded(403, CLOUDFLARE), **seen)
        assert isinstance(judged, Failed)
        assert judged.failure.kind is FailureKind.PAGE_CHALLENGE
    plain = outcome(loaded(403, {"Server": "nginx"}))
    assert isinstance(plain, Failed)
    assert plain.failure.kind is FailureKind.STATUS_UNEXPECTED
