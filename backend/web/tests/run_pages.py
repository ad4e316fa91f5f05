"""Runs that have ended, and the text of the pages on which they stand."""

from django.test import Client
from django.urls import reverse

from backend.runs.models import PendingRun
from backend.web.tests.world import World
from workers.measurement.messages import Outcome


def ended(world: World, kind: str, outcome: Outcome) -> PendingRun:
    pending = world.pending(kind)
    world.end(pending, outcome)
    return pending


def html(client: Client, run: PendingRun, query: str = "") -> str:
    response = client.get(f"{reverse('web:run', args=[run.run_id])}{query}")
    assert response.status_code == 200
    return response.content.decode()


def site_html(client: Client, world: World, query: str) -> str:
    response = client.get(f"{reverse('web:site', args=[world.site.public_id])}{query}")
    assert response.status_code == 200
    return response.content.decode()
