"""Whose setting is told of several: that of whoever answered, by its own word."""

import re
from collections.abc import Iterator, Sequence

from workers.diagnosis.catalogue.entry import Setting
from workers.diagnosis.catalogue.settings import CDNS, SERVERS
from workers.measurement.messages import Measurement, ProbeMeasurement

# Products that stand for one of them in the Server header, in small letters.
_PRODUCTS = {
    "nginx": "nginx",
    "openresty": "nginx",
    "apache": "Apache",
    "caddy": "Caddy",
    "cloudflare": "Cloudflare",
    "fastly": "Fastly",
    "cloudfront": "CloudFront",
    "akamaighost": "Akamai",
    "akamainetstorage": "Akamai",
    "microsoft-iis": "Windows Server",
}
# What is not the site's to set beneath whoever answered: a CDN's system and certificates, Linux beneath Windows.
_NOT_BENEATH = dict.fromkeys(CDNS, frozenset({"Linux", "Windows Server", "certbot"})) | {
    "Windows Server": frozenset({"Linux"})
}
_COMMENT = re.compile(r"\([^()]*\)")


def answered_by(measured: Measurement) -> str | None:
    """The Server header of what answered a probe last. None without one, and where several hosts answered."""
    if not isinstance(measured, ProbeMeasurement) or not measured.hops:
        return None
    headers = measured.hops[-1].response_headers
    return next((header.value for header in headers if header.name.lower() == "server"), None)


def setting_for(settings: Sequence[Setting], server: str | None) -> str | None:
    """What to write in whoever answers so in its Server header. Of one that is known and needs another that is not,
    none; where nobody knows who answers, the first for an example."""
    name = _known(server)
    possible = [one for one in settings if one.server not in _NOT_BENEATH.get(name or "", ())]
    fitting = next((one for one in possible if one.server == name), None)
    if fitting is None and name in SERVERS:
        fitting = next((one for one in possible if one.server not in SERVERS), None)
    if fitting is not None:
        return f"{fitting.server}: {fitting.setting}"
    return None if name in SERVERS else _example(possible)


def _example(settings: Sequence[Setting]) -> str | None:
    """What lies beneath a server, or in its pages, is the same whoever it is."""
    if not settings:
        return None
    first = settings[0]
    told = f"{first.server}: {first.setting}"
    return f"for example, in {told}" if first.server in SERVERS else told


def _known(server: str | None) -> str | None:
    return next((_PRODUCTS[product] for product in _products(server or "") if product in _PRODUCTS), None)


def _products(server: str) -> Iterator[str]:
    """As RFC 9110 has them (10.2.4): words, each with its version behind a slash, and comments in between."""
    return (word.partition("/")[0].lower() for word in _COMMENT.sub(" ", server).split())
