"""A site of Alice's, and the text of its CDN page."""

from typing import TYPE_CHECKING

import pytest
from django.test import Client
from django.urls import reverse

if TYPE_CHECKING:
    from backend.cast import Member
    from backend.web.tests.cdn.shown import Show
    from backend.web.tests.world import World


@pytest.fixture
def world(alice: "Member", client: Client) -> "World":
    # Models exist only after Django's set-up, which comes after this module.
    from backend.web.tests.world import make_world  # noqa: PLC0415

    client.force_login(alice.user)
    return make_world(alice)


@pytest.fixture
def show(client: Client, world: "World") -> "Show":
    def text(query: str = "") -> str:
        response = client.get(reverse("web:cdn", args=[world.site.public_id]) + query)
        assert response.status_code == 200
        return response.content.decode()

    return text
