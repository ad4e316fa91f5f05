"""What people see of a page, and what they send to it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from django.test import Client

if TYPE_CHECKING:
    from backend.cast import Member

# Who, where, and the fields of a form: the status and the text of the page to which that leads.
Send = Callable[..., tuple[int, str]]


def sending(client: Client) -> Send:
    def post(who: "Member", path: str, **fields: object) -> tuple[int, str]:
        client.force_login(who.user)
        response = client.post(path, fields, follow=True)
        return response.status_code, response.content.decode()

    return post


def look(client: Client, who: "Member", path: str) -> str:
    client.force_login(who.user)
    return client.get(path).content.decode()
