"""A POST with an Idempotency-Key."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Event

import pytest
import time_machine
from django.db import connection
from django.utils import timezone

from backend.accounts.models import AuditEntry
from backend.api.models import KeptAnswer
from backend.api.tests.v1.calling import Program, make_token, problem_of
from backend.api.tests.v1.world import make_world
from backend.api.v1 import sites
from backend.cast import Member
from backend.runs.models import PendingRun
from backend.sites.models import Site

pytestmark = pytest.mark.django_db

BODY = {"url": "https://new.example/"}


def test_the_same_request_again_gets_the_same_answer_and_does_nothing(program: Program) -> None:
    first = program.post("sites", BODY, Idempotency_Key="k1")
    again = program.post("sites", BODY, Idempotency_Key="k1")
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.content == first.content
    assert again.headers["Location"] == first.headers["Location"]
    assert (first.headers.get("Idempotent-Replayed"), again.headers["Idempotent-Replayed"]) == (None, "true")
    assert Site.objects.count() == 1


def test_without_a_key_it_is_done_each_time(program: Program) -> None:
    assert [program.post("sites", BODY).status_code for _ in range(2)] == [201, 201]
    assert Site.objects.count() == 2


def test_a_key_stands_for_one_request(program: Program) -> None:
    program.post("sites", BODY, Idempotency_Key="k1")
    other = program.post("sites", {"url": "https://other.example/"}, Idempotency_Key="k1")
    assert problem_of(other)["type"] == "/api/v1/problems/idempotency-key-reused"
    elsewhere = program.post("tests", BODY, Idempotency_Key="k1")
    assert problem_of(elsewhere)["type"] == "/api/v1/problems/idempotency-key-reused"
    assert Site.objects.count() == 1


def test_a_key_is_its_callers_own(program: Program, alice: Member) -> None:
    program.post("sites", BODY, Idempotency_Key="k1")
    assert "Idempotent-Replayed" not in Program(make_token(alice)).post("sites", BODY, Idempotency_Key="k1").headers


def test_what_was_refused_may_be_mended_under_the_same_key(program: Program) -> None:
    assert program.post("sites", {"url": "gopher://x"}, Idempotency_Key="k1").status_code == 422
    assert program.post("sites", BODY, Idempotency_Key="k1").status_code == 201


def test_a_fault_of_ours_leaves_nothing_behind(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(site: Site) -> sites.Site:
        raise RuntimeError

    with monkeypatch.context() as patched:
        patched.setattr(sites, "shape_of", broken)
        assert program.post("sites", BODY, Idempotency_Key="k1").status_code == 500
    assert not Site.objects.exists()
    assert not KeptAnswer.objects.exists()
    assert program.post("sites", BODY, Idempotency_Key="k1").status_code == 201


def test_a_day_later_the_key_is_free_again(program: Program, alice: Member) -> None:
    program.post("sites", BODY, Idempotency_Key="k1")
    with time_machine.travel(timezone.now() + timedelta(hours=23)):
        assert "Idempotent-Replayed" in program.post("sites", BODY, Idempotency_Key="k1").headers
    with time_machine.travel(timezone.now() + timedelta(hours=25)):
        again = Program(make_token(alice))
        KeptAnswer.objects.update(caller="token:0")
        again.post("sites", BODY, Idempotency_Key="k2")
        assert [kept.key for kept in KeptAnswer.objects.all()] == ["k2"], "what has expired goes"


@pytest.mark.parametrize("key", ["", " ", "a b", "é", "x" * 256])
def test_a_key_that_is_none_is_refused(program: Program, key: str) -> None:
    found = problem_of(program.post("sites", BODY, Idempotency_Key=key))
    assert [fault["pointer"] for fault in found["errors"]] == ["Idempotency-Key"]


def test_a_test_is_started_once(alice: Member, program: Program) -> None:
    world = make_world(alice)
    path = f"monitors/{world.monitor('page').public_id}/tests"
    pending = PendingRun.objects.count()
    answers = [program.post(path, {"regions": ["eu"]}, Idempotency_Key="deploy-7") for _ in range(3)]
    assert len({answer.headers["Location"] for answer in answers}) == 1
    assert PendingRun.objects.count() == pending + 1


def test_the_log_says_it_once_and_with_the_token(program: Program) -> None:
    for _ in range(2):
        program.post("sites", BODY, Idempotency_Key="k1")
    entry = AuditEntry.objects.get(action="activate_site")
    assert entry.detail["token"].endswith("… CI")


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Event, Event]]:
    """An act that tells when it has begun, and waits until it is let go."""
    begun, go = Event(), Event()
    shape_of = sites.shape_of

    def waiting(site: Site) -> sites.Site:
        begun.set()
        assert go.wait(120)
        return shape_of(site)

    monkeypatch.setattr(sites, "shape_of", waiting)
    yield begun, go
    go.set()


@pytest.mark.django_db(transaction=True)
def test_the_same_request_at_the_same_time_is_told_to_wait(program: Program, slow: tuple[Event, Event]) -> None:
    begun, go = slow

    def first() -> int:
        try:
            return int(program.post("sites", BODY, Idempotency_Key="k1").status_code)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(first)
        assert begun.wait(120)
        second = program.post("sites", BODY, Idempotency_Key="k1")
        go.set()
        assert running.result() == 201
    assert problem_of(second)["type"] == "/api/v1/problems/idempotency-in-progress"
    assert second.headers["Retry-After"] == "1"
    assert "Idempotent-Replayed" in program.post("sites", BODY, Idempotency_Key="k1").headers
    assert Site.objects.count() == 1
