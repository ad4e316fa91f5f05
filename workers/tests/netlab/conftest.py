"""The order of the lab's tests, and the way ahead for those that time something."""

from collections.abc import Iterator

import pytest

from workers.tests.netlab import ahead as way


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The matrix comes first: it takes as long as all others."""
    items.sort(key=lambda item: item.path.name != "test_matrix.py")


@pytest.fixture
def ahead() -> Iterator[None]:
    """For tests that time probes: the matrix measures beside them, ahead of all that is not."""
    with way.ahead():
        yield
