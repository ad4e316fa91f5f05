"""A gate that compares two addresses: which ones, in turns, by their differences, without the monitors' secrets."""

import pytest

from backend.gates import actions
from backend.gates.addresses import Address, MonitorUrl
from backend.gates.models import Gate, Side
from backend.gates.queries import AddressView
from backend.gates.questions import AskedRule, Baseline, InvalidGateError, Runs
from backend.gates.report import markdown_report
from backend.gates.tests.world import REGIONS, TEN, World, failing
from backend.runs.models import PendingRun
from backend.sites.deploys import DeployMarker
from backend.sites.models import Deploy
from workers.measurement.messages import Outcome

pytestmark = pytest.mark.django_db
OLD = "https://old.example"


def against(base: str = OLD, *urls: MonitorUrl) -> Baseline:
    return Baseline(mode="url", address=Address(base=base, urls=urls))


def ask(world: World, *rules: AskedRule, **changes: object) -> Gate:
    return world.ask(*rules, **{"baseline": against()} | changes)


def test_equal_addresses_pass_without_any_history(world: World) -> None:
    gate = world.play(ask(world))
    view = world.view(gate)
    assert (gate.verdict, view.exit_code) == ("pass", 0)
    assert view.runs.completed == view.runs.planned == len(REGIONS) * 2 * (3 + 1)
    (rule,) = view.rules
    assert rule.found is not None
    assert (rule.found.before_runs, rule.found.after_runs) == (9, 9)
    assert gate.warnings == []


def test_a_slower_release_fails_whatever_history_says_and_the_phase_is_named(world: World) -> None:
    world.history(slower=3.0)
    gate = world.play(ask(world), lambda run: 1.0 if run.url else 1.4)
    assert gate.verdict == "fail"
    assert "What grew: waiting for the server by 5" in gate.summary


def test_what_slows_both_fails_nothing(world: World) -> None:
    world.history()
    gate = world.play(ask(world), lambda run: 1.5)
    assert gate.verdict == "pass"


def test_runs_of_both_alternate_and_each_pair_is_made_at_once(world: World) -> None:
    gate = world.play(ask(world))
    for place, region in enumerate(gate.regions):
        sides = list(gate.runs.filter(region__code=region).order_by("place").values_list("side", flat=True))
        first, second = (Side.BEFORE, Side.AFTER) if place % 2 == 0 else (Side.AFTER, Side.BEFORE)
        assert sides == [first, second, second, first] * 2
    assert gate.runs.filter(discarded=True).count() == 2 * len(REGIONS)


def test_each_side_is_measured_at_its_own_address(world: World) -> None:
    seen: set[tuple[str, str | None]] = set()

    def remember(run: PendingRun) -> float:
        seen.add((run.kind, run.url))
        return 1.0

    address = Address(urls=(MonitorUrl(monitor="page", url="preview.example/start?x=1"),))
    rules = (TEN, AskedRule(metric="lcp", max_change_pct=10))
    gate = world.play(ask(world, *rules, release=address, baseline=against(f"{OLD}/v1/")), remember)
    assert gate.verdict == "pass"
    assert seen == {
        ("probe", None),
        ("probe", f"{OLD}/v1/"),
        ("page", "https://preview.example/start?x=1"),
        ("page", f"{OLD}/v1/"),
    }
    assert [value.after for value in view_addresses(world, gate)] == [
        "https://shop.example/",
        "https://preview.example/start?x=1",
    ]


def view_addresses(world: World, gate: Gate) -> tuple[AddressView, ...]:
    view = world.view(gate)
    assert f"against {OLD}" in markdown_report(view, url="https://service.example/").replace("\\", "")
    return view.addresses


def test_a_monitors_path_and_query_stay_when_its_server_is_replaced(world: World) -> None:
    monitor = world.monitor()
    monitor.url = "https://shop.example/cart?full=1"
    monitor.save()
    gate = ask(world, baseline=against("http://old.example:8080/v1"))
    assert gate.addresses == {
        str(monitor.pk): ["http://old.example:8080/v1/cart?full=1", "https://shop.example/cart?full=1"]
    }


def test_a_pages_fragment_stays_when_its_server_is_replaced(world: World) -> None:
    page = world.monitor("page")
    page.url = "https://shop.example/app#/cart"
    page.save()
    rule = AskedRule(metric="lcp", max_change_pct=10)
    gate = ask(world, rule, baseline=against("http://old.example:8080/v1"))
    assert gate.addresses == {str(page.pk): ["http://old.example:8080/v1/app#/cart", page.url]}


def test_a_release_that_nothing_scheduled_measures_is_no_deploy_but_keeps_its_name(world: World) -> None:
    preview = Address(base="https://preview.example")
    gate = ask(world, baseline=Baseline(mode="url"), release=preview, deploy=DeployMarker(version="v7"))
    assert (gate.deploy, gate.release) == (None, "v7")
    assert not Deploy.objects.exists()
    assert gate.addresses[str(world.monitor().pk)] == ["https://shop.example/", "https://preview.example/"]


def test_a_release_at_the_monitors_own_address_is_a_deploy(world: World) -> None:
    gate = ask(world, deploy=DeployMarker(version="v7"))
    assert gate.deploy is not None
    assert (gate.deploy.version, gate.release) == ("v7", "")


@pytest.mark.parametrize("broken", [None, f"{OLD}/"], ids=["release", "baseline"])
def test_a_side_that_does_not_work_is_an_error_that_says_which(world: World, broken: str | None) -> None:
    def answer(run: PendingRun) -> float | Outcome:
        return failing(run) if run.url == broken else 1.0

    gate = world.play(ask(world), answer)
    assert gate.verdict == "error"
    assert ("runs of the baseline failed" in gate.summary) is (broken is not None)
    assert gate.runs.count() <= len(REGIONS) * 2 * (3 + 1)


def test_regions_that_are_silent_are_left_out_of_both_sides(world: World) -> None:
    world.silence("ap")
    gate = world.play(ask(world))
    assert gate.verdict == "pass"
    assert set(gate.runs.values_list("region__code", flat=True)) == {"eu", "us"}


def test_headers_that_the_other_server_does_not_get_are_told_of(world: World) -> None:
    monitor = world.monitor()
    monitor.headers = [["Authorization", "Bearer sesame"]]
    monitor.save()
    gate = world.play(ask(world))
    assert gate.warnings == [
        "The request headers of the probe may be secrets and are sent to its own server only, not to "
        "https://old.example/."
    ]


def test_which_address_failed_is_told_and_its_pair_is_made_again(world: World) -> None:
    made: list[str] = []

    def third_of_old_fails_in_eu(run: PendingRun) -> float | Outcome:
        made.extend([run.region.code] if run.url else [])
        return failing(run) if run.url and run.region.code == "eu" and made.count("eu") == 3 else 1.0

    gate = world.play(ask(world), third_of_old_fails_in_eu)
    assert (gate.verdict, gate.look) == ("pass", 1)
    assert gate.warnings == [
        f"1 of 10 runs of the probe at {OLD}/ failed. The reason: The server refused the connection: 203.0.113.7."
    ]
    assert gate.runs.filter(region__code="eu").count() == 2 * (1 + 4)


def test_one_region_and_three_pairs_are_too_few_and_more_are_made(world: World) -> None:
    gate = world.play(ask(world, runs=Runs(regions=("eu",))))
    assert gate.verdict == "pass"
    assert gate.look > 1
    assert gate.runs.count() >= 2 * (6 + 1)


@pytest.mark.parametrize(
    ("changes", "field", "sentence"),
    [
        ({"baseline": Baseline(mode="url")}, "baseline/url", "Say which address is compared with."),
        ({"baseline": against("https://shop.example")}, "baseline/url", "there is nothing to compare"),
        ({"baseline": against("https://10.0.0.1")}, "baseline/url", "inside your network"),
        ({"baseline": against("https://169.254.169.254")}, "baseline/url", "inside your network"),
        ({"baseline": against("ftp://old.example")}, "baseline/url", "must begin with"),
        ({"baseline": against("https://old.example:22")}, "baseline/url", "Port 22 may not"),
        ({"baseline": against("https://old.example/?x=1")}, "baseline/url", "has no query"),
        (
            {"baseline": against("", MonitorUrl(monitor="probe", url="http://localhost"))},
            "baseline/urls/0/url",
            "insid",
        ),
        ({"baseline": against(OLD, MonitorUrl(monitor="page", url=OLD))}, "baseline/urls/0/monitor", "not about"),
        ({"release": Address(base="http://[::1]/")}, "release/url", "inside your network"),
        ({"baseline": Baseline(address=Address(base=OLD))}, "baseline/url", "compared in the mode url"),
        ({"baseline": Baseline(), "release": Address(base=OLD)}, "release/url", "compared in the mode url"),
        ({"phase": "before"}, "baseline/mode", "compares with nothing"),
        ({"baseline": against(OLD, *[MonitorUrl(monitor="probe", url=OLD)] * 6)}, "baseline/urls", "At most 5"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_its_field(
    world: World, changes: dict[str, object], field: str, sentence: str
) -> None:
    with pytest.raises(InvalidGateError) as refused:
        ask(world, **changes)
    assert sentence in refused.value.faults[field]
    assert not Gate.objects.exists()


def test_the_runs_of_both_sides_are_counted_against_what_may_be_made(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actions, "MAX_RUNS", (12 + 1) * len(REGIONS))
    world.ask()
    with pytest.raises(InvalidGateError, match="That may take 78 runs; at most 39 are made"):
        ask(world)


@pytest.mark.parametrize(
    ("base", "path", "asked"),
    [
        (f"{OLD}/index.html", "/", f"{OLD}/index.html"),
        (f"{OLD}/shop/start.php", "/?full=1", f"{OLD}/shop/start.php?full=1"),
        (f"{OLD}/pr-7", "/", f"{OLD}/pr-7/"),
        (f"{OLD}/v1.2", "/", f"{OLD}/v1.2/"),
        (f"{OLD}/v1.2/", "/cart", f"{OLD}/v1.2/cart"),
    ],
)
def test_an_address_that_is_a_page_itself_gets_no_slash(world: World, base: str, path: str, asked: str) -> None:
    monitor = world.monitor()
    monitor.url = f"https://shop.example{path}"
    monitor.save()
    assert ask(world, baseline=against(base)).addresses[str(monitor.pk)][0] == asked
