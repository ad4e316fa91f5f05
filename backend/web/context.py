"""What the frame of every page needs."""

from django.http import HttpRequest

from backend.accounts.models import Theme
from backend.accounts.permissions import Permission
from backend.alerts.queries.inbox import attention_count
from backend.web.access import current_membership, may

THEME_COOKIE = "theme"


def frame(request: HttpRequest) -> dict[str, object]:
    """`theme`, `themes`, `organisation`, `can` (one flag for each permission), `alerts` (how many want attention) and
    `request_id`.
    """
    membership = current_membership(request)
    return {
        "request_id": getattr(request, "request_id", None),
        "theme": _theme(request),
        "themes": Theme.choices,
        "organisation": membership.organisation if membership else None,
        # Asked for when the frame is drawn, not for answers that have none.
        "alerts": lambda: attention_count(membership.organisation) if membership else 0,
        "can": {permission.value: may(membership, permission) for permission in Permission},
    }


def _theme(request: HttpRequest) -> str:
    """The account's; before the sign-in, and on error pages that know no user, the cookie's."""
    user = getattr(request, "user", None)
    if user is not None and user.is_authenticated:
        return str(user.theme)
    cookie = request.COOKIES.get(THEME_COOKIE, "")
    return cookie if cookie in Theme.values else Theme.SYSTEM.value
