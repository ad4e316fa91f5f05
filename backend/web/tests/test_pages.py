"""Each page as its reader sees it, without a script."""

import pytest
from django.test import Client

from backend.cast import Member

pytestmark = pytest.mark.django_db


def page(client: Client, member: Member, address: str) -> str:
    client.force_login(member.user)
    response = client.get(address)
    assert response.status_code == 200, response.content[:300]
    return response.content.decode()


def test_without_sites_the_first_page_asks_for_a_region_first(client: Client, alice: Member) -> None:
    assert "First a region is needed" in page(client, alice, "/sites/")
