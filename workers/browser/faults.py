"""What can go wrong with the browser itself, as opposed to the page in it."""

ENDED = "the browser ended in the middle of the run"


class BrowserError(Exception):
    """The browser could not be started or was lost; the text says how and, where somebody can act, what to do."""


class CanaryError(BrowserError):
    """The browser was not cold at a page of our own: nothing that it measures may be believed."""

    def __init__(self, fault: str) -> None:
        super().__init__(f"it is out of service, because it failed at a page of our own: {fault}")
