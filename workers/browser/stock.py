"""What could be better about a page, asked of the browser after the load: pictures larger than they are shown, what
gzip would have made of texts that came uncompressed, the hosts that the page asks to connect to ahead, whether its
texts wait for their fonts, and where the document begins to show something, if the first paint may have waited for a
file: nowhere where its styles hide it until a script has come. Nothing is asked of the network.

Chromium obeys `preconnect` in its first profile only: neither the headless shell nor a context of its own opens a
connection ahead where a page asks for it.
"""

import asyncio
import base64
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workers.browser.asking import Ask, evaluate
from workers.measurement.captures_page import BodySeen, DevToolsEvent, PictureSeen, TextSeen
from workers.measurement.compute.page.blocking import blocking_of
from workers.measurement.compute.page.shown import body_of
from workers.measurement.compute.page.standing import MAX_CHARS, Tag, is_made, make_tag, stands_in
from workers.measurement.page_view import MAX_HINTS, MAX_PICTURES, MAX_TEXTS
from workers.measurement.waterfall import Blocking
from workers.measurement.web_address import host_of

_FAINT, _STOCK, _PLAIN = (
    (Path(__file__).parent / "scripts" / name).read_text("utf-8").rstrip().removesuffix(";")
    for name in ("faint.js", "stock.js", "plain.js")
)
# A block comes to what its last expression does, and leaves no name behind.
_DOCUMENT = f"{{ {_FAINT};\n{_STOCK} }}"
# A body is brought over from the page's process, and compressed here.
MIN_TEXT_BYTES = 2_000
MAX_TEXT_BYTES = 2_000_000
_TEXT_TYPES = frozenset({"Document", "Stylesheet", "Script", "XHR", "Fetch"})
_MAX_HOST_CHARS = 253
# The level that most servers have by default (nginx 1, Apache and Caddy 6); what it saves differs by little.
_LEVEL = 6
_SENT = "Network.requestWillBeSent"
# DevTools' words for what may make a page.
_MAKING = frozenset({"Script", "Fetch", "XHR"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Stock:
    """What was told; nothing where the page did not answer. `hints` are hosts, None when nobody could look. `blocking`
    are addresses that a link asked for and that held the paint up, by the word of Resource Timing."""

    pictures: tuple[PictureSeen, ...] = ()
    texts: tuple[TextSeen, ...] = ()
    hints: tuple[str, ...] | None = None
    text_waits: bool | None = None
    text_made: bool | None = None
    body: BodySeen | None = None
    blocking: tuple[str, ...] = ()


async def take_stock(ask: Ask, main_frame: str, events: Sequence[DevToolsEvent]) -> Stock:
    """Of a page that stands as it has loaded; `events` are those of its load."""
    document, text = await _document(ask, main_frame), ""
    blocking = tuple(_words(document.get("blocking")))
    is_held = bool(blocking) or any(_may_hold(params) for params in _sent(main_frame, events))
    waits = told if isinstance(told := document.get("waits"), bool) else None
    words = str(document.get("words") or "")
    if is_held or waits:
        text = await _source(ask, main_frame, events)
    return Stock(
        pictures=tuple(_pictures(document.get("pictures")))[:MAX_PICTURES],
        texts=await _texts(ask, main_frame, events),
        hints=_hosts(document.get("hints")),
        text_waits=await _waits(ask, main_frame, events, text, document.get("text")) if waits is True else waits,
        text_made=await asyncio.to_thread(is_made, text, words) if words and 0 < len(text) <= MAX_CHARS else None,
        body=await asyncio.to_thread(body_of, text, _words(document.get("hiding"))) if is_held and text else None,
        blocking=blocking,
    )


async def _document(ask: Ask, main_frame: str) -> Mapping[str, Any]:
    told = await evaluate(ask, main_frame, _DOCUMENT)
    return told if isinstance(told, dict) else {}


def _pictures(told: object) -> Iterator[PictureSeen]:
    for one in told if isinstance(told, list) else ():
        match one:
            case [str(url), int(width), int(height), int() | float() as scale] if width > 0 and height > 0:
                yield PictureSeen(url, width, height, float(scale))


def _hosts(told: object) -> tuple[str, ...] | None:
    if not isinstance(told, list):
        return None
    hosts = (host_of(url) for url in _words(told))
    return tuple(dict.fromkeys(host for host in hosts if 0 < len(host) <= _MAX_HOST_CHARS))[:MAX_HINTS]


def _words(told: object) -> list[str]:
    return [one for one in told if isinstance(one, str)] if isinstance(told, list) else []


def _sent(main_frame: str, events: Sequence[DevToolsEvent]) -> list[Mapping[str, Any]]:
    return [params for method, params in events if method == _SENT and params.get("frameId") == main_frame]


async def _source(ask: Ask, main_frame: str, events: Sequence[DevToolsEvent]) -> str:
    """Of the last document of the top frame."""
    sent = _sent(main_frame, events)
    documents = [str(params["requestId"]) for params in sent if params.get("requestId") == params.get("loaderId")]
    if not documents:
        return ""
    return await _body(ask, documents[-1])


async def _body(ask: Ask, request_id: str) -> str:
    """Of a text; empty where it is none, or nobody has it any more."""
    answer = await ask("Network.getResponseBody", {"requestId": request_id})
    if answer is None or answer.get("base64Encoded"):
        return ""
    return str(answer.get("body", ""))


async def _waits(ask: Ask, main_frame: str, events: Sequence[DevToolsEvent], source: str, told: object) -> bool | None:
    """True where the largest text, which waits for its fonts, stood in the document as it came, and nothing else can
    have hidden it; else nobody knows since when it would be shown."""
    if not isinstance(told, Mapping) or not await asyncio.to_thread(_stands, source, told):
        return None
    sent = {str(params.get("request", {}).get("url")): params for params in _sent(main_frame, events)}
    for url in _words(told.get("unread")):
        text = await _body(ask, str(sent[url]["requestId"])) if url in sent else ""
        if not 0 < len(text) <= MAX_TEXT_BYTES or not await _hides_nothing(ask, main_frame, text):
            return None
    return True


async def _hides_nothing(ask: Ask, main_frame: str, text: str) -> bool:
    return await evaluate(ask, main_frame, f"{{ {_FAINT};\n({_PLAIN})({json.dumps(text)}) }}") is True


def _stands(source: str, told: object) -> bool:
    match told:
        case {"words": str(words), "tags": [*tags], "styles": int(styles)}:
            within = [one for each in tags if (one := _tag(each)) is not None]
            return len(within) == len(tags) and stands_in(source, words, within, styles)
    return False


def _tag(told: object) -> Tag | None:
    match told:
        case [str(name), {**attributes}]:
            return make_tag(name, {str(key): str(value) for key, value in attributes.items()})
    return None


def _may_hold(params: Mapping[str, Any]) -> bool:
    """Whether the first paint may have waited for it: it blocks that, or may have made what is shown."""
    blocks = blocking_of(params.get("renderBlockingBehavior")) in (Blocking.PARSER, Blocking.RENDERING)
    return blocks or params.get("type") in _MAKING


async def _texts(ask: Ask, main_frame: str, events: Sequence[DevToolsEvent]) -> tuple[TextSeen, ...]:
    found = []
    for request_id in _largest(main_frame, events):
        answer = await ask("Network.getResponseBody", {"requestId": request_id})
        if answer is None:
            continue
        whole, gzipped = await asyncio.to_thread(_sizes, answer)
        found.append(TextSeen(request_id, whole, gzipped))
    return tuple(found)


def _sizes(answer: Mapping[str, Any]) -> tuple[int, int]:
    text = str(answer.get("body", ""))
    body = base64.b64decode(text) if answer.get("base64Encoded") else text.encode(errors="replace")
    return len(body), len(zlib.compress(body, _LEVEL))


def _largest(main_frame: str, events: Sequence[DevToolsEvent]) -> list[str]:
    """Texts without an encoding that came over the network, the largest first."""
    plain = {
        str(params.get("requestId"))
        for method, params in events
        if method == "Network.responseReceived" and _is_plain(params, main_frame)
    }
    sizes = {
        str(params.get("requestId")): float(params.get("encodedDataLength") or 0)
        for method, params in events
        if method == "Network.loadingFinished"
    }
    fit = {key: sizes[key] for key in plain & sizes.keys() if MIN_TEXT_BYTES <= sizes[key] <= MAX_TEXT_BYTES}
    return sorted(fit, key=lambda key: (-fit[key], key))[:MAX_TEXTS]


def _is_plain(params: Mapping[str, Any], main_frame: str) -> bool:
    response = params.get("response") or {}
    headers = response.get("headers") or {}
    if params.get("type") not in _TEXT_TYPES or params.get("frameId") != main_frame:
        return False
    if response.get("fromDiskCache") or response.get("fromServiceWorker") or response.get("status") != 200:
        return False
    return not any(str(name).lower() == "content-encoding" for name in headers)
