"""The page of a run whose times are not its target's says so, and praises none of them."""

from dataclasses import replace

import pytest
from django.test import Client
from django.urls import reverse

from backend.runs.tests.results import EVIDENCE
from backend.web.tests import measurements
from backend.web.tests.run_pages import ended, html
from backend.web.tests.world import World
from workers.measurement.messages import Measured

pytestmark = pytest.mark.django_db


def test_a_run_whose_profile_was_not_kept_says_so_on_top_and_praises_nothing(world: World, client: Client) -> None:
    loaded = replace(measurements.page(30), profile_verified=False, warnings=("Do not compare these times.",))
    seen = measurements.probe()
    probed = replace(seen, evidence=replace(EVIDENCE, profile_verified=False))
    for kind, measurement in (("page", loaded), ("probe", probed)):
        text = html(client, ended(world, kind, Measured(measurement=measurement)))
        assert "Measured, but over no network in particular" in text
        assert "count for no chart, baseline, rule or gate" in text
        assert "not of this profile" in text
        assert ": good" not in text


def test_a_page_that_was_loaded_on_a_busy_machine_says_so_on_top_and_is_praised_by_nobody(
    world: World, client: Client
) -> None:
    seen = measurements.page(30)
    disturbed = replace(seen, vitals=replace(seen.vitals, contention_us=340_000))
    text = html(client, ended(world, "page", Measured(measurement=disturbed)))
    assert "Measured on a machine that was busy with other work" in text
    assert "kept it waiting for 0.34 s" in text
    assert "on a busy machine" in text
    assert ": good" not in text
    listed = client.get(reverse("web:site", args=[world.site.public_id]) + "?kind=page").content.decode()
    assert "machine busy" in listed


def test_a_probe_that_looked_late_at_its_answer_says_so_and_is_praised_by_nobody(world: World, client: Client) -> None:
    late = replace(measurements.probe(), contention_us=340_000)
    text = html(client, ended(world, "probe", Measured(measurement=late)))
    assert "did not look for 0.34 s" in text
    assert "on a busy machine" in text
    assert ": good" not in text


def test_a_run_whose_profile_was_kept_is_judged_as_any(world: World, client: Client) -> None:
    kept = replace(measurements.page(30), profile_verified=True)
    assert "840 ms to the largest paint: good" in html(client, ended(world, "page", Measured(measurement=kept)))
