"""`/api/v1/` answers errors as problems, whichever layer they come from: the router, Django, or a fault of ours."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from backend.api.v1.problems import MEDIA_TYPE, ProblemError, problem, type_of_status
from workers.measurement.routes import AGENT_PATH

_PREFIX = "/api/v1/"
_ERRORS = 400

GetResponse = Callable[[HttpRequest], HttpResponseBase]


def api_answers(get_response: GetResponse) -> GetResponse:
    """HEAD is GET without the body; an error in any other form becomes a problem that keeps status and Allow."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        # Agents speak the wire's own language.
        if not request.path.startswith(_PREFIX) or request.path.startswith(AGENT_PATH):
            return get_response(request)
        is_head = request.method == "HEAD"
        if is_head:
            request.method = "GET"
        response = get_response(request)
        if response.status_code >= _ERRORS and response.headers.get("Content-Type") != MEDIA_TYPE:
            response = _as_problem(request, response)
        return _head_of(response) if is_head else response

    return middleware


def _head_of(response: HttpResponseBase) -> HttpResponseBase:
    """The same without its body; nobody knows the length of one that is made while it is sent."""
    if isinstance(response, StreamingHttpResponse):
        response.streaming_content = ()
    elif isinstance(response, HttpResponse):
        response.headers["Content-Length"] = str(len(response.content))
        response.content = b""
    return response


def _as_problem(request: HttpRequest, response: HttpResponseBase) -> HttpResponse:
    kept = {name: response.headers[name] for name in ("Allow", "Retry-After") if name in response.headers}
    detail = f"Use {kept['Allow']} here." if "Allow" in kept else ""
    return problem(request, ProblemError(type_of_status(response.status_code), detail, headers=kept))
