"""Two programs that change one thing at the same moment: what one leaves out is what the other has made of it."""

from collections.abc import Callable
from typing import Any

import pytest

from backend.alerts.actions.rules import RuleSettings, create_rule
from backend.api.tests.v1.calling import Program, make_token
from backend.api.tests.v1.world import World
from backend.compare.actions import create_pairing
from backend.compare.models import Pairing
from backend.compare.pairings import PairingDraft
from backend.tests.side_by_side import both_having_read

pytestmark = pytest.mark.django_db(transaction=True)

Change = tuple[str, dict[str, Any]]


def of_a_rule(world: World) -> tuple[Change, Change]:
    settings = RuleSettings(kind="availability")
    rule = create_rule(actor=None, organisation=world.member.organisation, settings=settings)
    path = f"rules/{rule.public_id}"
    return (path, {"delay_s": 60}), (path, {"notify": False})


def of_a_monitor(world: World) -> tuple[Change, Change]:
    path = f"monitors/{world.monitor('probe').public_id}"
    return (path, {"interval_s": 600}), (path, {"timeout_s": 20})


def pairing_of(world: World) -> Pairing:
    draft = PairingDraft(cdn_url="https://cdn.shop.example/app.js", origin="www.shop.example")
    return create_pairing(actor=None, site=world.site, draft=draft)


def of_a_pairing(world: World) -> tuple[Change, Change]:
    path = f"pairings/{pairing_of(world).public_id}"
    return (path, {"name": "checkout"}), (path, {"interval_s": 600})


def of_a_pairing_and_its_monitor(world: World) -> tuple[Change, Change]:
    pairing = pairing_of(world)
    return (f"pairings/{pairing.public_id}", {"name": "checkout"}), (
        f"monitors/{pairing.monitor.public_id}",
        {"interval_s": 600},
    )


@pytest.mark.parametrize("changes_of", [of_a_rule, of_a_monitor, of_a_pairing, of_a_pairing_and_its_monitor])
def test_neither_change_takes_the_other_back(
    world: World, program: Program, changes_of: Callable[[World], tuple[Change, Change]]
) -> None:
    changes, answers = changes_of(world), []
    programs = [Program(make_token(world.member)) for _ in changes]

    def change(number: int) -> None:
        path, body = changes[number]
        answers.append(programs[number].call("PATCH", path, body).status_code)

    assert both_having_read("SELECT", change) == []
    assert answers == [200, 200]
    for path, body in changes:
        assert program.get(path).json() | body == program.get(path).json()
