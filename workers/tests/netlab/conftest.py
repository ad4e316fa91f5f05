"""The order of the lab's tests."""

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The matrix takes as long as all others: it comes first, and whole, since each process measures all of it."""
    items.sort(key=lambda item: item.path.name != "test_matrix.py")
