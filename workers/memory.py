"""What a long-lived process does about Python's garbage collector."""

import gc

# A batch of results, a probe or a page makes thousands of short-lived objects; the usual 700 would look for cycles
# among them dozens of times. Measured: results are read in half the time, a page run takes 4 ms less of our own.
GARBAGE_AFTER = 20_000


def settle_heap() -> None:
    """Leaves out of every later collection what is there now: call it when all modules are loaded, before a fork.

    What children share with their parent stays shared while the collector does not write into it.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_AFTER)
