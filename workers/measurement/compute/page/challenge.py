"""Whether a server asked for proof that a person visits, instead of showing the page. Strict: a page that has a captcha
in its own form is a page.

The signs are those that the vendors document of their own answers, or names that only their interstitial pages load.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from workers.measurement.connection import Header
from workers.measurement.waterfall import Request, ResourceType, RowFlag

# An interstitial page is a few lines that load a script; a page of one's own with so little in it is no 403.
SHORT_BYTES = 30_000
_REFUSED = frozenset({401, 403, 405, 428, 429, 503})
# Captchas that sites use in their own forms too: they prove something only where the page itself was refused.
_WIDGETS = (
    ("challenges.cloudflare.com", "/turnstile/", "Cloudflare Turnstile"),
    ("www.google.com", "/recaptcha/", "reCAPTCHA"),
    ("www.recaptcha.net", "/recaptcha/", "reCAPTCHA"),
    ("hcaptcha.com", "/", "hCaptcha"),
    ("js.hcaptcha.com", "/", "hCaptcha"),
    ("newassets.hcaptcha.com", "/", "hCaptcha"),
)
_WIDGET_STATUS = frozenset({403, 429})
# What an interstitial loads: host (empty for the page's own), beginning of the path, vendor. What a vendor's own host
# has may also come when a script of an ordinary page was refused. Akamai's `sec-cpt-3-6.js` and `sec-3-6.css` stand in
# ordinary pages, in case one of their scripts is refused: only the frame and the script of its interstitial tell.
_INTERSTITIALS = (
    ("captcha.px-cdn.net", "/", "HUMAN (PerimeterX)"),
    ("captcha.px-cloud.net", "/", "HUMAN (PerimeterX)"),
    ("captcha.perimeterx.net", "/", "HUMAN (PerimeterX)"),
    ("ct.captcha-delivery.com", "/", "DataDome"),
    ("geo.captcha-delivery.com", "/captcha/", "DataDome"),
    ("geo.captcha-delivery.com", "/interstitial/", "DataDome"),
    ("", "/_sec/cp_challenge/ak-challenge-", "Akamai"),
    ("", "/_sec/cp_challenge/crypto_message-", "Akamai"),
    ("", "/_sec/cp_challenge/sec-cpt-int-", "Akamai"),
    ("", "/_fs-ch-", "Fastly"),
    ("", "/.within.website/x/cmd/anubis/", "Anubis"),
)
# Titles of interstitials, with the server that must have sent them and the statuses that they come with.
_TITLES = (
    ("just a moment...", "server", "cloudflare", "Cloudflare"),
    ("you are being redirected...", "server", "sucuri", "Sucuri"),
    ("ddos-guard", "server", "ddos-guard", "DDoS-Guard"),
)
# Radware leads the visitor to a host of its own.
_HOSTS = {"validate.perfdrive.com": "Radware"}
_INCAPSULA_BYTES = 3_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenge:
    """Who asked, and what shows it."""

    vendor: str
    evidence: str

    def __str__(self) -> str:
        return f"{self.vendor} ({self.evidence})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A document as the browser showed it. `asked` are the addresses that it loaded."""

    url: str
    status: int | None
    headers: tuple[Header, ...]
    body_bytes: int | None = None
    title: str | None = None
    asked: tuple[str, ...] = field(default=())


def challenge_by_headers(status: int, headers: Iterable[Header]) -> Challenge | None:
    """What an answer's own head proves."""
    sent = {header.name.lower(): header.value for header in headers}
    for name, judge, vendor in _HEADERS:
        if name in sent and judge(status, value := sent[name].strip().lower()):
            return Challenge(vendor=vendor, evidence=f"{name}: {value[:40]}")
    if status == 429:
        kasada = next((name for name in sent if name.startswith("x-kpsdk-")), None)
        if kasada is not None:
            return Challenge(vendor="Kasada", evidence=f"{kasada}, status 429")
    return None


def challenge_of_page(rows: Sequence[Request], document: int | None, title: str | None) -> Challenge | None:
    """Of a page load: its final document, or one before it that let the browser through after a test. Such a page was
    shown in the end, but not in its own time."""
    tops = [
        row
        for row in rows
        if row.resource_type is ResourceType.DOCUMENT
        and row.number <= (document or 0)
        and not {RowFlag.FRAME, RowFlag.PREFETCH, RowFlag.PRELOAD} & set(row.flags)
    ]
    for row in tops:
        found = None if row.status is None else challenge_by_headers(row.status, row.response_headers)
        if found is not None:
            return found
    final = next((row for row in tops if row.number == document), None)
    return None if final is None else challenge_shown(_shown(final, rows, title))


def challenge_shown(page: Shown) -> Challenge | None:
    """What a document that stands there proves by itself, by its title, its size and what it loaded."""
    host = _place(page.url)[0]
    if host in _HOSTS:
        return Challenge(vendor=_HOSTS[host], evidence=f"the page is at {host}")
    if (page.body_bytes or 0) > SHORT_BYTES:
        return None
    return _by_title(page) or _by_what_it_loads(page, host) or _incapsula(page, host)


def _shown(final: Request, rows: Sequence[Request], title: str | None) -> Shown:
    return Shown(
        url=final.url,
        status=final.status,
        headers=final.response_headers,
        body_bytes=final.body_bytes,
        title=title,
        asked=tuple(row.url for row in rows if row.number > final.number),
    )


def _by_title(page: Shown) -> Challenge | None:
    title = (page.title or "").strip().lower()
    for text, name, value, vendor in _TITLES:
        sent = next((header.value.lower() for header in page.headers if header.name.lower() == name), "")
        if title == text and sent.startswith(value) and (page.status in _REFUSED or vendor == "Sucuri"):
            return Challenge(vendor=vendor, evidence=f"{name}: {value}, title {title!r}")
    return None


def _by_what_it_loads(page: Shown, own: str) -> Challenge | None:
    for host, path in map(_place, page.asked):
        for known, begins, vendor in _INTERSTITIALS:
            is_refused = not known or page.status in _REFUSED
            if is_refused and host == (known or own) and path.startswith(begins):
                return Challenge(vendor=vendor, evidence=f"the page loads {host}{begins}")
        for known, begins, vendor in _WIDGETS:
            if host == known and path.startswith(begins) and page.status in _WIDGET_STATUS:
                return Challenge(vendor=vendor, evidence=f"status {page.status}, and the page loads {host}{begins}")
    return None


def _incapsula(page: Shown, own: str) -> Challenge | None:
    """Imperva adds its script to ordinary pages too: an interstitial has nothing else, not even a title."""
    loads = any(host == own and path.startswith("/_Incapsula_Resource") for host, path in map(_place, page.asked))
    marked = any(header.name.lower() == "x-iinfo" for header in page.headers)
    if loads and marked and not page.title and (page.body_bytes or 0) <= _INCAPSULA_BYTES:
        return Challenge(vendor="Imperva", evidence="x-iinfo, and the page is its script alone")
    return None


def _place(url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url)
        return parts.hostname or "", parts.path
    except ValueError:
        return "", ""


def _is(*values: str) -> Callable[[int, str], bool]:
    return lambda _status, value: value in values


def _refused(*values: str) -> Callable[[int, str], bool]:
    return lambda status, value: status in _REFUSED and (not values or value in values)


# Header, what it must say with which status, vendor.
_HEADERS: tuple[tuple[str, Callable[[int, str], bool], str], ...] = (
    ("cf-mitigated", _is("challenge"), "Cloudflare"),
    ("x-amzn-waf-action", _is("challenge", "captcha"), "AWS WAF"),
    ("x-vercel-mitigated", _is("challenge"), "Vercel"),
    # 1 is an interstitial, 2 a captcha; with them DataDome sends 403 or 401.
    ("x-dd-b", _refused("1", "2"), "DataDome"),
    ("sec-cp-challenge", _refused("true"), "Akamai"),
)
