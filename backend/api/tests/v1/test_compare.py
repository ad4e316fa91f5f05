"""Hosts, pairings and comparisons, as programs use them."""

from datetime import timedelta
from random import Random
from typing import Any

import pytest

from backend.accounts.permissions import Scope
from backend.api.tests.v1.calling import Program, make_token, problem_of
from backend.api.tests.v1.world import World
from backend.cast import Member
from backend.compare.actions import create_pairing, look_at_hosts
from backend.compare.judging import judge_pairing
from backend.compare.models import Pairing
from backend.compare.pairings import PairingDraft
from backend.runs.ingest import ingest
from backend.runs.tests.factories import NOW, make_pending
from backend.runs.tests.results import line_of, pair
from backend.sites.models import Host

pytestmark = pytest.mark.django_db
DRAFT = PairingDraft(cdn_url="https://cdn.shop.example/app.js", origin="www.shop.example")


@pytest.fixture
def pairing(world: World) -> Pairing:
    made = create_pairing(actor=None, site=world.site, draft=DRAFT)
    Pairing.objects.filter(pk=made.pk).update(compared_from=NOW - timedelta(days=1))
    made.refresh_from_db()
    return made


def feed(world: World, pairing: Pairing, count: int) -> None:
    """Pairs in which the CDN takes 60 ms and the origin 100 ms."""
    random = Random(count)
    for n in range(count):
        pending = make_pending(world.fleet, pairing.monitor, scheduled_for=NOW - timedelta(minutes=1 + n))
        outcome = pair(60_000 + random.randrange(2_000), 100_000 + random.randrange(2_000))
        ingest(world.region, [line_of(pending, outcome)], now=NOW)


def faults_of(answer: Any) -> dict[str, str]:
    return {fault["pointer"]: fault["detail"] for fault in problem_of(answer)["errors"]}


def test_hosts_have_roles_reasons_and_costs(world: World, program: Program) -> None:
    look_at_hosts(site=world.site, now=NOW)
    items = program.get(f"sites/{world.site.public_id}/hosts").json()["items"]
    assert [item["name"] for item in items] == ["host-0.example", "host-1.example", "host-2.example"]
    one = items[1]
    assert (one["role"], one["chosen"]) == ("origin", None)
    assert one["evidence"] == ["The site's own address leads here."]
    assert one["costs"]["tls_ms"] == 34.0
    assert one["costs"]["connections_per_load"] == 1
    nowhere = program.get(f"sites/{world.site.public_id}/hosts?region=nowhere")
    assert faults_of(nowhere) == {"?region": "There is no such region."}
    assert program.get(f"sites/{world.site.public_id}/hosts?region=eu").status_code == 200


def test_a_role_is_chosen_and_taken_back(world: World, program: Program) -> None:
    look_at_hosts(site=world.site, now=NOW)
    path = f"sites/{world.site.public_id}/hosts/host-2.example"
    assert program.call("PATCH", path, {"role": "cdn"}).json()["role"] == "cdn"
    assert program.call("PATCH", path, {"role": None}).json()["chosen"] is None
    assert "#/role" in faults_of(program.call("PATCH", path, {"role": "boss"}))
    assert problem_of(program.call("PATCH", f"{path}.other", {"role": "cdn"}))["status"] == 404
    assert problem_of(program.call("PATCH", f"{path}{'x' * 300}", {"role": "cdn"}))["status"] == 404
    assert problem_of(program.call("PATCH", f"{path}%00", {"role": "cdn"}))["status"] == 404
    assert Host.objects.get(name="host-2.example").chosen is None


def test_a_pairing_is_made_found_changed_and_deleted(world: World, program: Program) -> None:
    body = {"site": str(world.site.public_id), "cdn_url": DRAFT.cdn_url, "origin": "198.51.101.7:443"}
    answer = program.post("pairings", body)
    made = answer.json()
    assert answer.status_code == 201
    assert answer.headers["Location"] == f"/api/v1/pairings/{made['id']}"
    assert (made["name"], made["origin_url"], made["origin_address"]) == ("/app.js", DRAFT.cdn_url, "198.51.101.7:443")
    assert (made["interval_s"], made["verdicts"]) == (300, [])
    path = f"pairings/{made['id']}"
    changed = program.call("PATCH", path, {"origin": "www.shop.example", "interval_s": 60, "regions": ["eu"]}).json()
    assert changed["origin_url"] == "https://www.shop.example/app.js"
    assert (changed["interval_s"], changed["regions"], changed["name"]) == (60, ["eu"], "/app.js")
    assert changed["compared_from"] > made["compared_from"]
    assert program.call("DELETE", path).status_code == 204
    assert problem_of(program.get(path))["status"] == 404


@pytest.mark.parametrize(
    ("changes", "pointer", "sentence"),
    [
        ({"cdn_url": "http://10.0.0.1/"}, "#/cdn_url", "inside your network"),
        ({"origin": "127.0.0.1"}, "#/origin", "inside your network"),
        ({"origin": "cdn.shop.example"}, "#/origin", "another address"),
        ({"interval_s": 5}, "#/interval_s", "greater than or equal to 30"),
        ({"name": "x" * 101}, "#/name", "at most 100"),
        ({"regions": ["mars"]}, "#/regions", "There is no region 'mars'; choose from eu."),
        ({"speed": "fast"}, "#/speed", "not permitted"),
    ],
)
def test_a_value_that_is_not_valid_is_named(
    world: World, program: Program, changes: dict[str, Any], pointer: str, sentence: str
) -> None:
    body = {"site": str(world.site.public_id), "cdn_url": DRAFT.cdn_url, "origin": DRAFT.origin}
    faults = faults_of(program.post("pairings", body | changes))
    assert list(faults) == [pointer]
    assert sentence in faults[pointer]
    assert not Pairing.objects.exists()


def test_a_pairing_is_changed_to_regions_that_there_are(world: World, program: Program, pairing: Pairing) -> None:
    path = f"pairings/{pairing.public_id}"
    assert list(faults_of(program.call("PATCH", path, {"regions": ["mars"]}))) == ["#/regions"]
    assert program.get(path).json()["regions"] == []


def test_pairings_come_in_pages_and_by_site(world: World, program: Program, pairing: Pairing) -> None:
    second = create_pairing(actor=None, site=world.site, draft=DRAFT)
    first_page = program.get("pairings?limit=1").json()
    assert [item["id"] for item in first_page["items"]] == [str(pairing.public_id)]
    rest = program.get(f"pairings?limit=1&cursor={first_page['next']}").json()
    assert ([item["id"] for item in rest["items"]], rest["next"]) == ([str(second.public_id)], None)
    assert len(program.get(f"pairings?site={world.site.public_id}").json()["items"]) == 2


def test_a_comparison_says_where_by_how_much_and_why(world: World, program: Program, pairing: Pairing) -> None:
    path = f"pairings/{pairing.public_id}/comparison"
    early = program.get(path).json()
    assert (early["cold"]["verdict"], early["cold"]["difference_ms"], early["regions"][0]["cold"]["cdn"]) == (
        "inconclusive",
        None,
        None,
    )
    feed(world, pairing, 24)
    found = program.get(path).json()
    (eu,) = found["regions"]
    assert (found["cold"]["verdict"], eu["cold"]["verdict"], eu["cold"]["pairs"]) == ("cdn_faster", "cdn_faster", 24)
    assert eu["cold"]["difference_ms"]["estimate"] == pytest.approx(-40, abs=2)
    assert sum(eu["cold"]["by_phase_ms"].values()) == pytest.approx(eu["cold"]["difference_ms"]["estimate"])
    assert eu["cold"]["main_reason"] in {reason["id"] for reason in eu["cold"]["reasons"]}
    assert (eu["cold"]["cdn"]["cache"], eu["cold"]["cdn"]["content_encoding"]) == ({"hit": 24}, "gzip")
    assert eu["reused"]["difference_ms"]["estimate"] == pytest.approx(-20, abs=2)
    assert "?range" in faults_of(program.get(f"{path}?range=1y"))


def test_the_verdicts_that_hold_now_stand_at_the_pairing(world: World, program: Program, pairing: Pairing) -> None:
    feed(world, pairing, 24)
    judge_pairing(pairing, now=NOW)
    overall, eu = program.get(f"pairings/{pairing.public_id}").json()["verdicts"]
    assert (overall["region"], eu["region"], eu["verdict"], eu["pairs"]) == (None, "eu", "cdn_faster", 24)
    assert eu["difference_ms"] == pytest.approx(-40, abs=2)
    assert eu["slower_since"] is None


def test_what_a_pair_compares_is_not_changed_behind_its_back(world: World, program: Program, pairing: Pairing) -> None:
    path = f"monitors/{pairing.monitor.public_id}"
    answer = program.call("PATCH", path, {"url": "https://other.example/"})
    assert faults_of(answer) == {"#/url": "What a pair compares is changed at its pairing."}
    assert program.call("PATCH", path, {"interval_s": 60}).json()["interval_s"] == 60


def test_headers_of_a_pair_are_for_its_two_addresses(world: World, program: Program, pairing: Pairing) -> None:
    path, headers = f"pairings/{pairing.public_id}", [{"name": "X-Key", "value": "s3cret"}]
    monitor = f"monitors/{pairing.monitor.public_id}"
    assert program.call("PATCH", monitor, {"headers": headers}).json()["header_names"] == ["X-Key"]
    for elsewhere in ({"cdn_url": "https://evil.example/app.js"}, {"origin": "203.0.114.9"}):
        answer = program.call("PATCH", path, elsewhere)
        assert "X-Key was given for https://cdn.shop.example" in faults_of(answer)["#/drop_headers"]
    assert program.call("PATCH", path, {"interval_s": 900}).status_code == 200
    moved = program.call("PATCH", path, {"origin": "203.0.114.9", "drop_headers": True}).json()
    assert moved["origin_address"] == "203.0.114.9"
    assert program.get(monitor).json()["header_names"] == []


def test_a_token_that_only_reads_makes_no_pairing(world: World) -> None:
    body = {"site": str(world.site.public_id), "cdn_url": DRAFT.cdn_url, "origin": DRAFT.origin}
    answer = Program(make_token(world.member, Scope.READ)).post("pairings", body)
    assert problem_of(answer)["type"] == "/api/v1/problems/scope-missing"
    assert not Pairing.objects.exists()


def test_another_organisation_pairs_nothing_of_ours(world: World, charlie: Member, pairing: Pairing) -> None:
    theirs = Program(make_token(charlie))
    body = {"site": str(world.site.public_id), "cdn_url": DRAFT.cdn_url, "origin": DRAFT.origin}
    assert [one["pointer"] for one in problem_of(theirs.post("pairings", body))["errors"]] == ["#/site"]
    for answer in (
        theirs.get(f"pairings/{pairing.public_id}"),
        theirs.get(f"pairings/{pairing.public_id}/comparison"),
        theirs.call("DELETE", f"pairings/{pairing.public_id}"),
    ):
        assert problem_of(answer)["type"] == "/api/v1/problems/not-found"
    assert theirs.get("pairings").json()["items"] == []
    assert Pairing.objects.count() == 1
