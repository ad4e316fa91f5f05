"""Two who change the same thing at once: the later one is told, before what the earlier one saved is lost."""

from django.http import HttpRequest
from django.utils.crypto import salted_hmac

FIELD = "seen"
CHANGED = (
    "This was changed after you had opened it, by somebody else or in another tab. Below is what you typed; "
    "saved again, it takes the place of that."
)


def stamp_of(state: object) -> str:
    """What a form carries of the state it was opened on. It gives nothing of that away, also where that is a secret."""
    return salted_hmac("backend.web.meanwhile", repr(state)).hexdigest()[:16]


def was_changed(request: HttpRequest, stamp: str) -> bool:
    """Whether a form was opened on another state. One that carries no stamp, such as a program's, asks for nothing."""
    return request.POST.get(FIELD, stamp) != stamp
