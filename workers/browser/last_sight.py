"""The picture of the page at which a script stopped, on which nothing that is secret can be read.

Pixels cannot be searched, so the page's own tree is, as the browser lays it out: every frame, every shadow root, the
content of every field. What shows a secret, or a part of one, is written over in the page; a picture is taken only of a
tree that shows none, and is kept only when the tree still shows none afterwards. Else there is no picture.
"""

import asyncio
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import CDPSession, Error

from workers.browser.picture import picture_of

_PATIENCE_S = 10.0
# A page that writes its fields anew is written over as often.
_ROUNDS = 3
# So often a picture is asked for: of a page that has just come a busy browser may lose the frame that it was to show.
_TRIES = 3
# More nodes than this hold what nobody can write over in time.
_MOST = 200
_DOTS = "\N{BULLET}" * 8
_ELEMENT, _TEXT = 1, 3
# Their content is no text in the tree; a page can draw into them what was typed.
_OPAQUE = frozenset({"CANVAS", "EMBED", "OBJECT"})
# Fields whose value is no text on the screen; that of a password is masked by the browser itself.
_UNREAD = frozenset({"password", "hidden", "checkbox", "radio", "range", "color", "file", "image"})
_BUTTONS = frozenset({"submit", "button", "reset"})
_WRITE_OVER = """function(names, dots) {
  for (const name of names) this.removeAttribute(name);
  if (this.nodeType === 3) this.data = dots;
  else if (["canvas", "embed", "object"].includes(this.localName)) this.remove();
  else if (!names.length) {
    if (this.localName === "input") this.type = "text";
    this.value = dots;
  }
}"""
Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """A node that shows a secret, by the browser's number: with these attributes, or else with its content."""

    node: int
    names: tuple[str, ...] = field(default=())


async def last_sight(cdp: CDPSession, secrets: Sequence[str], *, frames: int) -> bytes | None:
    """A page with so many frames as it stands; None where it does not answer, or cannot be kept from showing one of
    `secrets`. Changes the page.
    """
    wanted = {_bare(secret) for secret in secrets if secret}
    if "" in wanted:
        # Signs alone are everywhere.
        return None
    with contextlib.suppress(Error, TimeoutError):
        async with asyncio.timeout(_PATIENCE_S):
            if not wanted:
                return await _taken(cdp)
            if await _cover(cdp, wanted, frames):
                picture = await _taken(cdp)
                return picture if await _shown(cdp, wanted, frames) == [] else None
    return None


async def _taken(cdp: CDPSession) -> bytes | None:
    """The page as it stands. Raises Error when the browser could not picture it at the last try either."""
    for _ in range(_TRIES - 1):
        with contextlib.suppress(Error, TimeoutError):
            async with asyncio.timeout(_PATIENCE_S / _TRIES):
                return await picture_of(cdp.send)
    return await picture_of(cdp.send)


async def _cover(cdp: CDPSession, secrets: AbstractSet[str], frames: int) -> bool:
    """Writes over what shows a secret; whether nothing does any more."""
    for _ in range(_ROUNDS):
        shown = await _shown(cdp, secrets, frames)
        if shown is None or len(shown) > _MOST:
            return False
        if not shown:
            return True
        await asyncio.gather(*(_write_over(cdp, one) for one in shown))
    return await _shown(cdp, secrets, frames) == []


async def _write_over(cdp: CDPSession, shown: _Shown) -> None:
    given = [{"value": list(shown.names)}, {"value": _DOTS}]
    # A node may have gone since; what it showed is looked for again.
    with contextlib.suppress(Error):
        found = await cdp.send("DOM.resolveNode", {"backendNodeId": shown.node})
        call = {"objectId": found["object"]["objectId"], "functionDeclaration": _WRITE_OVER, "arguments": given}
        await cdp.send("Runtime.callFunctionOn", call)


async def _shown(cdp: CDPSession, secrets: AbstractSet[str], frames: int) -> list[_Shown] | None:
    """What shows a secret; None where not every frame can be looked into."""
    seen = await cdp.send("DOMSnapshot.captureSnapshot", {"computedStyles": []})
    if len(seen["documents"]) < frames:
        return None
    return [one for document in seen["documents"] for one in _Tree(document, seen["strings"]).shown(secrets)]


class _Tree:
    """One document of a snapshot, whose texts are numbers of a table."""

    def __init__(self, document: Json, strings: Sequence[str]) -> None:
        self._strings = strings
        nodes = document["nodes"]
        self._layout: Json = document["layout"]
        self._parents: Sequence[int] = nodes["parentIndex"]
        self._ids: Sequence[int] = nodes["backendNodeId"]
        self._types: Sequence[int] = nodes["nodeType"]
        self._contents: Sequence[int] = nodes["nodeValue"]
        self._names = [self._text(number).upper() for number in nodes["nodeName"]]
        self._attributes: Sequence[Sequence[int]] = nodes["attributes"]
        self._values = self._rare(nodes.get("inputValue")) | self._rare(nodes.get("textValue"))

    def shown(self, secrets: AbstractSet[str]) -> Iterator[_Shown]:
        """What shows one of the secrets, which are bare."""
        for index, name in enumerate(self._names):
            if name in _OPAQUE:
                yield _Shown(node=self._ids[index])
            elif self._types[index] == _ELEMENT:
                yield from self._element(index, secrets)
        texts = self._texts()
        yield from (_Shown(node=self._ids[index]) for index in sorted(_holders(texts, secrets)))

    def _element(self, index: int, secrets: AbstractSet[str]) -> Iterator[_Shown]:
        pairs = self._pairs(index)
        kind = pairs.get("type", "").lower() if self._names[index] == "INPUT" else ""
        telling = tuple(name for name, value in pairs.items() if any(secret in _bare(value) for secret in secrets))
        if telling and kind not in _UNREAD:
            yield _Shown(node=self._ids[index], names=telling)
        value = self._values.get(index, "")
        if value == _DOTS or kind in _UNREAD:
            return
        bare = _bare(value)
        # A field may have cut off what was typed, or hold one letter of it beside others that hold the rest.
        if bare and any(secret in bare or (kind not in _BUTTONS and bare in secret) for secret in secrets):
            yield _Shown(node=self._ids[index])

    def _texts(self) -> list[tuple[int, str]]:
        """What is laid out as text, by its node, and the options of lists, whose choice is drawn by the browser."""
        drawn = zip(self._layout["nodeIndex"], self._layout["text"], strict=True)
        texts = [(index, self._text(number)) for index, number in drawn if number >= 0]
        options = [index for index, kind in enumerate(self._types) if kind == _TEXT and self._is_option(index)]
        return texts + [(index, self._text(self._contents[index])) for index in options]

    def _is_option(self, index: int) -> bool:
        return self._parents[index] >= 0 and self._names[self._parents[index]] == "OPTION"

    def _pairs(self, index: int) -> Mapping[str, str]:
        told = [self._text(number) for number in self._attributes[index]]
        return dict(zip(told[::2], told[1::2], strict=False))

    def _rare(self, told: Json | None) -> dict[int, str]:
        return {} if told is None else dict(zip(told["index"], map(self._text, told["value"]), strict=True))

    def _text(self, number: int) -> str:
        return self._strings[number] if number >= 0 else ""


def _holders(texts: Sequence[tuple[int, str]], secrets: AbstractSet[str]) -> set[int]:
    """The nodes over which a secret is written, in one of them or across several."""
    letters = [(place, char) for place, (_, text) in enumerate(texts) for char in _bare(text)]
    whole, found = "".join(char for _, char in letters), set[int]()
    for secret in secrets:
        at = whole.find(secret)
        while at >= 0:
            first, last = letters[at][0], letters[at + len(secret) - 1][0]
            # With the signs between its letters, which may stand by themselves.
            found.update(index for index, _ in texts[first : last + 1])
            at = whole.find(secret, at + 1)
    return found


def _bare(text: str) -> str:
    """Only what is read aloud of it: pages put spaces and hyphens into what is typed, and write it in capitals."""
    return "".join(char for char in text.casefold() if char.isalnum())
