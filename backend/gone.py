"""Of two who change the same thing at once, the later one may find that it is deleted."""

import logging
from collections.abc import Callable

from django.core.exceptions import ObjectDoesNotExist
from django.http import HttpRequest, HttpResponse
from django.views.defaults import page_not_found
from psycopg.errors import ForeignKeyViolation

from backend.safe_methods import SAFE_METHODS
from workers.measurement.routes import AGENT_PATH

log = logging.getLogger(__name__)


class Gone:
    """Middleware. What was to be changed, and somebody else deletes at that moment, is not there: no fault of ours.

    Agents hear of a fault and send again: nothing of what they bring is lost.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self._get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if request.method in SAFE_METHODS or request.path.startswith(AGENT_PATH) or not _says_gone(exception):
            return None
        log.warning("what was to be changed is not there any more", exc_info=exception)
        return page_not_found(request, exception)


def _says_gone(error: Exception) -> bool:
    """Also what was only to be named: PostgreSQL looks for that when all is stored."""
    return isinstance(error, ObjectDoesNotExist) or isinstance(error.__cause__, ForeignKeyViolation)
