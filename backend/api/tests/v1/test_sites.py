"""Sites and monitors by the API."""

from typing import Any
from uuid import uuid4

import pytest
from pytest_django import DjangoAssertNumQueries

from backend.accounts.models import AuditEntry
from backend.api.tests.v1.calling import Program, make_token, problem_of
from backend.api.tests.v1.world import World
from backend.cast import Member
from backend.runs.actions import start_trial
from backend.runs.models import Schedule
from backend.runs.tests.factories import make_region
from backend.sites import actions as site_actions
from backend.sites.models import Monitor, Site
from backend.sites.monitor_settings import stored_settings
from workers.measurement.page_options import Login, TypeText

pytestmark = pytest.mark.django_db


def faults(answer: Any) -> list[str]:
    found = problem_of(answer)
    assert found["status"] == 422
    return [fault["pointer"] for fault in found["errors"]]


def monitor_of(world: World, program: Program) -> tuple[str, dict[str, Any]]:
    path = f"monitors/{world.monitor('page').public_id}"
    return path, program.get(path).json()


@pytest.mark.parametrize(
    "items", ["monitors", "runs", "pairings", "incidents", "maintenance", "rules", "deploys", "gates", "imports"]
)
def test_what_is_asked_of_a_site_that_is_not_ours_is_refused(
    program: Program, world: World, charlie: Member, items: str
) -> None:
    """An empty list would say that there is nothing of it."""
    asked = f"{items}?site={world.site.public_id}"

    assert program.get(asked).status_code == 200
    assert faults(program.get(f"{items}?site={uuid4()}")) == ["?site"]
    assert faults(Program(make_token(charlie)).get(asked)) == ["?site"]


def test_sites_are_listed_as_people_look_them_up_page_by_page(program: Program, world: World) -> None:
    names = ["apple", "Apple", "Banana", "cherry", "zebra", "Zoo", "\u00c4pfel"]
    for name in names:
        program.post("sites", {"url": "https://shop2.example/", "name": name})
    world.site.delete()
    found, cursor = [], ""
    while cursor is not None:
        page = program.get(f"sites?limit=2&cursor={cursor}").json()
        found += [site["name"] for site in page["items"]]
        cursor = page["next"]
    assert found == ["\u00c4pfel", "apple", "Apple", "Banana", "cherry", "zebra", "Zoo"]


@pytest.mark.parametrize("items", ["runs", "runs.csv"])
def test_what_is_asked_of_a_monitor_that_is_not_ours_is_refused(
    program: Program, world: World, charlie: Member, items: str
) -> None:
    asked = f"{items}?monitor={world.monitor('probe').public_id}"

    assert program.get(asked).status_code == 200
    assert faults(program.get(f"{items}?monitor={uuid4()}")) == ["?monitor"]
    assert faults(Program(make_token(charlie)).get(asked)) == ["?monitor"]


def test_a_site_is_registered_and_measured_from_now_on(program: Program, world: World) -> None:
    answer = program.post("sites", {"url": "shop2.example/start", "name": "  Second "})
    assert answer.status_code == 201
    made = answer.json()
    assert (made["name"], made["url"], made["status"]) == ("Second", "https://shop2.example/start", "active")
    assert [monitor["kind"] for monitor in made["monitors"]] == ["probe", "page"]
    assert program.get(answer.headers["Location"]).json() == made
    assert Schedule.objects.filter(monitor__site__public_id=made["id"]).count() == 2
    entry = AuditEntry.objects.filter(action="activate_site").latest("pk")
    assert entry.actor == world.member.user
    assert entry.detail["token"].startswith("fb_api_")


def test_a_name_that_is_no_line_is_refused_at_every_door(program: Program, world: World) -> None:
    assert faults(program.post("sites", {"url": "shop2.example", "name": "Shop\nBcc: x"})) == ["#/name"]
    assert faults(program.call("PATCH", f"sites/{world.site.public_id}", {"name": "\u202e"})) == ["#/name"]
    file = {"sites": [{"name": "Shop\x1b[2J", "url": "https://shop2.example/"}]}
    assert faults(program.post("declaration/plan", file)) == ["#/sites/0/name"]
    assert Site.objects.count() == 1


def test_a_site_says_what_it_relies_on_and_makes_no_circle(program: Program, world: World) -> None:
    gateway = program.post("sites", {"url": "gateway.example"}).json()
    shop = f"sites/{world.site.public_id}"

    assert program.call("PATCH", shop, {"relies_on": [gateway["id"]]}).json()["relies_on"] == [gateway["id"]]
    assert program.call("PATCH", shop, {"name": "Shop"}).json()["relies_on"] == [gateway["id"]]
    circle = program.call("PATCH", f"sites/{gateway['id']}", {"name": "Lost", "relies_on": [str(world.site.public_id)]})
    assert faults(circle) == ["#/relies_on"]
    assert program.get(f"sites/{gateway['id']}").json()["name"] == gateway["name"]
    assert program.call("PATCH", shop, {"relies_on": []}).json()["relies_on"] == []


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({}, ["#/url"]),
        ({"url": ""}, ["#/url"]),
        ({"url": 7}, ["#/url"]),
        ({"url": None}, ["#/url"]),
        ({"url": "ftp://shop.example/"}, ["#/url"]),
        ({"url": "http://127.0.0.1/"}, ["#/url"]),
        ({"url": "http://[::ffff:10.0.0.1]/"}, ["#/url"]),
        ({"url": "https://a.example/" + "x" * 3000}, ["#/url"]),
        ({"url": "https://a.example/", "name": "x" * 101}, ["#/name"]),
        ({"url": "https://a.example/", "nmae": "x"}, ["#/nmae"]),
        ({"url": "https://a.example/", "a/b~c": 1}, ["#/a~1b~0c"]),
        ([], ["#"]),
        ("text", ["#"]),
        (17, ["#"]),
    ],
)
def test_a_site_that_cannot_be_is_a_problem_that_names_the_field(
    program: Program, body: object, pointers: list[str]
) -> None:
    assert faults(program.post("sites", body)) == pointers
    assert not Site.objects.exists()


def test_there_is_room_for_so_many(program: Program, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site_actions, "MAX_SITES", 1)
    found = problem_of(program.post("sites", {"url": "https://a.example/"}))
    assert found["type"] == "/api/v1/problems/limit-reached"


def test_sites_come_in_pages_by_name(program: Program, world: World) -> None:
    for name in ("Beta", "Alpha", "Alpha", "Gamma"):
        site = site_actions.create_draft(actor=None, organisation=world.member.organisation, url="https://a.example/")
        site_actions.activate(actor=None, site=site, name=name)
    names, path = [], "sites?limit=2"
    while path:
        answer = program.get(path)
        page = answer.json()
        names.append([site["name"] for site in page["items"]])
        link = answer.headers.get("Link", "")
        assert ('rel="next"' in link) is (page["next"] is not None)
        path = link.partition(">")[0].removeprefix("<")
    assert names == [["Acme shop", "Alpha"], ["Alpha", "Beta"], ["Gamma"]]


@pytest.mark.parametrize("cursor", ["x", "a" * 500, "eyJ4IjoxfQ:1wX:abc", "%00", "é", "WyJhIiwxXQ"])
def test_a_cursor_that_is_none_is_refused(program: Program, cursor: str) -> None:
    assert faults(program.get(f"sites?cursor={cursor}")) == ["?cursor"]


def test_a_cursor_is_good_for_its_own_list_only(program: Program, world: World, charlie: Member) -> None:
    cursor = program.get("monitors?limit=1").json()["next"]
    assert program.get(f"monitors?cursor={cursor}").status_code == 200
    assert faults(program.get(f"sites?cursor={cursor}")) == ["?cursor"]
    assert faults(Program(make_token(charlie)).get(f"monitors?cursor={cursor}")) == ["?cursor"]


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=101", "limit=x", "limit=", "limit=1&limit=2", "limit=9999999999999999999999", "status=old"],
)
def test_a_parameter_that_is_not_valid_is_named(program: Program, query: str) -> None:
    assert faults(program.get(f"sites?{query}")) == [f"?{query.partition('=')[0]}"]


def test_a_draft_becomes_active_and_not_the_other_way_round(program: Program, world: World) -> None:
    trial = start_trial(
        actor=None, organisation=world.member.organisation, url="https://t.example/", regions=[world.region.code]
    )
    path = f"sites/{trial.site.public_id}"
    assert [site["id"] for site in program.get("sites?status=draft").json()["items"]] == [str(trial.site.public_id)]
    changed = program.call("PATCH", path, {"status": "active", "name": "Tested"})
    assert (changed.json()["status"], changed.json()["name"]) == ("active", "Tested")
    assert Schedule.objects.filter(monitor__site=trial.site).exists()
    assert faults(program.call("PATCH", path, {"status": "draft"})) == ["#/status"]


def test_a_site_is_renamed_and_deleted(program: Program, world: World) -> None:
    path = f"sites/{world.site.public_id}"
    assert program.call("PATCH", path, {"name": "New name"}).json()["name"] == "New name"
    assert program.call("PATCH", path, {}).json()["name"] == "New name"
    gone = program.call("DELETE", path)
    assert (gone.status_code, gone.content) == (204, b"")
    assert program.get(path).status_code == 404


def test_a_monitor_says_all_of_itself_but_its_secrets(program: Program, world: World) -> None:
    path, found = monitor_of(world, program)
    changed = program.call("PATCH", path, {"headers": [{"name": "X-Key", "value": "s3cret"}], "interval_s": 300})
    assert changed.json() == found | {"header_names": ["X-Key"], "interval_s": 300, "config_version": 2}
    assert b"s3cret" not in program.get(path).content + program.get("monitors").content
    assert world.monitor("page").headers == [["X-Key", "s3cret"]]


def test_how_a_page_is_loaded_is_told_without_its_secrets(program: Program, world: World) -> None:
    path, found = monitor_of(world, program)
    assert found["page"]["device"]["name"] == "desktop"
    page = {
        "protocol": "h2",
        "device": {"name": "phone", "width": 412, "height": 823, "scale": 1.75, "mobile": True},
        "cookies": [{"name": "session", "value": "s3cret"}],
        "login": {"user": "me", "password": "s3cret"},
        "host_map": [{"host": "cdn.example", "address": "192.0.2.1", "port": 8443}],
    }
    changed = program.call("PATCH", path, {"page": page}).json()["page"]
    told = {"protocol": "h2", "device": page["device"], "host_map": page["host_map"]}
    assert changed == found["page"] | told | {"cookie_names": ["session"], "login_user": "me"}
    assert b"s3cret" not in program.get(path).content
    fewer = program.call("PATCH", path, {"page": {"protocol": None, "cookies": []}}).json()["page"]
    assert (fewer["protocol"], fewer["cookie_names"], fewer["login_user"]) == (None, [], "me")


def test_steps_before_a_page_are_told_without_their_secrets_which_stay(program: Program, world: World) -> None:
    path, _ = monitor_of(world, program)
    secret = {"kind": "type", "selector": "#password", "text": "s3cret", "secret": True}
    steps = [{"kind": "visit", "url": "https://shop.example/login"}, secret, {"kind": "click", "selector": "#go"}]
    told = program.call("PATCH", path, {"page": {"steps": steps}}).json()["page"]["steps"]
    assert told == [steps[0], secret | {"text": None}, steps[2]]
    again = program.call("PATCH", path, {"page": {"steps": [*told, {"kind": "wait_for", "selector": ".in"}]}})
    assert b"s3cret" not in again.content
    assert len(again.json()["page"]["steps"]) == 4
    kept = stored_settings(world.monitor("page")).page.steps[1]
    assert isinstance(kept, TypeText)
    assert kept.text == "s3cret"
    elsewhere = [{"kind": "visit", "url": "https://evil.example/"}, told[1]]
    assert faults(program.call("PATCH", path, {"page": {"steps": elsewhere}})) == ["#/page/steps"]
    assert faults(program.call("PATCH", path, {"page": {"steps": [{"kind": "jump"}]}})) == ["#/page/steps/0"]
    assert program.call("PATCH", path, {"page": {"steps": None}}).json()["page"]["steps"] == []


def test_secrets_are_asked_for_again_where_another_server_would_get_them(program: Program, world: World) -> None:
    path, _ = monitor_of(world, program)
    page = {"cookies": [{"name": "session", "value": "s3cret"}], "login": {"user": "me", "password": "s3cret"}}
    headers = [{"name": "X-Key", "value": "s3cret"}]
    before = program.call("PATCH", path, {"headers": headers, "page": page}).json()
    everywhere = ["#/headers", "#/page/cookies", "#/page/login"]
    assert sorted(faults(program.call("PATCH", path, {"url": "https://evil.example/"}))) == everywhere
    mapped = {"host_map": [{"host": "shop.acme.example", "address": "203.0.113.9"}]}
    assert sorted(faults(program.call("PATCH", path, {"page": mapped}))) == everywhere
    some = program.call("PATCH", path, {"url": "https://evil.example/", "headers": [], "page": {"login": None}})
    assert faults(some) == ["#/page/cookies"]
    assert program.get(path).json() == before
    consent = {"headers": headers, "page": {"login": None, "cookies": []}}
    moved = program.call("PATCH", path, {"url": "https://new.example/"} | consent).json()
    assert (moved["url"], moved["header_names"], moved["page"]["cookie_names"]) == (
        "https://new.example/",
        ["X-Key"],
        [],
    )
    detail = AuditEntry.objects.filter(action="change_monitor").latest("pk").detail["moved"]
    assert (detail["from"], detail["to"]) == ("https://shop.acme.example", "https://new.example")
    assert (detail["secrets_written"], detail["secrets_dropped"]) == (["header X-Key"], ["cookie session", "password"])


def test_a_secret_that_is_named_without_its_text_stays_as_it_is_stored(program: Program, world: World) -> None:
    path, _ = monitor_of(world, program)
    page = {"cookies": [{"name": "session", "value": "s3cret"}], "login": {"user": "me", "password": "s3cret"}}
    program.call("PATCH", path, {"headers": [{"name": "X-Key", "value": "s3cret"}], "page": page})
    named = {"cookies": [{"name": "session"}], "login": {"user": "you"}}
    more = [{"name": "X-Key"}, {"name": "X-New", "value": "new"}]
    program.call("PATCH", path, {"headers": more, "page": named})
    stored = stored_settings(world.monitor("page"))
    assert [(header.name, header.value) for header in stored.headers] == [("X-Key", "s3cret"), ("X-New", "new")]
    assert (stored.page.cookies[0].value, stored.page.login) == ("s3cret", Login(user="you", password="s3cret"))
    assert faults(program.call("PATCH", path, {"headers": [{"name": "X-Other"}]})) == ["#/headers"]


def test_a_monitor_that_cannot_be_read_says_so_and_is_written_anew(
    program: Program, world: World, settings: Any
) -> None:
    path, _ = monitor_of(world, program)
    page = {"loads": 3, "cookies": [{"name": "session", "value": "s3cret"}]}
    program.call("PATCH", path, {"headers": [{"name": "X-Key", "value": "s3cret"}], "page": page})
    settings.FERNET_KEYS = ("Vf7jyJc8dWZc3pDg9a4oYjmN9Z3dYtXvP9zv1mBgVnQ=",)
    lost = program.call("PATCH", path, {"interval_s": 600}).json()
    assert (lost["unreadable"], lost["header_names"], lost["page"]) == (["headers", "page"], [], None)
    mended = program.call("PATCH", path, {"headers": [], "page": {"loads": 2}}).json()
    assert (mended["unreadable"], mended["page"]["loads"], mended["page"]["cookie_names"]) == ([], 2, [])


def test_a_probe_has_no_page_to_be_loaded(program: Program, world: World) -> None:
    path = f"monitors/{world.monitor('probe').public_id}"
    assert program.get(path).json()["page"] is None
    assert faults(program.call("PATCH", path, {"page": {"loads": 2}})) == ["#/page"]


def test_what_is_left_out_of_a_change_stays(program: Program, world: World) -> None:
    path, _ = monitor_of(world, program)
    program.call("PATCH", path, {"regions": ["eu"], "accepted_status": [200, 404], "body_text": "cart"})
    changed = program.call("PATCH", path, {"timeout_s": 20, "body_text": None}).json()
    assert (changed["regions"], changed["accepted_status"], changed["body_text"]) == (["eu"], [200, 404], "cart")
    assert program.call("PATCH", path, {"regions": [], "body_text": ""}).json()["regions"] == []


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"interval_s": 29}, "#/interval_s"),
        ({"interval_s": 10**30}, "#/interval_s"),
        ({"interval_s": "often"}, "#/interval_s"),
        ({"timeout_s": 121}, "#/timeout_s"),
        ({"timeout_s": 4}, "#/timeout_s"),
        ({"url": "http://169.254.169.254/latest"}, "#/url"),
        ({"profile": "warp"}, "#/profile"),
        ({"regions": ["eu", "mars"]}, "#/regions"),
        ({"accepted_status": [200, 99]}, "#/accepted_status/1"),
        ({"headers": [{"name": "Host", "value": "x"}]}, "#/headers"),
        ({"headers": [{"name": "X", "value": "a", "more": 1}]}, "#/headers/0/more"),
        ({"headers": [{"name": "X", "value": "a\r\nY: b"}]}, "#/headers"),
        ({"body_text": "a\nb"}, "#/body_text"),
        ({"user_timings": ["hero"]}, "#/user_timings"),
        ({"user_timings": ["mark:a"] * 2}, "#/user_timings"),
        ({"user_timings": [f"mark:{number}" for number in range(6)]}, "#/user_timings"),
        ({"kind": "probe"}, "#/kind"),
        ({"paused": True}, "#/paused"),
        ({"page": {"locale": "german"}}, "#/page/locale"),
        ({"page": {"loads": 6}}, "#/page/loads"),
        ({"page": {"device": {"name": "x", "width": 1, "height": 500}}}, "#/page/device/width"),
        ({"page": {"host_map": [{"host": "a b", "address": "192.0.2.1"}]}}, "#/page/host_map"),
        ({"page": {"host_map": [{"host": "a.example", "address": "192.0.2.1", "port": 25}]}}, "#/page/host_map"),
        ({"page": {"repeat": "cold"}}, "#/page/repeat"),
        ({"page": {"black_holes": ["a.example"], "spare": 1}}, "#/page/spare"),
    ],
)
def test_a_change_that_breaks_a_rule_names_it_and_changes_nothing(
    program: Program, world: World, change: dict[str, object], pointer: str
) -> None:
    path, before = monitor_of(world, program)
    assert faults(program.call("PATCH", path, change)) == [pointer]
    assert program.get(path).json() == before


def test_a_monitor_keeps_a_region_that_is_gone_until_its_regions_are_chosen_anew(
    program: Program, world: World
) -> None:
    path, _ = monitor_of(world, program)
    Monitor.objects.filter(public_id=path.removeprefix("monitors/")).update(regions=["gone"])
    assert program.call("PATCH", path, {"regions": ["eu", "gone"]}).json()["regions"] == ["eu", "gone"]
    assert program.call("PATCH", path, {"regions": ["eu"]}).json()["regions"] == ["eu"]
    assert faults(program.call("PATCH", path, {"regions": ["gone"]})) == ["#/regions"]


def test_another_organisations_region_is_no_region_of_a_monitor(
    program: Program, world: World, charlie: Member
) -> None:
    make_region("theirs", charlie.organisation)
    path, _ = monitor_of(world, program)
    assert faults(program.call("PATCH", path, {"regions": ["theirs"]})) == ["#/regions"]


def test_a_paused_monitor_is_not_scheduled_until_it_is_resumed(program: Program, world: World) -> None:
    path, _ = monitor_of(world, program)
    enabled = Schedule.objects.filter(monitor=world.monitor("page"), enabled=True)
    assert program.post(f"{path}/pause").json()["paused"] is True
    assert not enabled.exists()
    assert program.post(f"{path}/pause").json()["paused"] is True
    assert program.post(f"{path}/resume").json()["paused"] is False
    assert enabled.exists()


def test_monitors_are_filtered(program: Program, world: World) -> None:
    other = program.post("sites", {"url": "https://other.example/"}).json()
    assert len(program.get("monitors").json()["items"]) == 4
    assert {monitor["site_id"] for monitor in program.get(f"monitors?site={other['id']}").json()["items"]} == {
        other["id"]
    }
    assert [monitor["kind"] for monitor in program.get("monitors?kind=page").json()["items"]] == ["page", "page"]


def test_a_list_costs_the_same_statements_however_long(
    program: Program, world: World, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for path, statements in (("monitors", 3), ("sites", 5)):
        program.get(path)
        with django_assert_num_queries(statements - 1):
            program.get(path)
        program.post("sites", {"url": "https://other.example/"})
        with django_assert_num_queries(statements - 1):
            program.get(path)


def test_a_monitor_whose_headers_no_key_opens_spoils_no_list(program: Program, world: World, settings: Any) -> None:
    Monitor.objects.filter(pk=world.monitor("page").pk).update(headers=[["X-Key", "v"]])
    settings.FERNET_KEYS = ("Vf7jyJc8dWZc3pDg9a4oYjmN9Z3dYtXvP9zv1mBgVnQ=",)
    assert program.get("monitors").status_code == 200
