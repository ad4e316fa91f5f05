"""`/api/v1/`. The agents' paths are those of `workers.measurement.routes`; a test compares them."""

from django.urls import path

from backend.api import agent

app_name = "api"
urlpatterns = [
    path("agent/results", agent.results, name="agent-results"),
    path("agent/heartbeat", agent.heartbeat, name="agent-heartbeat"),
    path("agent/progress", agent.progress, name="agent-progress"),
    path("agent/screenshots/<uuid:run_id>", agent.screenshot, name="agent-screenshot"),
]
