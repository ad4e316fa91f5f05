"""The text of the CDN page of a site."""

from typing import TYPE_CHECKING

import pytest
from django.test import Client
from django.urls import reverse

if TYPE_CHECKING:
    from backend.web.tests.cdn.shown import Show
    from backend.web.tests.world import World


@pytest.fixture
def show(client: Client, world: "World") -> "Show":
    def text(query: str = "") -> str:
        response = client.get(reverse("web:cdn", args=[world.site.public_id]) + query)
        assert response.status_code == 200
        return response.content.decode()

    return text
