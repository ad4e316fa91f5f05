"""Sites side by side by the API."""

from uuid import uuid4

import pytest
from django.utils import timezone

from backend.api.tests.v1.calling import Program, problem_of
from backend.api.tests.v1.world import World
from backend.runs.actions import register_site
from backend.runs.tests.rolled_up import PARTS, roll_up_hours
from backend.sites.models import Site
from workers.measurement.messages import Kind

pytestmark = pytest.mark.django_db


def make_rival(world: World, median_ms: float = 200) -> Site:
    """Measured each minute for a week, from day to day a little otherwise."""
    organisation = world.member.organisation
    site = register_site(actor=None, organisation=organisation, name="Rival", url="https://rival.example/")
    measure(world, site, median_ms)
    return site


def measure(world: World, site: Site, median_ms: float) -> None:
    monitor = site.monitors.get(kind=Kind.PROBE)

    def level(hour: int) -> float:
        return median_ms * (1 + 0.02 * ((hour // 24 * 3) % 7 - 3) / 3)

    roll_up_hours(monitor, [world.region], level, now=timezone.now())


def path_of(*sites: object, query: str = "") -> str:
    ids = (str(getattr(site, "public_id", site)) for site in sites)
    return f"side-by-side?{'&'.join(f'site={one}' for one in ids)}{query}"


def test_it_tells_who_is_quickest_and_how_much_longer_the_others_take(program: Program, world: World) -> None:
    measure(world, world.site, 320)
    rival = make_rival(world)
    told = program.get(path_of(world.site, rival)).json()
    assert (told["quickest"], told["judged"], told["unlike"]) == (str(rival.public_id), True, [])
    assert (told["kind"], told["metric"], told["regions"]) == ("probe", "ttfb_ms", ["eu"])
    first, second = told["sites"]
    assert (first["site_id"], first["difference"], first["compared"]) == (str(rival.public_id), None, True)
    difference = second["difference"]
    assert 100 < difference["low_ms"] < difference["value_ms"] < difference["high_ms"] < 140
    assert difference == second["regions"][0]["difference"]
    assert second["median_ms"] == pytest.approx(320, rel=0.01)
    assert second["regions"][0]["runs"] == 168 * 60
    assert second["phases"]["wait_ms"] == pytest.approx(320 * PARTS["wait_us"], rel=0.02)
    assert second["phases"]["download_ms"] is None


def test_what_cannot_be_told_is_null(program: Program, world: World) -> None:
    rival = make_rival(world)
    told = program.get(path_of(world.site, rival)).json()
    assert (told["quickest"], told["regions"]) == (None, [])
    assert [one["compared"] for one in told["sites"]] == [False, False]
    assert [one["median_ms"] for one in told["sites"]] == [None, None]
    short = program.get(path_of(world.site, rival, query="&range=24h")).json()
    assert (short["judged"], short["quickest"]) == (False, None)


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("&metric=lcp_ms", "?metric"),
        ("&metric=bytes", "?metric"),
        ("&metric=rtt_ms", "?metric"),
        ("&range=2d", "?range"),
        ("&kind=page&metric=nothing", "?metric"),
    ],
)
def test_what_there_is_not_is_refused(program: Program, world: World, query: str, pointer: str) -> None:
    answer = program.get(path_of(world.site, make_rival(world), query=query))
    assert problem_of(answer)["errors"][0]["pointer"] == pointer


def test_two_sites_of_ones_own_are_needed(program: Program, world: World) -> None:
    rival = make_rival(world)
    assert program.get(path_of(world.site)).status_code == 422
    assert problem_of(program.get(path_of(rival, rival)))["errors"][0]["pointer"] == "?site"
    assert program.get(path_of(rival, *[uuid4() for _ in range(6)])).status_code == 422
    assert program.get(path_of(rival, uuid4())).status_code == 404
    rival.monitors.filter(kind=Kind.PAGE).delete()
    answer = program.get(path_of(world.site, rival, query="&kind=page"))
    assert "each with a monitor of the kind page" in problem_of(answer)["errors"][0]["detail"]
