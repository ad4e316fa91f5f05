"""How a waterfall looks and speaks, said once: heights, words and signs. `contract.py` hands them to the script.

Colours stand under the same names in `frontend/src/styles/tokens.css`.
"""

from typing import Literal

from backend.alerts.metrics import LABELS
from backend.web.waterfall.axis import MarkKey
from backend.web.waterfall.segments import Phase

BAR_HEIGHT = 14
ROW_HEIGHT = 27
LANE_HEIGHT = 9
# Of one line of labels over the axis.
LABEL_HEIGHT = 14
# More requests at a time than this share lanes.
MAX_LANES = 12
# A bar narrower than this many percent of the axis gets an outline of one pixel, so that it can be seen.
TINY_PERCENT = 0.15

# Top and height of each phase: a second way to tell them apart beside colour.
SHAPES: dict[Phase, tuple[int, int]] = {
    "queued": (5, 4),
    "idle": (6, 2),
    "dns": (2, 10),
    "connect": (2, 10),
    "tls": (2, 10),
    "wait": (2, 10),
    "download": (0, 14),
    "open": (2, 10),
}
# … and of what is all that there is of a row, low and without a length: as high as a phase, or nobody would find it.
INSTANT: tuple[int, int] = (2, 10)
# The same within one lane of a connection, where requests share the time.
LANE_SHAPES: dict[Phase, tuple[int, int]] = {
    "queued": (3, 2),
    "idle": (4, 1),
    "dns": (1, 6),
    "connect": (1, 6),
    "tls": (1, 6),
    "wait": (2, 4),
    "download": (0, 8),
    "open": (2, 4),
}

PHASES: tuple[Phase, ...] = tuple(SHAPES)
# In the order of time, and what is no phase at its end.
LEGEND: tuple[Phase, ...] = ("queued", "dns", "connect", "tls", "wait", "download", "idle", "open")

MARK_NAMES: dict[MarkKey, str] = {
    "first-byte": LABELS["ttfb"],
    "start-render": LABELS["start_render"],
    "fcp": LABELS["fcp"],
    "lcp": LABELS["lcp"],
    "dcl": "DOM ready",
    "load": LABELS["load"],
    "shift": LABELS["cls"],
    "user-timing": "User timing",
}

Trait = Literal["differs", "failed", "blocking", "third-party", "cached", "redirect"]
TRAITS: dict[Trait, str] = {
    "differs": "differences",
    "failed": "failed",
    "blocking": "render blocking",
    "third-party": "third party",
    "redirect": "redirects",
    "cached": "from a cache",
}

BLOCKS = "blocks rendering"
LARGEST = "largest paint"
STILL_OPEN = "still open"
ONLY_HERE = "only here"
# A sign before a row's remark, so that the gravest are found at a glance and without colour.
NOTE_SIGNS: dict[str, str] = {
    BLOCKS: "\N{BLACK DIAMOND}",
    LARGEST: "\N{BLACK STAR}",
    STILL_OPEN: "\N{HORIZONTAL ELLIPSIS}",
    ONLY_HERE: "\N{LARGE CIRCLE}",
}


def number_text(value: float) -> str:
    """As JavaScript writes it: without an exponent or a zero at its end."""
    return f"{value:.4f}".rstrip("0").rstrip(".")


def svg_height(lanes: int) -> int:
    """The height of a row's drawing in pixels."""
    return BAR_HEIGHT if lanes == 1 else lanes * LANE_HEIGHT


def place_of(phase: Phase, lane: int, lanes: int) -> tuple[int, int]:
    """Top and height of a bar; lane -1 is all of them, as for the setting up of a connection."""
    if lanes == 1:
        return SHAPES[phase]
    top, height = LANE_SHAPES[phase]
    if lane < 0:
        return top, (lanes - 1) * LANE_HEIGHT + height
    return lane * LANE_HEIGHT + top, height
