"""Which problem an exception becomes. Domain errors come with a sentence for people; here they get their field."""

from math import ceil
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from backend.alerts.actions.channels import ChannelLimitError, TooSoonError
from backend.alerts.actions.incidents import IncidentError
from backend.alerts.channels.config import ChannelError
from backend.api.v1.bodies import escape
from backend.api.v1.problems import (
    CONFLICT,
    FORBIDDEN,
    INVALID,
    LIMIT_REACHED,
    NOT_FOUND,
    UNAVAILABLE,
    Fault,
    ProblemError,
    invalid,
    problem,
    type_of_status,
)
from backend.declared.carrying import DeclarationError
from backend.faults import FieldFaultError, InvalidError
from backend.runs.actions import RunsError, TooManyRunsError
from backend.runs.sharing import SharingError
from backend.sites.actions import SiteLimitError
from backend.sites.monitor_settings import InvalidMonitorError
from workers.measurement.page_options import PageOptions
from workers.measurement.target import TargetError


def problem_of(error: Exception) -> ProblemError | None:
    """The problem that an exception stands for; None for a fault of ours."""
    match error:
        case ProblemError():
            return error
        case Http404():
            return ProblemError(NOT_FOUND)
        case PermissionDenied():
            return ProblemError(FORBIDDEN, str(error))
        case ValidationError():
            return ProblemError(INVALID, faults=[_fault(one) for one in error.errors])
        case HttpError():
            return ProblemError(type_of_status(error.status_code), str(error))
        case OperationalError() | InterfaceError():
            return ProblemError(UNAVAILABLE, headers={"Retry-After": "5"})
    return _problem_of_what_was_asked(error)


def _problem_of_what_was_asked(error: Exception) -> ProblemError | None:
    match error:
        case DeclarationError():
            return ProblemError(INVALID, faults=[Fault(f"#/{place}", text) for place, text in error.faults.items()])
        case TargetError():
            return invalid("#/url", str(error))
        case InvalidMonitorError():
            return ProblemError(INVALID, faults=[Fault(_setting(name), text) for name, text in error.faults.items()])
        case InvalidError():
            return ProblemError(INVALID, faults=[Fault(_pointer(name), text) for name, text in error.faults.items()])
        case TooManyRunsError():
            return ProblemError(LIMIT_REACHED, str(error), headers={"Retry-After": "30"})
        case RunsError():
            return invalid("#/regions", str(error))
        case SiteLimitError() | ChannelLimitError() | SharingError():
            return ProblemError(LIMIT_REACHED, str(error))
        case TooSoonError():
            return ProblemError(CONFLICT, str(error), headers={"Retry-After": str(ceil(error.seconds))})
        case IncidentError(field="incident"):
            return ProblemError(CONFLICT, str(error))
        case ChannelError(field="token" | "conversation" | "signing_secret"):
            return invalid(f"#/slack_app/{error.field}", str(error))
        case FieldFaultError():
            return invalid(f"#/{error.field}", str(error))
    return None


def install(api: NinjaAPI) -> None:
    """Makes the API answer so. What is no problem goes on to Django, which logs it and answers 500."""

    def handle(request: HttpRequest, error: Any) -> HttpResponse:
        found = problem_of(error)
        if found is None:
            raise error
        return problem(request, found)

    for kind in (Exception, Http404, HttpError, ValidationError):
        api.add_exception_handler(kind, handle)


def _fault(error: dict[str, Any]) -> Fault:
    """From what Pydantic says: `("body", "site", "url")` is `#/url`, the name of the argument left out."""
    source, *rest = error["loc"]
    names = [escape(str(name)) for name in rest]
    message = str(error["msg"]).removeprefix("Value error, ")
    if source == "body":
        return Fault("#" + "".join(f"/{name}" for name in names[1:]), _sentence(message))
    return Fault(f"?{names[-1]}" if source == "query" else names[-1], _sentence(message))


def _pointer(name: str) -> str:
    """`params.limit` is `#/params/limit`."""
    return "#/" + "/".join(escape(part) for part in name.split(".", 1))


def _sentence(message: str) -> str:
    return message if message.endswith(".") else f"{message}."


def _setting(name: str) -> str:
    """Where a monitor's setting stands: those of its page one level down."""
    return f"#/page/{name}" if name in PageOptions.__slots__ else f"#/{name}"
