"""Sites as people use them, without a script."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from backend.accounts.models import AuditEntry
from backend.runs.models import PendingRun, Schedule
from backend.runs.tests.factories import make_region
from backend.runs.tests.results import FAILED
from backend.sites.models import Site
from backend.sites.monitor_settings import stored_settings
from backend.web.tests.monitor_form import change, text_of
from backend.web.tests.world import World
from workers.measurement.page_options import (
    PHONE,
    Click,
    Cookie,
    Device,
    HostMapping,
    Login,
    PageOptions,
    PageState,
    Protocol,
    TypeText,
    Visit,
)

pytestmark = pytest.mark.django_db


def test_the_list_shows_health_and_figures_by_region(client: Client, world: World) -> None:
    world.end(world.pending("probe"))
    world.end(world.pending("page"))
    text = text_of(client, "sites")
    assert "Healthy" in text
    assert "Nothing fails, and no alert is open" in text
    assert "102 ms · 420 ms" in text
    assert 'data-label="Eu, first byte · largest paint">' in text
    assert "probed every 1 min, loaded every 15 min" in text.replace("\N{NO-BREAK SPACE}", " ")


def test_the_list_opens_with_what_is_wrong(client: Client, world: World) -> None:
    world.end(world.pending("probe"), FAILED)
    assert "Shop: failing in Eu" in text_of(client, "sites")


def test_the_list_costs_the_same_statements_for_many_sites(
    client: Client, world: World, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    statements = 14
    with django_assert_num_queries(statements):
        text_of(client, "sites")
    for number in range(5):
        Site.objects.create(
            organisation=world.member.organisation, name=f"Site {number}", url=world.site.url, status="active"
        )
    with django_assert_num_queries(statements):
        text_of(client, "sites")


def names_in(text: str) -> list[str]:
    return re.findall(r'<th scope="row"[^>]*><a [^>]*>([^<]+)</a>', text)


def test_a_long_list_is_read_in_parts_that_go_on_where_the_last_one_ended(client: Client, world: World) -> None:
    world.end(world.pending("probe"), FAILED)
    for number in range(120):
        Site.objects.create(
            organisation=world.member.organisation, name=f"Site {number:03d}", url=world.site.url, status="active"
        )
    first, second = (client.get(reverse("web:sites") + query).content.decode() for query in ("", "?page=2"))
    assert names_in(first) == ["Shop", *(f"Site {number:03d}" for number in range(99))]
    assert names_in(second) == [f"Site {number:03d}" for number in range(99, 120)]
    assert "Sites 101 to 121 of 121" in second
    assert "Shop: failing in Eu" in second
    found = client.get(reverse("web:sites") + "?q=site+0&page=7").content.decode()
    assert "100 of 121" in found
    assert names_in(found) == [f"Site {number:03d}" for number in range(100)]


def test_where_there_are_many_regions_a_part_of_the_list_has_fewer_sites(client: Client, world: World) -> None:
    for number in range(99):
        make_region(f"r{number}", world.member.organisation)
    for number in range(30):
        Site.objects.create(
            organisation=world.member.organisation, name=f"Site {number:03d}", url=world.site.url, status="active"
        )
    text = text_of(client, "sites")
    assert len(names_in(text)) == 25
    assert "Sites 1 to 25 of 31" in text
    assert len(text) < 500_000


def test_secrets_are_asked_for_again_where_another_server_would_get_them(client: Client, world: World) -> None:
    change(client, world, "page", headers="X-Key: one", cookies="a=1", login_user="me", login_password="sesame-1")
    status, text = change(client, world, "page", url="https://evil.example/", login_user="me")
    assert status == 400
    for name in ("X-Key", "Cookie a", "The password"):
        assert f"{name} was given for https://shop.example, and this change would send it to https://evil.ex" in text
    assert stored_settings(world.monitor("page")).url == world.site.url
    answers = {"remove_headers": ["X-Key"], "cookies": "a=2", "remove_login": "on"}
    assert change(client, world, "page", url="https://new.example/", **answers)[0] == 200
    stored = stored_settings(world.monitor("page"))
    assert (stored.url, stored.headers, stored.page.login) == ("https://new.example/", (), None)
    assert stored.page.cookies == (Cookie(name="a", value="2"),)


def test_without_a_site_the_list_asks_for_an_address(client: Client, world: World) -> None:
    world.site.delete()
    text = text_of(client, "sites")
    assert "See your first waterfall in about 20 seconds" in text
    assert f'<input type="hidden" name="regions" value="{world.region.code}">' in text


def test_every_setting_of_a_monitor_can_be_changed(client: Client, world: World) -> None:
    status, text = change(
        client,
        world,
        interval_s=300,
        timeout_s=10,
        regions=["eu"],
        accepted_status="200, 304",
        body_text="Welcome",
        ignore_certificate_errors="on",
        headers="Authorization: Bearer secret-1\nX-Env: prod",
    )
    assert (status, "Probe: saved" in text) == (200, True)
    settings = stored_settings(world.monitor("probe"))
    assert (settings.interval_s, settings.timeout_s, settings.regions) == (300, 10, ("eu",))
    assert (settings.accepted_status, settings.body_text) == ((200, 304), "Welcome")
    assert settings.ignore_certificate_errors
    assert [header.name for header in settings.headers] == ["Authorization", "X-Env"]
    assert Schedule.objects.filter(monitor__kind="probe").values_list("interval_s", flat=True).get() == 300


def test_values_of_headers_are_never_shown_again(client: Client, world: World) -> None:
    change(client, world, headers="Authorization: Bearer secret-1")
    text = text_of(client, "site_settings", world.site.public_id)
    assert "Remove Authorization" in text
    assert "secret-1" not in text


def test_headers_keep_their_values_until_replaced_or_removed(client: Client, world: World) -> None:
    change(client, world, headers="Authorization: one\nX-Env: prod")
    change(client, world, headers="authorization: two")
    assert {h.name: h.value for h in stored_settings(world.monitor("probe")).headers} == {
        "X-Env": "prod",
        "authorization": "two",
    }
    change(client, world, remove_headers=["X-Env"])
    assert [header.name for header in stored_settings(world.monitor("probe")).headers] == ["authorization"]


def test_how_a_page_is_loaded_can_be_changed(client: Client, world: World) -> None:
    status, text = change(
        client,
        world,
        "page",
        device="phone",
        protocol="http/1.1",
        loads=3,
        repeat="warm_cache",
        locale="de-CH",
        user_agent="Tester",
        host_map="cdn.example.com = 192.0.2.1:8443\nb.example=2001:db8::1",
        black_holes="ads.example.com\nads.example.com",
        cookies="consent=yes",
        login_user="me",
        login_password="sesame-1",
    )
    assert (status, "Page load: saved" in text, "sesame-1" in text) == (200, True, False)
    page = stored_settings(world.monitor("page")).page
    assert page == PageOptions(
        device=PHONE,
        protocol=Protocol.H1,
        loads=3,
        repeat=PageState.WARM_CACHE,
        locale="de-CH",
        user_agent="Tester",
        host_map=(
            HostMapping(host="cdn.example.com", address="192.0.2.1", port=8443),
            HostMapping(host="b.example", address="2001:db8::1"),
        ),
        black_holes=("ads.example.com",),
        cookies=(Cookie(name="consent", value="yes"),),
        login=Login(user="me", password="sesame-1"),
    )


def test_cookies_and_passwords_of_a_page_stay_until_replaced_or_removed(client: Client, world: World) -> None:
    change(client, world, "page", cookies="a=1\nb=2", login_user="me", login_password="sesame-1")
    change(client, world, "page", cookies="b=3", login_user="you")
    page = stored_settings(world.monitor("page")).page
    assert page.cookies == (Cookie(name="a", value="1"), Cookie(name="b", value="3"))
    assert page.login == Login(user="you", password="sesame-1")
    change(client, world, "page", login_user="you", remove_cookies=["a"], remove_login="on")
    page = stored_settings(world.monitor("page")).page
    assert (page.cookies, page.login) == ((Cookie(name="b", value="3"),), None)


def test_a_screen_of_ones_own_is_kept_until_another_is_chosen(client: Client, world: World) -> None:
    _, text = change(client, world, "page", screen="1920x1080")
    assert "1920x1080, 1920 by 1080" in text
    own = Device(name="1920x1080", width=1920, height=1080)
    assert stored_settings(world.monitor("page")).page.device == own
    change(client, world, "page", device="1920x1080")
    assert stored_settings(world.monitor("page")).page.device == own
    change(client, world, "page", device="phone")
    assert stored_settings(world.monitor("page")).page.device == PHONE


def test_secrets_of_steps_are_kept_and_never_shown_or_told_again(client: Client, world: World) -> None:
    script = "visit https://shop.example/login\ntype me into #user\nsecret sesame-1 into #password\nclick #go"
    _, text = change(client, world, "page", steps=script)
    assert "secret •••••••• into #password" in text
    assert "sesame-1" not in text
    change(client, world, "page", steps=script.replace("sesame-1", "•" * 8).replace("#go", "#in"))
    page = stored_settings(world.monitor("page")).page
    assert page.steps == (
        Visit(url="https://shop.example/login"),
        TypeText(selector="#user", text="me"),
        TypeText(selector="#password", text="sesame-1", secret=True),
        Click(selector="#in"),
    )
    with connection.cursor() as cursor:
        cursor.execute("SELECT page FROM sites_monitor WHERE id = %s", [world.monitor("page").pk])
        stored = str(cursor.fetchone())
    assert "sesame-1" not in stored
    assert "shop.example" not in stored
    entries = AuditEntry.objects.filter(action="change_monitor")
    assert entries.count() == 2
    assert "sesame-1" not in str(list(entries.values()))
    change(client, world, "page", steps="")
    assert stored_settings(world.monitor("page")).page.steps == ()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"host_map": "a.example"}, "is not HOST=ADDRESS[:PORT]"),
        ({"host_map": "a.example=192.0.2.1:25"}, "Port 25 may not be measured; allowed are 80, 443, 8080, 8443."),
        ({"black_holes": "a b"}, "must not hold spaces"),
        ({"cookies": "alone"}, "Write cookies as NAME=VALUE."),
        ({"loads": 6}, "at most 5 times in a run"),
        ({"loads": 0}, "1 to 9 times"),
        ({"locale": "german"}, "is not a language tag"),
        ({"protocol": "spdy"}, "spdy is not one of the available choices"),
        ({"login_user": "a:b", "login_password": "c"}, "must not hold a colon"),
        ({"steps": "click #a\njump"}, "Line 2: This is no step."),
        ({"screen": "9x9"}, "Each side of the screen must be from 100 to 5000 pixels."),
        ({"screen": "wide"}, "is no WIDTHxHEIGHT, such as 1920x1080."),
        ({"steps": "visit https://a.example:22/"}, "Step 1: Port 22 may not be measured"),
        ({"steps": "click #a\nvisit http://127.0.0.1/"}, "Step 2: This address is inside your network"),
        ({"steps": "click #a\n" * 51}, "A script can have at most 50 steps."),
        ({"steps": "visit https://a.example/\nsecret ••••••••  into #b"}, "Step 2: write the secret again."),
    ],
)
def test_a_faulty_option_of_a_page_is_answered_at_its_field(
    client: Client, world: World, changes: dict[str, Any], sentence: str
) -> None:
    before = stored_settings(world.monitor("page"))
    status, text = change(client, world, "page", **changes)
    assert (status, sentence in text) == (400, True), text
    assert stored_settings(world.monitor("page")) == before


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"url": "http://127.0.0.1/"}, "This address is inside your network; an admin must allow it"),
        ({"url": "ftp://x"}, "must begin with http:// or https://"),
        ({"interval_s": 5}, "The interval must be 30 s to 86400 s"),
        ({"interval_s": "soon"}, "Enter a whole number"),
        ({"timeout_s": 99}, "The timeout of a probe must be 1 s to 60 s"),
        ({"accepted_status": "ok"}, "Write status codes separated by commas"),
        ({"accepted_status": "99"}, "99 is no HTTP status"),
        ({"headers": "no colon"}, "Write one “Name: value” a line"),
        ({"headers": "Host: evil.example"}, "Host belongs to the connection itself"),
        ({"regions": ["mars"]}, "mars is not one of the available choices"),
        ({"body_text": "x" * 501}, "at most 500 characters"),
    ],
)
def test_a_faulty_setting_is_answered_at_its_field_and_changes_nothing(
    client: Client, world: World, changes: dict[str, Any], sentence: str
) -> None:
    before = stored_settings(world.monitor("probe"))
    status, text = change(client, world, **changes)
    assert status == 400
    assert sentence in text
    assert stored_settings(world.monitor("probe")) == before


def test_a_fault_in_one_monitor_leaves_the_others_form_alone(client: Client, world: World) -> None:
    _, text = change(client, world, "page", interval_s=5)
    assert text.count("errorlist") == 1


def test_a_monitor_is_paused_and_resumed(client: Client, world: World) -> None:
    client.post(reverse("web:monitor_pause", args=[world.site.public_id, "probe"]))
    assert world.monitor("probe").paused
    assert "Paused" in text_of(client, "site_settings", world.site.public_id)
    client.post(reverse("web:monitor_resume", args=[world.site.public_id, "probe"]))
    assert not world.monitor("probe").paused


def test_a_site_is_renamed(client: Client, world: World) -> None:
    renamed = client.post(
        reverse("web:site_rename", args=[world.site.public_id]), {"name": "The <shop>"}, follow=True
    ).content.decode()
    assert "The site is called The &lt;shop&gt; now." in renamed
    text = text_of(client, "site_settings", world.site.public_id)
    assert "The &lt;shop&gt;" in text
    assert "The <shop>" not in text


def test_what_a_site_relies_on_is_chosen_among_the_others(client: Client, world: World) -> None:
    settings = reverse("web:site_settings", args=[world.site.public_id])
    address = reverse("web:site_relies_on", args=[world.site.public_id])
    assert address not in client.get(settings).content.decode()
    gateway = Site.objects.create(
        organisation=world.member.organisation, name="Gateway", url="https://gateway.example/", status="active"
    )

    assert address in client.get(settings).content.decode()
    client.post(address, {"relies_on": [str(gateway.public_id)]})
    assert list(world.site.relies_on.all()) == [gateway]
    circle = client.post(
        reverse("web:site_relies_on", args=[gateway.public_id]), {"relies_on": [str(world.site.public_id)]}
    )
    assert circle.status_code == 400
    assert "It would rely on itself in the end" in circle.content.decode()
    client.post(address, {})
    assert not world.site.relies_on.exists()


def test_deleting_asks_first(client: Client, world: World) -> None:
    address = reverse("web:site_delete", args=[world.site.public_id])
    assert "cannot be undone" in client.get(address).content.decode()
    assert Site.objects.exists()
    client.post(address)
    assert not Site.objects.exists()
    assert client.get(address).status_code == 404


@pytest.mark.parametrize(("form", "kinds"), [({}, {"probe", "page"}), ({"kind": "page"}, {"page"})])
def test_test_now_measures_at_once_and_shows_it(
    client: Client, world: World, broker: str, form: dict[str, str], kinds: set[str]
) -> None:
    response = client.post(reverse("web:test_now", args=[world.site.public_id]), form)
    assert response.status_code == 302
    assert set(PendingRun.objects.values_list("kind", flat=True)) == kinds
    assert f"0 of {len(kinds)} run" in client.get(response.headers["Location"]).content.decode()


def test_test_now_keeps_to_the_monitors_own_regions(client: Client, world: World, broker: str) -> None:
    make_region("us")
    change(client, world, regions=["eu"])
    client.post(reverse("web:test_now", args=[world.site.public_id]), {"kind": "probe"})
    assert list(PendingRun.objects.values_list("region__code", flat=True)) == ["eu"]


def test_where_there_is_no_room_for_all_nothing_is_measured_behind_the_readers_back(
    client: Client, world: World, broker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backend.runs.actions.MAX_URGENT", 1)
    response = client.post(reverse("web:test_now", args=[world.site.public_id]), follow=True)
    assert "at most 1 can be" in response.content.decode()
    assert not PendingRun.objects.exists()


def test_an_unknown_kind_is_not_found(client: Client, world: World) -> None:
    for name in ("monitor_change", "monitor_pause"):
        assert client.post(reverse(f"web:{name}", args=[world.site.public_id, "nonsense"])).status_code == 404
    address = reverse("web:test_now", args=[world.site.public_id])
    assert client.post(address, {"kind": "nonsense"}).status_code == 404


def test_a_name_of_a_stranger_is_shown_as_text(client: Client, world: World) -> None:
    Site.objects.update(name='<img src=x onerror="alert(1)">')
    assert "<img src=x" not in text_of(client, "sites")


def test_a_very_long_address_does_not_fill_the_sites_page(client: Client, world: World) -> None:
    url = f"https://shop.example/?q={'a' * 1900}"
    Site.objects.filter(pk=world.site.pk).update(url=url)
    client.force_login(world.member.user)
    text = client.get(reverse("web:site", args=[world.site.public_id])).content.decode()
    assert f'<span title="{url}">{url[:159]}…</span>' in text
