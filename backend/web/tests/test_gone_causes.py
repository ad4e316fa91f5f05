"""What probes of a site do not find any more, on the page of its findings."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from backend.runs.tests.factories import make_region
from backend.web.tests.test_findings import LARGE_RECORDS, PATH, html, probed, words
from backend.web.tests.world import World
from backend.web.times import short
from workers.measurement.evidence import ProbeEvidence
from workers.tests.diagnosis.servers import Server, deep

pytestmark = pytest.mark.django_db

MENDED = deep(PATH, Server(body_bytes=60_000))
SMALL = deep(PATH, Server(record_bytes=16_384, body_bytes=1_000))


@pytest.mark.parametrize(("newest", "is_gone"), [(MENDED, True), (LARGE_RECORDS, False), (SMALL, False)])
def test_what_is_not_found_any_more_is_told_with_when_and_where_it_was_seen_last(
    world: World, client: Client, newest: ProbeEvidence, is_gone: bool
) -> None:
    """What the newest probe could not judge may be there still."""
    seen_at = timezone.now() - timedelta(hours=3)
    probed(world, LARGE_RECORDS, scheduled_for=seen_at)
    probed(world, newest)
    page = html(client, "findings", world.site.public_id)
    text = words(page)
    assert ("No longer found" in text) is is_gone
    if is_gone:
        (line,) = re.findall(r'<ul class="gone">(.*?)</ul>', page, re.DOTALL)
        region = world.region.name
        assert (
            words(line)
            == f"✓ The first record is too large to be read in time last seen {short(seen_at)} from {region}"
        )


def test_what_another_region_finds_still_is_not_told_to_be_gone(world: World, client: Client) -> None:
    probed(world, LARGE_RECORDS, scheduled_for=timezone.now() - timedelta(hours=3))
    probed(world, MENDED)
    assert "No longer found" in html(client, "findings", world.site.public_id)
    probed(replace(world, region=make_region("us", world.fleet.organisation)), LARGE_RECORDS)
    assert "No longer found" not in html(client, "findings", world.site.public_id)


def test_what_was_gone_more_than_a_week_ago_is_not_told(world: World, client: Client) -> None:
    probed(world, LARGE_RECORDS, scheduled_for=timezone.now() - timedelta(days=8))
    probed(world, MENDED)
    assert "No longer found" not in html(client, "findings", world.site.public_id)
