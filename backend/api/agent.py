"""The doors for agents: results, heartbeat, progress, pictures. Each asks for the token of a region."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec
from uuid import UUID

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from backend.api.bodies import BodyError, read, read_lines
from backend.fleet.models import Region
from backend.fleet.queries import region_by_token
from backend.runs import agents
from backend.runs.ingest import ingest
from workers.measurement.messages import Heartbeat, Progress, Receipts
from workers.measurement.routes import PictureKind
from workers.measurement.wire import WireError, decode, encode

MAX_MESSAGE_BYTES = 512 * 1024
MAX_PICTURE_BYTES = 1024 * 1024
MAX_HELD = 10_000

P = ParamSpec("P")
AgentView = Callable[Concatenate[HttpRequest, Region, P], HttpResponse]


def agent_door(method: str) -> Callable[[AgentView[P]], Callable[..., HttpResponse]]:
    """Lets one method in, with a region's token, and turns what the body lacks into a status and a sentence."""

    def decorate(view: AgentView[P]) -> Callable[..., HttpResponse]:
        @csrf_exempt
        @login_not_required
        @wraps(view)
        def door(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if request.method != method:
                return _refuse(405, f"Use {method} here.", Allow=method)
            region = _region(request)
            if region is None:
                return _refuse(401, "This needs the token of an enabled region.", **{"WWW-Authenticate": "Bearer"})
            try:
                return view(request, region, *args, **kwargs)
            except BodyError as error:
                return _refuse(error.status, str(error))
            except WireError as error:
                return _refuse(400, f"The message cannot be read: {error}")

        return door

    return decorate


@agent_door("POST")
def results(request: HttpRequest, region: Region) -> HttpResponse:
    """Results, one envelope a line; one receipt for each in the answer."""
    statuses = ingest(region, read_lines(request), now=timezone.now())
    return _message(encode(Receipts(statuses=tuple(statuses))))


@agent_door("POST")
def heartbeat(request: HttpRequest, region: Region) -> HttpResponse:
    """An agent lives and holds these runs; the answer names those that nobody waits for."""
    message = decode(read(request, MAX_MESSAGE_BYTES), Heartbeat)
    if len(message.holding) > MAX_HELD:
        raise BodyError(413, f"A heartbeat names at most {MAX_HELD} runs.")
    return _message(encode(agents.heartbeat(region, message, now=timezone.now())))


@agent_door("POST")
def progress(request: HttpRequest, region: Region) -> HttpResponse:
    """Where a run is. One that is not pending any more is no fault of the agent."""
    agents.note_progress(region, decode(read(request, MAX_MESSAGE_BYTES), Progress))
    return HttpResponse(status=204)


@agent_door("PUT")
def picture(request: HttpRequest, region: Region, run_id: UUID, kind: PictureKind) -> HttpResponse:
    """A picture of a run, before its result."""
    content = read(request, MAX_PICTURE_BYTES)
    if agents.picture_type(content) is None:
        raise BodyError(415, "A picture is JPEG or WebP.")
    if not agents.keep_picture(region, run_id, kind, content):
        return _refuse(404, "No result of this run is awaited from this region.")
    return HttpResponse(status=204)


def _region(request: HttpRequest) -> Region | None:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return region_by_token(token.strip()) if scheme.lower() == "bearer" else None


def _message(body: bytes) -> HttpResponse:
    return HttpResponse(body, content_type="application/json")


def _refuse(status: int, sentence: str, **headers: str) -> HttpResponse:
    return JsonResponse({"error": sentence}, status=status, headers=headers)
