"""What a long-lived process does about Python's garbage collector."""

import gc

# A batch of results makes some ten thousand short-lived objects; the usual 700 would look for cycles among them, and
# among all of Django, dozens of times. Measured: reading results takes half the time.
_THRESHOLD = 20_000


def settle_heap() -> None:
    """Leaves out of every later collection what is there now: call it when all modules are loaded."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_THRESHOLD)
