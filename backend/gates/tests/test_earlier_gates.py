"""What the runs of an earlier gate are compared with: only what measured the same, in the same way."""

from dataclasses import replace

import pytest

from backend.gates.addresses import Address
from backend.gates.models import Gate
from backend.gates.questions import AskedRule, Baseline, Runs
from backend.gates.tests.world import World
from backend.runs.actions import change_monitor
from backend.sites.keeping import settings_of

pytestmark = pytest.mark.django_db
FIFTEEN = AskedRule(metric="ttfb", max_change_pct=15)


def after(world: World, before: Gate) -> Gate:
    return world.ask(FIFTEEN, baseline=Baseline(mode="gate", gate=before.public_id))


def at_another_address(world: World) -> None:
    monitor = world.monitor()
    settings = replace(settings_of(monitor), url="https://shop.example/other")
    change_monitor(actor=world.member.user, monitor=monitor, settings=settings)


def test_a_monitor_that_was_changed_since_has_no_earlier_runs(world: World) -> None:
    """The other page takes twice as long, which no release has done."""
    before = world.play(world.ask(phase="before"))
    at_another_address(world)
    gate = world.play(after(world, before), lambda run: 2.0)
    assert gate.verdict == "error"
    assert gate.summary.startswith("The earlier gate has at most 0 runs of the probe in a region")
    (warning,) = gate.warnings
    assert warning.startswith(
        f"{before.runs.filter(discarded=False).count()} runs of the earlier gate are left out: made"
    )


def test_runs_of_another_address_are_no_baseline(world: World) -> None:
    """The earlier gate compared two addresses, of which the other took half as long."""
    url = Baseline(mode="url", address=Address(base="https://old.example"))
    before = world.play(world.ask(FIFTEEN, baseline=url, runs=Runs(per_region=6)), lambda run: 0.5 if run.url else 1.0)
    gate = world.play(after(world, before))
    (rule,) = world.view(gate).rules
    assert rule.found is not None
    assert rule.found.before_runs == before.runs.filter(side="after", discarded=False).count()


def test_runs_of_a_gate_whose_version_nobody_kept_are_compared_with(world: World) -> None:
    before = world.play(world.ask(phase="before"))
    for run in before.runs.all():
        run.values.pop("config_version", None)
        run.save(update_fields=["values"])
    assert world.play(after(world, before)).verdict == "pass"


@pytest.mark.parametrize(("runs", "verdict"), [(5, "pass"), (4, "error")])
def test_five_runs_a_region_of_an_earlier_gate_are_enough_to_compare_with(
    world: World, runs: int, verdict: str
) -> None:
    before = world.play(world.ask(phase="before", runs=Runs(max_per_region=runs)))
    gate = world.play(after(world, before))
    assert gate.verdict == verdict
    told = "The earlier gate has at most 4 runs of the probe in a region that measured what it measures now; 5 are"
    assert gate.summary.startswith(told) is (verdict == "error")
    assert gate.runs.exists() is (verdict == "pass")
