"""What a request is for: DevTools' word, or where it has none that of the request itself (Sec-Fetch-Dest)."""

from workers.measurement.compute.devtools.exchange import SOCKET, Exchange
from workers.measurement.compute.header_lines import header_of
from workers.measurement.waterfall import ResourceType

_BY_KIND = {
    "Document": ResourceType.DOCUMENT,
    "Stylesheet": ResourceType.STYLESHEET,
    "Script": ResourceType.SCRIPT,
    "Image": ResourceType.IMAGE,
    "Font": ResourceType.FONT,
    "Media": ResourceType.MEDIA,
    "XHR": ResourceType.FETCH,
    "Fetch": ResourceType.FETCH,
    "EventSource": ResourceType.FETCH,
    SOCKET: ResourceType.WEBSOCKET,
}
# Fetch standard, "request destination"; what a script asks for has an empty one, and so have messages that wait for
# no answer and what is fetched ahead.
_BY_DESTINATION = {
    "script": ResourceType.SCRIPT,
    "worker": ResourceType.SCRIPT,
    "sharedworker": ResourceType.SCRIPT,
    "serviceworker": ResourceType.SCRIPT,
    "audioworklet": ResourceType.SCRIPT,
    "paintworklet": ResourceType.SCRIPT,
    "style": ResourceType.STYLESHEET,
    "image": ResourceType.IMAGE,
    "font": ResourceType.FONT,
    "audio": ResourceType.MEDIA,
    "video": ResourceType.MEDIA,
}
_ASKED_BY_SCRIPT = ("GET", "empty")


def resource_type_of(exchange: Exchange) -> ResourceType:
    """OTHER where neither tells."""
    if exchange.kind in _BY_KIND:
        return _BY_KIND[exchange.kind]
    sent = exchange.request_headers
    wanted = header_of(sent, "sec-fetch-dest") or ""
    ahead = header_of(sent, "sec-purpose") is not None
    if exchange.untold and not ahead and (exchange.method, wanted) == _ASKED_BY_SCRIPT:
        return ResourceType.FETCH
    return _BY_DESTINATION.get(wanted, ResourceType.OTHER)
