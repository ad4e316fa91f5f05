"""A gate as Markdown."""

import pytest

from backend.gates.models import Gate
from backend.gates.queries import gate_view
from backend.gates.questions import AskedRule
from backend.gates.report import markdown_report
from backend.gates.tests.world import TEN, World
from backend.sites.actions import rename
from backend.sites.deploys import DeployMarker

pytestmark = pytest.mark.django_db
PAGE = "https://monitor.example/gates/1/"


def report(world: World, gate: Gate) -> str:
    view = gate_view(world.member.organisation, gate.public_id)
    assert view is not None
    return markdown_report(view, url=PAGE)


def test_a_failure_says_what_by_how_much_where_and_why(world: World) -> None:
    world.history()
    rules = (TEN, AskedRule(metric="total", max_value=9_000, level="warn"))
    text = report(world, world.play(world.ask(*rules, deploy=DeployMarker(version="9f3c2e1")), lambda run: 1.5))
    assert text.startswith("### ❌ fail: Shop, 9f3c2e1\n")
    assert "| ttfb (probe) | +10 % | 200 ms |" in text or "| ttfb (probe) | +10 % | 19" in text
    assert "✅ pass (warns only)" in text
    assert "ttfb by region: ap +" in text or "ttfb by region: eu +" in text
    assert "What grew: waiting for the server" in text
    assert f"[All runs and intervals]({PAGE})" in text


def test_names_cannot_break_out_of_the_text(world: World) -> None:
    world.history()
    rename(actor=None, site=world.site, name="<img src=x> | [a](b) `c` **d**")
    text = report(world, world.play(world.ask()))
    assert "\\<img src=x\\> \\| \\[a\\](b) \\`c\\` \\*\\*d\\*\\*" in text


def test_an_error_and_an_open_gate_have_a_report_too(world: World) -> None:
    gate = world.ask()
    assert report(world, gate).startswith("### queued: Shop\n\nUnder way.")
    text = report(world, world.play(gate))
    assert text.startswith("### ⚠️ error: Shop\n\nOnly 0 scheduled runs")
    assert "not judged" in text
