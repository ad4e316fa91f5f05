"""The views of one load: the first, in which everything is cold, and the one that may follow it."""

from dataclasses import dataclass

from workers.browser.capture import Loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One load of a run. `repeat` is None where none was asked for or the first view came to nothing.

    `hole` is the address, of nobody's but ours, that its black holes led to.
    """

    first: Loaded
    repeat: Loaded | None = None
    hole: str | None = None

    @property
    def sound(self) -> bool:
        """Whether the browser may be given another run."""
        return self.first.sound and (self.repeat is None or self.repeat.sound)

    @property
    def outgrew_memory(self) -> bool:
        """Whether its page was ended for that, and the browser may have ended with it."""
        views = (self.first,) if self.repeat is None else (self.first, self.repeat)
        return any(view.capture.memory_limit_bytes is not None for view in views)


def may_repeat(first: Loaded) -> bool:
    """Whether there is anything that a second view could find warm."""
    return first.sound and first.capture.load_seen and first.capture.net_error is None
