"""Shared by the tests of the API: a site with its monitors, and a program that may do everything there."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from backend.api.tests.v1.calling import Program
    from backend.api.tests.v1.world import World
    from backend.cast import Member
    from backend.compare.models import Pairing

# Models exist only after Django's set-up, which comes after this module.


@pytest.fixture
def world(alice: "Member") -> "World":
    from backend.api.tests.v1.world import make_world  # noqa: PLC0415

    return make_world(alice)


@pytest.fixture
def program(alice: "Member") -> "Program":
    from backend.api.tests.v1.calling import Program, make_token  # noqa: PLC0415

    return Program(make_token(alice))


@pytest.fixture
def pairing(world: "World") -> "Pairing":
    from backend.api.tests.v1.world import make_pairing  # noqa: PLC0415

    return make_pairing(world)
