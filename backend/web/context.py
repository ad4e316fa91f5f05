"""What the frame of every page needs."""

from django.http import HttpRequest


def frame(request: HttpRequest) -> dict[str, object]:
    return {"request_id": getattr(request, "request_id", None)}
