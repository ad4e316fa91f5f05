"""Where a request came from."""

from typing import cast

from allauth.account.adapter import get_adapter
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest


def client_address(request: HttpRequest) -> str | None:
    """As far as the proxies that are trusted say; None where nobody says it, as behind a socket file."""
    try:
        return cast(str, get_adapter().get_client_ip(request))
    except PermissionDenied:
        return None
