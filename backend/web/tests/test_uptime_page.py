"""For which part of the time a site could be reached, as pages show it."""

import html
import re
from datetime import UTC, datetime, timedelta
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from django.urls import reverse

from backend.alerts.models import Outage
from backend.analysis.uptime import Seen
from backend.instants import to_us
from backend.runs.tests.factories import NOW
from backend.sites.models import Monitor
from backend.web import units, uptime_page
from backend.web.tests.run_pages import site_html
from backend.web.tests.world import World

UTC_ZONE = ZoneInfo("UTC")
AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def seen(
    *, down: tuple[float, float] | None = None, partly: tuple[float, float] | None = None, hours: int = 48
) -> Seen:
    """Measured for so many hours up to now; down from and until so many hours ago."""

    def spans(ago: tuple[float, float] | None) -> tuple[tuple[int, int], ...]:
        return () if ago is None else ((to_us(AT - ago[0] * HOUR), to_us(AT - ago[1] * HOUR)),)

    return Seen(measured=spans((hours, 0)), down=spans(down), partly=spans(partly))


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (None, units.ABSENT),
        (1, "100 %"),
        (0.99953, "99.953 %"),
        (0.9999999999999, "99.999 %"),
        (0.97, "97.000 %"),
        (0, "0.000 %"),
    ],
)
def test_what_was_not_up_all_the_time_is_never_said_to_be(share: float | None, text: str) -> None:
    assert units.share_of_time(share) == text


def test_each_of_the_last_days_has_a_bar_and_a_day_without_runs_an_empty_one() -> None:
    bars = uptime_page.days(seen(down=(30, 29), partly=(2, 1)), AT, UTC_ZONE)

    assert len(bars) == 90
    assert [bar.level for bar in bars[-4:]] == ["quiet", "good", "bad", "warn"]
    assert [bar.cap_pct for bar in bars[-4:]] == [0, 0, 30, 30]
    assert bars[-2].text == "Sun 29 Nov 2026: 95.833 %, down 60 min"
    assert bars[-1].text == "Mon 30 Nov 2026: 100 %, down 60 min from some regions"
    assert bars[0].text == "Wed 2 Sep 2026: not measured"


def test_a_day_that_was_mostly_down_is_mostly_capped() -> None:
    bars = uptime_page.days(seen(down=(36, 15)), AT, UTC_ZONE)

    assert bars[-2].cap_pct == 88


def test_days_begin_at_midnight_where_the_reader_is() -> None:
    """Half past eleven in the evening in London is the next day in Berlin."""
    bars = uptime_page.days(seen(down=(36.75, 36.25)), AT, ZoneInfo("Europe/Berlin"))

    assert [bar.level for bar in bars[-3:]] == ["good", "bad", "good"]


def test_periods_say_how_long_it_was_down_and_how_often() -> None:
    day, *_, usual = uptime_page.periods(seen(down=(3, 2.5), partly=(2, 1.9)), AT)

    assert (day.name, day.share, day.note) == ("24 hours", "97.916 %", "down 30 min, 6 min more from some regions")
    assert usual.name == "90 days"


def test_of_several_outages_it_is_said_how_many_there_were() -> None:
    spans = tuple((to_us(AT - ago * HOUR), to_us(AT - (ago - 0.5) * HOUR)) for ago in (3, 2))
    day = uptime_page.last(DAY, Seen(measured=((to_us(AT - DAY), to_us(AT)),), down=spans, partly=()), AT)

    assert day.note == "down 60 min in 2 outages"


@pytest.mark.parametrize(("days_ago", "is_kept"), [(29, True), (32, False)])
def test_a_run_that_is_gone_is_not_led_to(days_ago: int, *, is_kept: bool) -> None:
    began_at, monitor = NOW - days_ago * DAY, Monitor(kind="probe")
    outage = Outage(monitor=monitor, state="failing", began_at=began_at, ended_at=began_at + HOUR, run_id=uuid4())

    assert (uptime_page.line_of(outage, NOW, region_names={}).run_id is not None) is is_kept


def test_months_are_those_in_which_anything_was_measured() -> None:
    names = [month.name for month in uptime_page.months(seen(hours=40 * 24), AT, UTC_ZONE)]

    assert names == ["November 2026", "October 2026"]


def test_a_year_of_months_is_asked_for() -> None:
    assert uptime_page.needed_since(AT, UTC_ZONE) == datetime(2025, 12, 1, tzinfo=UTC)


@pytest.mark.django_db
def test_the_page_lists_outages_and_leads_to_the_runs_that_show_them(world: World, client: Client) -> None:
    run = uuid4()
    monitor = world.monitor("probe")
    Outage.objects.create(
        monitor=monitor, state="failing", regions=["eu"], began_at=NOW - HOUR, run_id=run, why="<b>refused</b>"
    )
    Outage.objects.create(monitor=monitor, state="degraded", began_at=NOW - 100 * DAY, ended_at=NOW - 99 * DAY)
    client.force_login(world.member.user)

    text = client.get(reverse("web:uptime", args=[world.site.public_id])).content.decode()

    assert reverse("web:run", args=[run]) in text
    assert "&lt;b&gt;refused" in text
    assert "goes on" in text
    assert "Down from some regions" in text


@pytest.mark.django_db
def test_a_long_list_of_outages_goes_on_at_the_next_page(world: World, client: Client) -> None:
    monitor = world.monitor("probe")
    Outage.objects.bulk_create(
        Outage(
            monitor=monitor, state="failing", began_at=NOW - n * HOUR, ended_at=NOW - (n - 0.5) * HOUR, why=f"no. {n}"
        )
        for n in range(1, 53)
    )
    client.force_login(world.member.user)
    address = reverse("web:uptime", args=[world.site.public_id])

    first = client.get(address).content.decode()
    (older,) = re.findall(r'rel="next" href="([^"]+)"', first)
    second = client.get(html.unescape(older)).content.decode()

    assert "no. 50<" in first
    assert "no. 51<" not in first
    assert "no. 51<" in second
    assert "no. 50<" not in second


@pytest.mark.django_db
def test_the_site_s_page_tells_the_uptime_of_a_month(world: World, client: Client) -> None:
    assert "Uptime, 30 days" in site_html(client, world, "")


@pytest.mark.django_db
def test_a_spreadsheet_has_each_day_that_was_measured(world: World, client: Client) -> None:
    measured = Seen(measured=((to_us(AT - 30 * HOUR), to_us(AT)),), down=((to_us(AT - HOUR), to_us(AT)),), partly=())

    cells = list(uptime_page.day_cells(measured, AT, UTC_ZONE))

    assert cells == [("2026-11-30", 0.91666, 43_200, 3_600, 0, 1), ("2026-11-29", 1.0, 64_800, 0, 0, 0)]


@pytest.mark.django_db
def test_files_for_spreadsheets_hold_outages_without_formulas(world: World, client: Client) -> None:
    monitor = world.monitor("probe")
    Outage.objects.create(
        monitor=monitor,
        state="degraded",
        regions=["eu", "us"],
        began_at=AT - 2 * HOUR,
        ended_at=AT - HOUR,
        why='=HYPERLINK("x")',
    )
    Outage.objects.create(monitor=monitor, state="failing", regions=["eu"], began_at=AT, why="refused, twice")

    response = client.get(reverse("web:uptime_export", args=[world.site.public_id, "outages"]))

    assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert response.content.decode().split("\r\n")[:3] == [
        "began_at,ended_at,lasted_s,extent,regions,seen_by,why",
        '2026-11-30T12:00:00+00:00,,,down,eu,probe,"refused, twice"',
        '2026-11-30T10:00:00+00:00,2026-11-30T11:00:00+00:00,3600,partly,eu us,probe,"\'=HYPERLINK(""x"")"',
    ]
    days = client.get(reverse("web:uptime_export", args=[world.site.public_id, "uptime"]))
    assert days.content.decode().startswith("day,uptime,measured_s,down_s,partly_down_s,outages\r\n")
    assert client.get(reverse("web:uptime_export", args=[world.site.public_id, "other"])).status_code == 404
