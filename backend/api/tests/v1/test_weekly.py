"""Weekly reports by the API."""

import pytest

from backend.accounts.models import Organisation
from backend.alerts.tests.world import World as Measured
from backend.api.tests.v1.calling import Program
from backend.api.tests.v1.world import World
from backend.weekly.models import WeeklyReport
from backend.weekly.report import WEEK
from backend.weekly.steps import step
from backend.weekly.tests.world import MORNING, THIS, outage, weekly_world, weeks

pytestmark = pytest.mark.django_db


@pytest.fixture
def shop(world: World) -> Measured:
    """A shop of the program's organisation that became slower and was down for an hour."""
    shop = weekly_world("fra", "sin")
    weeks(shop, 300, 400)
    outage(shop, THIS, hours=1)
    step(MORNING)
    WeeklyReport.objects.update(organisation=world.member.organisation)
    return shop


def test_a_list_says_of_each_week_what_it_came_to(program: Program, shop: Measured) -> None:
    (line,) = program.get("weekly-reports").json()["items"]

    assert line["week"] == THIS.isoformat()
    assert line["headline"] == "Shop was down for 60 min and became slower"
    assert (line["down"], line["slower"], line["faster"], line["alerts"]) == (1, 1, 0, 0)


def test_a_week_tells_each_site_beside_the_week_before(program: Program, shop: Measured) -> None:
    (site,) = program.get(f"weekly-reports/{THIS}").json()["sites"]

    assert (site["name"], site["outages"], site["down_ms"]) == ("Shop", 1, 3_600_000)
    assert site["share"] == pytest.approx(1 - 1 / 168)
    assert site["largest_paint"] is None
    speed = site["first_byte"]
    assert (speed["course"], [one["region"] for one in speed["slower"]]) == ("slower", ["Fra", "Sin"])
    assert speed["now_ms"] == pytest.approx(400, rel=0.02)
    assert speed["before_ms"] == pytest.approx(300, rel=0.02)


def test_pages_of_the_list_go_back_in_time(program: Program, shop: Measured) -> None:
    row = WeeklyReport.objects.get()
    for back in (1, 2):
        WeeklyReport.objects.create(
            organisation=row.organisation, week=row.week - back * WEEK, line=row.line, document=row.document
        )

    first = program.get("weekly-reports?limit=2").json()
    rest = program.get(f"weekly-reports?limit=2&cursor={first['next']}").json()

    weeks_told = [one["week"] for one in (*first["items"], *rest["items"])]
    assert weeks_told == [(THIS - back * WEEK).isoformat() for back in range(3)]
    assert rest["next"] is None


def test_what_is_no_monday_and_what_is_of_others_is_not_found(program: Program, shop: Measured) -> None:
    assert program.get(f"weekly-reports/{THIS - WEEK}").status_code == 404
    WeeklyReport.objects.update(organisation=Organisation.objects.create(name="Other", slug="other"))
    assert program.get(f"weekly-reports/{THIS}").status_code == 404
