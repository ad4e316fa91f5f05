"""Which edits of a monitor make its earlier times another's."""

from dataclasses import replace

import pytest

from backend.cast import Member
from backend.sites import actions
from backend.sites.manners import asks_otherwise
from backend.sites.models import Monitor
from backend.sites.monitor_settings import MonitorSettings, defaults, stored_settings
from workers.measurement.connection import Header
from workers.measurement.messages import Kind
from workers.measurement.page_options import (
    PHONE,
    Cookie,
    HostMapping,
    Login,
    PageOptions,
    PageState,
    Protocol,
    TypeText,
    Visit,
)

TOKEN = Header(name="Authorization", value="Bearer first")
GERMAN = Header(name="Accept-Language", value="de")
COOKIE = Cookie(name="session", value="first")
PASSWORD = TypeText(selector="#password", text="first", secret=True)
PAGE = PageOptions(cookies=(COOKIE,), login=Login(user="shop", password="first"), steps=(PASSWORD,))
BEFORE = replace(defaults(Kind.PAGE, "https://shop.example/"), headers=(TOKEN, GERMAN), page=PAGE)


def with_page(**options: object) -> MonitorSettings:
    return replace(BEFORE, page=replace(PAGE, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "after",
    [
        replace(BEFORE, headers=(GERMAN,)),
        replace(BEFORE, headers=(TOKEN, GERMAN, Header(name="X-No-Cache", value="1"))),
        replace(BEFORE, headers=(TOKEN, replace(GERMAN, value="fr"))),
        replace(BEFORE, accepted_status=(200, 301)),
        with_page(device=PHONE),
        with_page(user_agent="Robot/1.0"),
        with_page(locale="de-DE"),
        with_page(protocol=Protocol.H1),
        with_page(host_map=(HostMapping(host="cdn.shop.example", address="203.0.113.7"),)),
        with_page(black_holes=("tags.vendor.example",)),
        with_page(cookies=()),
        with_page(login=None),
        with_page(steps=(Visit(url="https://shop.example/login"), PASSWORD)),
    ],
)
def test_what_changes_the_answer_or_its_way_makes_earlier_times_anothers(after: MonitorSettings) -> None:
    assert asks_otherwise(BEFORE, after)


@pytest.mark.parametrize(
    "after",
    [
        BEFORE,
        replace(BEFORE, interval_s=300),
        replace(BEFORE, timeout_s=20),
        replace(BEFORE, regions=("eu",)),
        replace(BEFORE, body_text="Basket"),
        replace(BEFORE, ignore_certificate_errors=True),
        replace(BEFORE, headers=(Header(name="authorization", value="Bearer second"), GERMAN)),
        with_page(cookies=(replace(COOKIE, value="second"),)),
        with_page(login=Login(user="shop", password="second")),
        with_page(steps=(replace(PASSWORD, text="second"),)),
        with_page(loads=3),
        with_page(repeat=PageState.WARM_CACHE),
    ],
)
def test_a_new_secret_and_what_comes_beside_the_first_view_leave_times_what_they_were(after: MonitorSettings) -> None:
    assert not asks_otherwise(BEFORE, after)


def test_a_monitor_counts_the_edits_after_which_it_asks_otherwise(alice: Member) -> None:
    site = actions.create_draft(actor=alice.user, organisation=alice.organisation, url="shop.example")
    monitor = Monitor.objects.get(site=site, kind="page")
    slower = replace(stored_settings(monitor), interval_s=1800)
    monitor = actions.change_monitor(actor=alice.user, monitor=monitor, settings=slower)
    assert (monitor.config_version, monitor.manner_version) == (2, 1)
    on_a_phone = replace(slower, page=PageOptions(device=PHONE))
    monitor = actions.change_monitor(actor=alice.user, monitor=monitor, settings=on_a_phone)
    assert (monitor.config_version, monitor.manner_version) == (3, 2)
