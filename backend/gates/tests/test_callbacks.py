"""Who asked to be called is called when the gate has ended, through the guard, until somebody answers."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from backend.alerts.delivery import FAULT as FAULT_OF_OURS
from backend.alerts.tests.standin import FAULT, StandIn
from backend.gates.actions import cancel_gate
from backend.gates.callbacks import BACKOFF_S, _Call, _claim, call_back
from backend.gates.models import Gate
from backend.gates.steps import step
from backend.gates.tests.world import World
from backend.outbound import Answer, Outbound
from workers.measurement.addresses import parse_networks

pytestmark = pytest.mark.django_db


@pytest.fixture
def there(settings: Settings) -> Iterator[StandIn]:
    with StandIn() as server:
        settings.PRIVATE_TARGETS = parse_networks("127.0.0.0/8")
        settings.EXTRA_PORTS = frozenset(range(1024, 65536))
        yield server


def ended(world: World, url: str) -> Gate:
    """A gate that has ended, and the first call that follows."""
    world.history()
    gate = world.play(world.ask(callback_url=url))
    call_back(timezone.now())
    return gate


def test_the_verdict_is_sent_once(world: World, there: StandIn) -> None:
    gate = ended(world, f"{there.origin}/hook?key=hunter2")
    (call,) = there.calls
    told = call.body
    assert (told["type"], told["id"], told["verdict"], told["exit_code"]) == (
        "gate.ended",
        str(gate.public_id),
        "pass",
        0,
    )
    assert told["url"].endswith(f"/gates/{gate.public_id}/")
    gate.refresh_from_db()
    assert (gate.callback_due_at, gate.callback_answer) == (None, "answered 200")
    assert call_back(timezone.now() + timedelta(days=1)) == 0


def test_who_is_away_is_called_again_and_given_up_in_the_end(world: World, there: StandIn) -> None:
    there.plan = [FAULT]
    gate = ended(world, f"{there.origin}/hook")
    now = timezone.now()
    for wait_s in BACKOFF_S:
        assert call_back(now) == 0
        now += timedelta(seconds=wait_s + 1)
        assert call_back(now) == 1
    gate.refresh_from_db()
    assert len(there.calls) == len(BACKOFF_S) + 1
    assert (gate.callback_due_at, gate.callback_answer) == (None, "answered 500")
    assert call_back(now + timedelta(days=1)) == 0


def test_an_address_that_became_private_is_never_called(world: World, there: StandIn, settings: Settings) -> None:
    world.history()
    gate = world.ask(callback_url=f"{there.origin}/hook")
    settings.PRIVATE_TARGETS = ()
    world.play(gate)
    assert call_back(timezone.now()) == 1
    gate.refresh_from_db()
    assert there.calls == []
    assert "may not be called" in gate.callback_answer


def test_who_waits_is_told_that_somebody_cancelled_the_gate(world: World, there: StandIn) -> None:
    gate = world.ask(callback_url=f"{there.origin}/hook")
    cancel_gate(actor=world.member.user, gate=gate)
    cancel_gate(actor=world.member.user, gate=gate)
    assert call_back(timezone.now()) == 1
    (call,) = there.calls
    said = call.body
    assert (said["status"], said["verdict"], said["exit_code"]) == ("cancelled", None, 4)
    assert call_back(timezone.now()) == 0


def test_a_gate_without_an_address_calls_nobody(world: World, there: StandIn) -> None:
    world.history()
    cancel_gate(actor=world.member.user, gate=world.ask())
    assert world.play(world.ask()).callback_due_at is None
    assert call_back(timezone.now()) == 0
    assert there.calls == []


def test_who_is_silent_keeps_neither_gates_nor_other_listeners_waiting(world: World, there: StandIn) -> None:
    world.history()
    released = threading.Event()
    with ExitStack() as stack:
        deaf = [stack.enter_context(StandIn(before_answer=lambda _: released.wait(120))) for _ in range(3)]
        stack.callback(released.set)
        urls = [f"{one.origin}/hook" for one in (*deaf, there)]
        for url in urls:
            world.play(world.ask(callback_url=url))
        step()
        assert [one.calls for one in (*deaf, there)] == [[]] * 4, "no step of a gate waits for a call"
        threading.Timer(0.5, released.set).start()
        assert call_back(timezone.now()) == 4
        assert len(there.calls) == 1


def test_a_gate_that_is_deleted_while_it_is_told_keeps_no_other_from_being_told(
    world: World, there: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.history()
    first, second = (world.play(world.ask(callback_url=f"{there.origin}/{place}")) for place in (1, 2))

    def claim(now: datetime) -> list[_Call]:
        claimed = _claim(now)
        Gate.objects.filter(pk=first.pk).delete()
        return claimed

    monkeypatch.setattr("backend.gates.callbacks._claim", claim)
    assert call_back(timezone.now()) == 2
    second.refresh_from_db()
    assert (second.callback_due_at, second.callback_answer) == (None, "answered 200")


def test_what_nobody_foresaw_costs_a_gate_its_tries_and_the_others_nothing(
    world: World, there: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.history()
    odd, well = (world.play(world.ask(callback_url=f"{there.origin}/{place}")) for place in (1, 2))
    post = Outbound.post

    def post_or_fail(self: Outbound, url: str, *rest: Any) -> Answer:
        if url.endswith("/1"):
            raise RuntimeError
        return post(self, url, *rest)

    monkeypatch.setattr(Outbound, "post", post_or_fail)
    now = timezone.now()
    for _ in range(len(BACKOFF_S) + 2):
        call_back(now)
        now += timedelta(hours=1)
    for gate in (odd, well):
        gate.refresh_from_db()
    assert [(gate.callback_due_at, gate.callback_answer) for gate in (odd, well)] == [
        (None, FAULT_OF_OURS),
        (None, "answered 200"),
    ]
    assert (odd.callback_tries, len(there.calls)) == (len(BACKOFF_S) + 1, 1)


def test_the_address_is_stored_encrypted(world: World, there: StandIn) -> None:
    gate = world.ask(callback_url=f"{there.origin}/hook?key=hunter2")
    stored = Gate.objects.filter(pk=gate.pk).extra(select={"raw": "callback"}).values_list("raw", flat=True).get()
    assert "hunter2" not in str(stored)
