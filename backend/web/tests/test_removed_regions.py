"""Settings that name a region which was removed since."""

import pytest
from django.test import Client
from django.urls import reverse

from backend.compare.models import Pairing
from backend.fleet.models import Region
from backend.runs.tests.factories import make_region
from backend.sites.models import Monitor
from backend.web.tests.monitor_form import change, text_of
from backend.web.tests.world import World, make_pairing

pytestmark = pytest.mark.django_db


@pytest.fixture
def probe(world: World) -> Monitor:
    """The probe of the site is measured from a region alone that is gone."""
    make_region("fra", world.member.organisation)
    Region.objects.filter(code="fra").update(enabled=False)
    world.site.monitors.filter(kind="probe").update(regions=["fra"])
    return world.monitor("probe")


def chosen(world: World) -> list[str]:
    return world.monitor("probe").regions


def test_a_removed_region_stays_ticked_since_none_ticked_means_all(
    client: Client, world: World, probe: Monitor
) -> None:
    text = text_of(client, "site_settings", world.site.public_id)
    assert text.count("fra, removed") == 1
    assert 'name="probe-regions" value="fra"' in text
    assert "checked" in text[text.index('value="fra"') : text.index("fra, removed")]


def test_another_change_moves_no_measurement_to_all_regions(client: Client, world: World, probe: Monitor) -> None:
    change(client, world, interval_s=120, regions=["fra"])
    assert (world.monitor("probe").interval_s, chosen(world)) == (120, ["fra"])


def test_a_removed_region_is_given_up_for_others(client: Client, world: World, probe: Monitor) -> None:
    change(client, world, regions=["eu"])
    assert chosen(world) == ["eu"]
    status, text = change(client, world, regions=["fra"])
    assert (status, chosen(world)) == (400, ["eu"])
    assert "fra, removed" not in text


def test_a_comparison_keeps_its_removed_region_too(client: Client, world: World, probe: Monitor) -> None:
    pairing = make_pairing(world.site)
    Monitor.objects.filter(pk=pairing.monitor_id).update(regions=["fra"])
    arguments = (world.site.public_id, pairing.public_id)
    assert "fra, removed" in text_of(client, "pairing", *arguments)
    form = {"cdn_url": pairing.monitor.url, "origin": pairing.origin, "interval_s": 600, "regions": ["fra"]}
    client.post(reverse("web:pairing", args=arguments), form)
    monitor = Pairing.objects.get(pk=pairing.pk).monitor
    assert (monitor.interval_s, monitor.regions) == (600, ["fra"])
