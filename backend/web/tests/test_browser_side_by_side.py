"""Sites side by side in a real browser: nothing for axe or the policy to find, in every width and theme."""

from functools import partial

import pytest
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from backend.runs.tests.factories import make_region
from backend.runs.tests.rolled_up import roll_up_hours
from backend.web.tests.browsing import browsing
from backend.web.tests.test_side_by_side import address, make_site
from backend.web.tests.world import World
from workers.measurement.messages import Kind

pytestmark = pytest.mark.django_db(transaction=True)


def _far_ms(usual_ms: float, hour: int) -> float:
    """From day to day a little less."""
    return usual_ms + hour // 24 * 2


def test_sites_side_by_side_are_accessible_and_keep_the_policy(world: World, server: LiveServer) -> None:
    medians = {"Shop": 320.0, "Rival": 200.0, "Third": 205.0, "A shop with a name that is rather long": 600.0}
    sites = [make_site(world, name, ms) for name, ms in medians.items()]
    sites += [make_site(world, "Fifth", 340, hours=30), make_site(world, "Sixth", 420, hours=100)]
    far = make_region("us", world.member.organisation)
    for place, one in enumerate(sites[:4]):
        far_ms = partial(_far_ms, 300 + 50 * place)
        roll_up_hours(one.monitors.get(kind=Kind.PROBE), [far], far_ms, now=timezone.now())
    with browsing(world, server) as site:
        for query in ("", "&region=eu&beside=" + str(sites[0].public_id), "&range=24h", "&kind=page"):
            site.look_over(address(*sites, query=query))
        for path in (address(*sites[:4]), address(sites[0]), "/side-by-side/"):
            site.look_over(path)
        assert site.complaints == []
