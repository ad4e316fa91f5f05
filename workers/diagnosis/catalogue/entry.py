"""How a cause is told to people: what each entry of the catalogue holds."""

from dataclasses import dataclass
from enum import StrEnum


class Counts(StrEnum):
    """For whom a repair saves its milliseconds."""

    NEW_VISIT = "new_visit"
    RETURNING_VISIT = "returning_visit"
    EACH_REQUEST = "each_request"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What to write, or to switch on, in one server or CDN; `setting` may have several lines."""

    server: str
    setting: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One cause: `title` for a list, `explanation` in two sentences, `advice` as what to do.

    `counts` says for whom the saving counts; None where the cost is no time.
    """

    title: str
    explanation: str
    advice: str
    counts: Counts | None = None
    settings: tuple[Setting, ...] = ()


def settings(**by_server: str) -> tuple[Setting, ...]:
    """Settings by server, in the order given."""
    return tuple(Setting(server=_NAMES[key], setting=text) for key, text in by_server.items())


_NAMES = {
    "nginx": "nginx",
    "apache": "Apache",
    "haproxy": "HAProxy",
    "caddy": "Caddy",
    "cloudflare": "Cloudflare",
    "fastly": "Fastly",
    "cloudfront": "CloudFront",
    "akamai": "Akamai",
    "linux": "Linux",
    "openssl": "OpenSSL",
    "dns": "DNS zone",
    "html": "HTML",
    "certbot": "certbot",
}
