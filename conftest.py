"""For every suite: hypothesis tries the same examples each time, whatever else runs, was imported or has changed.

`-m hypothesis --hypothesis-profile=explore` tries many more, and others each time; what it finds becomes an `@example`.
"""

import gc
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from workers.memory import GARBAGE_AFTER

# Tells at the end what was measured more than once.
pytest_plugins = ("workers.tests.second_tries",)

# How long an example takes is the machine's affair: a busy one is no fault of the code.
_UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)

settings.register_profile("gate", _UNHURRIED, derandomize=True, database=None)
settings.register_profile("explore", _UNHURRIED, derandomize=False, max_examples=2_000)
settings.load_profile("gate")


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    """Numbers and words of all code that happens to be imported come among the examples: not where they must stay."""
    if settings.get_current_profile_name() == "gate":
        providers._get_local_constants = Constants


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays until the end: to look through it for garbage, again and again, finds none.

    What tests leave is looked for as seldom as in our own processes: that took a tenth of their processor time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(GARBAGE_AFTER)
        gc.enable()
