"""The order of the lab's tests, and the way ahead for those that time something."""

from collections.abc import Iterator

import pytest

from workers.tests.netlab import ahead as way

# What keeps both processors busy for as long as all others take, and what it spoils: that would wait for its end.
_FIRST, _LAST = "test_matrix.py", ("test_page_accuracy.py", "test_articles.py")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The matrix comes first, and what it spoils when it is over or nearly so."""
    items.sort(key=lambda item: (item.path.name != _FIRST, item.path.name in _LAST))


@pytest.fixture
def ahead() -> Iterator[None]:
    """For tests that time probes: the matrix measures beside them, ahead of all that is not."""
    with way.ahead():
        yield
