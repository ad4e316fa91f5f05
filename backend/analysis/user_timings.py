"""User timings as metrics, written `mark:hero-painted`: what it is, and the name that the page gave it. Pure.

What it is belongs to it: a page may give a mark and a measure the same name, and they are two figures.
"""

# As `workers.measurement.vitals.TimingKind` calls them.
KINDS = ("mark", "measure", "element")


def is_user_timing(metric: str) -> bool:
    """Whether a metric is what a page measures itself. All of them are times."""
    kind, _, name = metric.partition(":")
    return kind in KINDS and bool(name)


def is_instant(timing: str) -> bool:
    """Whether it is counted from the beginning of the navigation, so that whatever delays the page delays it."""
    return not timing.startswith("measure:")


def label_of(timing: str) -> str:
    """How people read it: `mark hero-painted`."""
    return timing.replace(":", " ", 1)
