"""`/api/v1/`. The agents' paths are those of `workers.measurement.routes`; a test compares them."""

from collections.abc import Callable
from typing import cast

from django.contrib.auth.decorators import login_not_required
from django.urls import URLPattern, path

from backend.api import agent, slack
from backend.api.v1 import api
from backend.api.v1.docs import openapi_json, problem_page, reference
from workers.measurement.routes import PictureKind


def _routes() -> list[URLPattern]:
    """Ninja's, without its own start page. They ask for tokens themselves, so nobody is led to the sign-in."""
    patterns = [cast(URLPattern, pattern) for pattern in api.urls[0] if cast(URLPattern, pattern).name != "api-root"]
    for pattern in patterns:
        pattern.callback = login_not_required(cast(Callable[..., object], pattern.callback))  # type: ignore[type-var]  # a view
    return patterns


app_name = "api"
urlpatterns = [
    path("agent/results", agent.results, name="agent-results"),
    path("agent/heartbeat", agent.heartbeat, name="agent-heartbeat"),
    path("agent/progress", agent.progress, name="agent-progress"),
    *(path(f"agent/{kind}/<uuid:run_id>", agent.picture, {"kind": kind}, name=f"agent-{kind}") for kind in PictureKind),
    path("slack/pressed", slack.pressed, name="slack-pressed"),
    path("openapi.json", openapi_json, name="openapi"),
    path("docs", reference, name="docs"),
    path("problems/<slug:slug>", problem_page, name="problem"),
    *_routes(),
]
