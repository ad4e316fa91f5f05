"""The order of the lab's tests."""

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The matrix comes first: it takes as long as all others."""
    items.sort(key=lambda item: item.path.name != "test_matrix.py")
