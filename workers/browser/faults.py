"""What can go wrong with the browser itself, as opposed to the page in it."""


class BrowserError(Exception):
    """The browser could not be started or was lost; the text says how and, where somebody can act, what to do."""
