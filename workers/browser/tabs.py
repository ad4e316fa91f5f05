"""Which step asked for another tab. None is opened, so what was to happen there happens nowhere, and is told."""

from typing import Any

from playwright.async_api import CDPSession

from workers.browser.hearing import hear
from workers.measurement.compute.texts import plain
from workers.measurement.redaction import Masks, Redaction

_MAX_SHOWN_CHARS = 120
_ADVICE = "but steps are done in one: visit its address instead"


class Tabs:
    """Of one page whose DevTools tell of pages. `at` says what is being done."""

    def __init__(self, cdp: CDPSession) -> None:
        self._doing = ""
        self._asked: dict[str, str] = {}
        hear(cdp, "Page.windowOpen", self._open)

    def at(self, step: str) -> None:
        """A step that may ask for a tab, in words, is begun."""
        self._doing = step

    def asked_by(self, step: str) -> str | None:
        """The sentence on a step that asked for a tab."""
        where = self._asked.get(step)
        return None if where is None else f"{step} asked for another tab{where}, {_ADVICE}"

    def told_before(self, text: str) -> str:
        """What went wrong later, and before it the last step that asked for a tab, which may be why."""
        asked = [sentence for step in self._asked if (sentence := self.asked_by(step)) is not None]
        return "; ".join([*asked[-1:], text])

    def _open(self, event: dict[str, Any]) -> None:
        url = str(event.get("url") or "")
        where = plain(Masks(Redaction.STANDARD).url(url), _MAX_SHOWN_CHARS) if url.startswith("http") else ""
        if self._doing and len(self._asked) < 50:
            self._asked[self._doing] = f", {where}" if where else ""
