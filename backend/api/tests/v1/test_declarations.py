"""Sites as a file declares them."""

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from backend.accounts.models import AuditEntry
from backend.accounts.permissions import Role, Scope
from backend.alerts.actions.channels import create_channel
from backend.alerts.channels.config import Destination
from backend.alerts.models import ChannelKind, Rule
from backend.api.tests.v1.calling import Program, make_token, problem_of
from backend.api.tests.v1.world import World, make_world
from backend.cast import Member
from backend.compare.models import Pairing
from backend.declared.exporting import export
from backend.runs.models import Schedule
from backend.sites.models import Monitor, Site
from backend.sites.monitor_settings import stored_settings
from workers.measurement.page_options import Login, TypeText

pytestmark = pytest.mark.django_db
Document = dict[str, Any]

LCP: Document = {"metric": "lcp_ms", "limit": 2500, "critical_limit": None, "of_last": 5, "regions": 1}
NEW: Document = {
    "name": "New",
    "url": "https://new.example/",
    "probe": {"interval_s": 300, "regions": ["eu"], "headers": [{"name": "X-Key", "value": "s3cret"}]},
    "page": {
        "paused": True,
        "user_timings": ["mark:hero-painted", "measure:a:b"],
        "device": {"name": "phone", "width": 412, "height": 823, "scale": 1.75, "mobile": True},
        "cookies": [{"name": "session", "value": "s3cret"}],
        "login": {"user": "me", "password": "s3cret"},
        "steps": [{"kind": "type", "selector": "#password", "text": "s3cret", "secret": True}],
    },
    "pairs": [{"name": "Script", "cdn_url": "https://cdn.new.example/app.js", "origin": "www.new.example"}],
    "rules": [
        {"kind": "certificate", "params": {"warn_days": 20, "critical_days": 5}},
        {"kind": "budget", "params": LCP, "monitor": "page", "name": "Paint"},
        {"kind": "no_data", "pair": "Script", "severity": "critical", "params": {"intervals": 4}},
    ],
}


def told(answer: Any) -> list[tuple[str, str, str | None, str]]:
    """What was changed, without the fields."""
    assert answer.status_code == 200, answer.content
    return [(one["act"], one["what"], one["site"], one["name"]) for one in answer.json()["changes"]]


def fields(answer: Any) -> dict[str, tuple[Any, Any]]:
    """The fields of the only change."""
    (change,) = answer.json()["changes"]
    return {field["name"]: (field["before"], field["after"]) for field in change["fields"]}


def faults(answer: Any) -> dict[str, str]:
    return {fault["pointer"]: fault["detail"] for fault in problem_of(answer)["errors"]}


def exported(program: Program) -> Document:
    document: Document = program.get("declaration").json()
    assert document.pop("remarks") == []
    return document


def site_in(document: Document, name: str) -> Document:
    found: Document = next(site for site in document["sites"] if site["name"] == name)
    return found


def test_a_declared_site_is_made_with_all_that_belongs_to_it(program: Program, world: World) -> None:
    assert told(program.post("declaration/apply", {"sites": [NEW]})) == [
        ("create", "site", "New", ""),
        ("change", "probe", "New", ""),
        ("change", "page", "New", ""),
        ("create", "pair", "New", "Script"),
        ("create", "rule", "New", "Certificate"),
        ("create", "rule", "New", "Paint"),
        ("create", "rule", "New", "No data"),
    ]
    site = Site.objects.get(name="New")
    probe, page = site.monitors.get(kind="probe"), site.monitors.get(kind="page")
    assert (probe.interval_s, probe.regions, probe.headers) == (300, ["eu"], [["X-Key", "s3cret"]])
    options = stored_settings(page).page
    assert (page.paused, options.device.name, options.login) == (True, "phone", Login(user="me", password="s3cret"))
    assert options.steps == (TypeText(selector="#password", text="s3cret", secret=True),)
    assert Schedule.objects.filter(monitor=probe, interval_s=300).count() == 1
    rules = Rule.objects.filter(site=site).order_by("pk")
    assert [(rule.kind, rule.monitor and rule.monitor.kind, rule.severity) for rule in rules] == [
        ("certificate", None, "critical"),
        ("budget", "page", "warning"),
        ("no_data", "pair", "critical"),
    ]
    assert AuditEntry.objects.filter(action="create_pairing", actor=world.member.user).exists()


def test_what_is_declared_already_changes_nothing(program: Program, world: World) -> None:
    program.post("declaration/apply", {"sites": [NEW]})
    versions = dict(Monitor.objects.values_list("pk", "config_version"))
    assert told(program.post("declaration/apply", {"sites": [NEW]})) == []
    assert told(program.post("declaration/apply", exported(program))) == []
    assert dict(Monitor.objects.values_list("pk", "config_version")) == versions


def test_what_is_exported_holds_all_but_secrets_and_what_is_as_usual(program: Program, world: World) -> None:
    program.post("declaration/apply", {"sites": [NEW]})
    document = exported(program)
    assert b"s3cret" not in program.get("declaration").content
    assert site_in(document, "New") == NEW | {
        "relies_on": [],
        "probe": NEW["probe"] | {"headers": [{"name": "X-Key"}]},
        "page": NEW["page"]
        | {
            "cookies": [{"name": "session"}],
            "login": {"user": "me"},
            "steps": [{"kind": "type", "selector": "#password", "secret": True}],
        },
    }
    assert site_in(document, world.site.name) == {
        "name": world.site.name,
        "url": world.site.url,
        "probe": {},
        "page": {},
        "relies_on": [],
        "pairs": [],
        "rules": [],
    }
    assert all(rule["kind"] for rule in document["rules"])


def test_an_export_makes_the_same_elsewhere(program: Program, world: World, charlie: Member) -> None:
    program.post("declaration/apply", {"sites": [NEW | {"page": {"interval_s": 1800}, "probe": {"timeout_s": 9}}]})
    document = exported(program)
    make_world(charlie, code="eu-2")
    other = Program(make_token(charlie))
    other.post("declaration/apply", document)
    assert site_in(exported(other), "New") == site_in(document, "New")


def test_a_plan_tells_what_would_change_and_changes_nothing(program: Program, world: World) -> None:
    before = (exported(program), AuditEntry.objects.count(), Schedule.objects.count())
    planned = program.post("declaration/plan", {"sites": [NEW]})
    assert (exported(program), AuditEntry.objects.count(), Schedule.objects.count()) == before
    assert planned.json() == program.post("declaration/apply", {"sites": [NEW]}).json()


def test_a_section_that_is_there_is_the_whole_of_it_and_one_that_is_not_stays(program: Program, world: World) -> None:
    program.post("declaration/apply", {"sites": [NEW]})
    bare = {"name": "New", "url": "https://new.example/"}
    assert told(program.post("declaration/apply", {"sites": [bare]})) == []
    answer = program.post("declaration/apply", {"sites": [bare | {"probe": {"interval_s": 120}}]})
    assert fields(answer) == {
        "interval_s": (300, 120),
        "regions": (["eu"], []),
        "headers": ([{"name": "X-Key"}], []),
    }
    answer = program.post("declaration/apply", {"sites": [bare | {"page": {"login": {"user": "you"}}}]})
    assert answer.status_code == 200
    site = Site.objects.get(name="New")
    assert stored_settings(site.monitors.get(kind="page")).page.login == Login(user="you", password="s3cret")
    assert not site.monitors.get(kind="page").paused


def test_another_secret_is_told_without_its_text(program: Program, world: World) -> None:
    program.post("declaration/apply", {"sites": [NEW]})
    probe = NEW["probe"] | {"headers": [{"name": "X-Key", "value": "an0ther"}]}
    answer = program.post("declaration/apply", {"sites": [NEW | {"probe": probe}]})
    (change,) = answer.json()["changes"]
    assert change["fields"] == [{"name": "headers", "before": None, "after": None, "is_secret": True}]
    assert Site.objects.get(name="New").monitors.get(kind="probe").headers == [["X-Key", "an0ther"]]


def test_what_a_list_does_not_name_goes_only_when_that_is_allowed(program: Program, world: World) -> None:
    program.post("declaration/apply", {"sites": [NEW]})
    fewer = {"sites": [NEW | {"pairs": [], "rules": NEW["rules"][:1]}]}
    kept = told(program.post("declaration/apply", fewer))
    assert [one[0] for one in kept] == ["keep"] * 3
    assert (Pairing.objects.count(), Rule.objects.filter(site__name="New").count()) == (1, 3)
    gone = told(program.post("declaration/apply?delete=true", fewer))
    assert gone == [("delete", *one[1:]) for one in kept]
    assert (Pairing.objects.count(), Rule.objects.filter(site__name="New").count()) == (0, 1)
    assert told(program.post("declaration/apply?delete=true", fewer)) == []


def test_sites_that_are_not_named_stay_whatever_is_allowed(program: Program, world: World) -> None:
    before = site_in(exported(program), world.site.name)
    program.post("declaration/apply?delete=true", {"sites": [NEW]})
    assert site_in(exported(program), world.site.name) == before


def test_pairs_and_rules_are_changed_where_they_are(program: Program, world: World) -> None:
    program.post("declaration/apply", {"sites": [NEW]})
    pair, rule = Pairing.objects.get(), Rule.objects.get(name="Paint")
    changed = {
        "pairs": [NEW["pairs"][0] | {"interval_s": 600, "paused": True}],
        "rules": [NEW["rules"][0], NEW["rules"][1] | {"params": LCP | {"limit": 3000}}, NEW["rules"][2]],
    }
    assert told(program.post("declaration/apply?delete=true", {"sites": [NEW | changed]})) == [
        ("change", "pair", "New", "Script"),
        ("change", "rule", "New", "Paint"),
    ]
    pair.refresh_from_db()
    rule.refresh_from_db()
    assert (pair.monitor.interval_s, pair.monitor.paused, rule.params["limit"]) == (600, True, 3000)


def test_of_rules_that_are_called_alike_those_stay_that_are_written_so(program: Program, world: World) -> None:
    def budget(limit: int) -> Document:
        return {"kind": "budget", "params": {"limit": limit}}

    site = {"name": "New", "url": "https://new.example/"}
    program.post("declaration/apply", {"sites": [site | {"rules": [budget(100), budget(200), budget(300)]}]})
    known = {rule.params["limit"]: rule.pk for rule in Rule.objects.filter(site__name="New")}
    answer = program.post("declaration/apply", {"sites": [site | {"rules": [budget(300), budget(150), budget(100)]}]})
    assert fields(answer)["params"][1]["limit"] == 150
    limits = {rule.params["limit"]: rule.pk for rule in Rule.objects.filter(site__name="New")}
    assert limits == {100: known[100], 150: known[200], 300: known[300]}


def test_rules_for_all_sites_and_their_channels_are_declared(program: Program, world: World) -> None:
    create_channel(
        actor=world.member.user,
        organisation=world.member.organisation,
        kind=ChannelKind.WEBHOOK,
        name="ops",
        destination=Destination(url="https://hook.example/"),
    )
    rules = [
        *exported(program)["rules"],
        {"kind": "no_data", "params": {"intervals": 9}, "name": "Late", "channels": ["ops"]},
    ]
    assert told(program.post("declaration/apply?delete=true", {"rules": rules})) == [("create", "rule", None, "Late")]
    assert exported(program)["rules"][-1] == rules[-1]
    nobody = program.post("declaration/apply", {"rules": [rules[-1] | {"channels": ["nobody"]}]})
    assert faults(nobody) == {"#/rules/0/channels": "There is no channel 'nobody'; there are ops."}


def test_every_fault_is_told_with_its_place_and_nothing_is_changed(program: Program, world: World) -> None:
    before = exported(program)
    wrong = {
        "sites": [
            NEW | {"probe": {"timeout_s": 90}, "page": {"regions": ["nowhere"]}, "pairs": []},
            {"name": "Inside", "url": "http://10.0.0.1/"},
            {"name": world.site.name, "url": "https://elsewhere.example/"},
            {
                "name": "Pairs",
                "url": "https://p.example/",
                "pairs": [{"name": "A", "cdn_url": "ftp://x/", "origin": "o"}],
            },
            {"name": "Rules", "url": "https://r.example/", "rules": [{"kind": "budget", "params": {"limit": -1}}]},
            {"name": "Rules", "url": "https://r.example/", "rules": [{"kind": "cdn", "pair": "none"}]},
        ]
    }
    told_faults = faults(program.post("declaration/apply", wrong))
    assert set(told_faults) == {
        "#/sites/0/probe/timeout_s",
        "#/sites/0/page/regions",
        "#/sites/0/rules/2/pair",
        "#/sites/1/url",
        "#/sites/2/url",
        "#/sites/3/pairs/0/cdn_url",
        "#/sites/4/rules/0/params/limit",
        "#/sites/5/name",
        "#/sites/5/rules/0/pair",
    }
    assert told_faults["#/sites/0/probe/timeout_s"].startswith("The timeout of a probe must be")
    assert faults(program.post("declaration/plan", wrong)) == told_faults
    assert exported(program) == before


def test_two_sites_of_one_name_are_no_choice_of_ours(program: Program, world: World) -> None:
    program.post("sites", {"url": "https://other.example/", "name": world.site.name})
    answer = program.post("declaration/apply", {"sites": [{"name": world.site.name, "url": world.site.url}]})
    assert faults(answer) == {"#/sites/0/name": "2 sites are called so: give all but one another name first."}
    (remark,) = program.get("declaration").json()["remarks"]
    assert remark.startswith(f"2 sites are called {world.site.name}:")


def test_names_that_are_given_twice_are_refused(program: Program, world: World) -> None:
    pairs = [NEW["pairs"][0], NEW["pairs"][0]]
    assert "#/sites/0/pairs/1/name" in faults(program.post("declaration/apply", {"sites": [NEW | {"pairs": pairs}]}))
    assert "#/sites/1/name" in faults(program.post("declaration/apply", {"sites": [NEW, NEW]}))


def test_secrets_go_to_no_other_server_than_before(program: Program, world: World) -> None:
    program.post("declaration/apply", {"sites": [NEW]})
    probe = {"url": "https://evil.example/", "headers": [{"name": "X-Key"}]}
    assert set(faults(program.post("declaration/apply", {"sites": [NEW | {"probe": probe}]}))) == {
        "#/sites/0/probe/headers"
    }


def test_a_section_that_cannot_be_read_is_left_out_and_said(program: Program, world: World, settings: Any) -> None:
    program.post("declaration/apply", {"sites": [NEW]})
    settings.FERNET_KEYS = ("Vf7jyJc8dWZc3pDg9a4oYjmN9Z3dYtXvP9zv1mBgVnQ=",)
    document = program.get("declaration").json()
    assert site_in(document, "New").keys() == {"name", "url", "relies_on", "pairs", "rules"}
    assert document["remarks"] == [
        f"The {kind} of New is left out: what it keeps secret cannot be read." for kind in ("probe", "page")
    ]


def test_rules_are_declared_only_by_who_may_change_them(alice: Member, world: World) -> None:
    writer = Program(make_token(alice, Scope.WRITE))
    assert writer.post("declaration/apply", {"sites": [NEW | {"rules": None}]}).status_code == 200
    assert problem_of(writer.post("declaration/apply", {"sites": [NEW]}))["type"].endswith("scope-missing")
    assert problem_of(writer.post("declaration/apply", {"rules": []}))["type"].endswith("scope-missing")
    reader = Program(make_token(alice, role=Role.VIEWER))
    assert problem_of(reader.post("declaration/apply", {"sites": []}))["type"].endswith("forbidden")
    assert reader.get("declaration").status_code == 200


def test_sites_of_others_are_neither_told_nor_changed(program: Program, world: World, charlie: Member) -> None:
    theirs = make_world(charlie, code="eu-2")
    assert theirs.site.name not in [site["name"] for site in exported(program)["sites"]]
    made = program.post("declaration/apply", {"sites": [{"name": theirs.site.name, "url": "https://mine.example/"}]})
    assert told(made) == [("create", "site", theirs.site.name, "")]
    theirs.site.refresh_from_db()
    assert theirs.site.url != "https://mine.example/"


def test_an_export_asks_as_often_for_many_sites_as_for_one(
    program: Program, world: World, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    program.post("declaration/apply", {"sites": [NEW]})
    with django_assert_num_queries(10):
        export(world.member.organisation)
    program.post("declaration/apply", {"sites": [NEW | {"name": f"New {n}"} for n in range(3)]})
    with django_assert_num_queries(10):
        assert len(export(world.member.organisation).sites) == 5
