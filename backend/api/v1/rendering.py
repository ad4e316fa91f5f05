"""How answers become bytes."""

from typing import Any

from django.http import HttpRequest
from ninja.operation import Operation
from ninja.renderers import BaseRenderer
from pydantic_core import to_json


class FastRenderer(BaseRenderer):
    """JSON as Pydantic writes it: RFC 3339 with Z, ids as texts, in a tenth of the time of Python's own encoder."""

    media_type = "application/json"

    def render(self, request: HttpRequest, data: Any, *, response_status: int) -> bytes:
        return to_json(data)


def operation_id(operation: Operation) -> str:
    """The name of the function: what generated clients will call it."""
    return operation.view_func.__name__
