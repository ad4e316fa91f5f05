from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from backend.cast import Member
    from backend.compare.tests.world import World


@pytest.fixture
def world(alice: "Member") -> "World":
    """Measured from two regions."""
    # Models exist only after Django's set-up, which comes after this module.
    from backend.compare.tests.world import make_world  # noqa: PLC0415

    return make_world(alice, "eu", "us")
