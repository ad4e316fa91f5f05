"""People who use the API from a page of ours, and limits as they are counted in Redis."""

import re

import pytest
import time_machine
from django.core.cache.backends.redis import RedisCache
from django.test import Client
from django.utils import timezone

from backend.accounts.models import Membership
from backend.accounts.permissions import Role
from backend.accounts.queries import SESSION_KEY
from backend.api.tests.v1.calling import Program, make_token, problem_of
from backend.api.v1 import limits
from backend.api.v1.access import Caller
from backend.cast import Member
from backend.sites.models import Site

pytestmark = pytest.mark.django_db

BODY = {"url": "https://new.example/"}


@pytest.fixture
def page(alice: Member) -> tuple[Program, str]:
    """A browser on a page of ours, and the page's CSRF token."""
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    client.force_login(alice.user)
    found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', client.get("/members/").content.decode())
    assert found is not None
    return Program(client=client), found[1]


def test_a_page_changes_something_with_its_token(page: tuple[Program, str]) -> None:
    program, token = page
    assert problem_of(program.post("sites", BODY))["type"] == "/api/v1/problems/csrf"
    assert problem_of(program.post("sites", BODY, X_CSRFToken="x" * 64))["type"] == "/api/v1/problems/csrf"
    assert program.post("sites", BODY, X_CSRFToken=token).status_code == 201


def test_another_origin_changes_nothing_even_with_the_token(page: tuple[Program, str]) -> None:
    program, token = page
    answer = program.post("sites", BODY, X_CSRFToken=token, Origin="https://evil.example")
    assert problem_of(answer)["type"] == "/api/v1/problems/csrf"
    assert not Site.objects.exists()


def test_a_person_of_two_organisations_acts_in_the_one_they_are_in(
    page: tuple[Program, str], alice: Member, charlie: Member
) -> None:
    program, token = page
    Membership.objects.create(user=alice.user, organisation=charlie.organisation, role=Role.VIEWER)
    made = program.post("sites", BODY, X_CSRFToken=token, Idempotency_Key="one")
    assert made.status_code == 201
    session = program.client.session
    session[SESSION_KEY] = str(charlie.organisation.public_id)
    session.save()
    assert program.get("me").json()["organisation"]["slug"] == "globex"
    assert program.get(made.headers["Location"]).status_code == 404
    again = program.post("sites", BODY, X_CSRFToken=token, Idempotency_Key="one")
    assert problem_of(again)["type"] == "/api/v1/problems/forbidden", "the answer of the other organisation is not told"


def test_requests_are_counted_in_redis(alice: Member, broker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "cache", RedisCache(broker, {}))
    monkeypatch.setattr(limits, "DEFAULT", limits.Policy(name="default", quota=2, window_s=60))
    program = Program(make_token(alice))
    with time_machine.travel(timezone.now().replace(second=30, microsecond=0), tick=False):
        answers = [program.get("me") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[2].headers["Retry-After"] == "30"


def test_without_redis_requests_are_answered_uncounted(alice: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "cache", RedisCache("unix:///nowhere/redis.sock", {}))
    assert Program(make_token(alice)).get("me").status_code == 200


@pytest.mark.usefixtures("standing_clock")
def test_all_tokens_of_an_organisation_share_its_tests(alice: Member, charlie: Member) -> None:
    policy = limits.Policy(name="tests", quota=5, window_s=3600, of_organisation=True)
    callers = [_caller(member) for member in (alice, alice, charlie)]
    assert [limits.take(policy, caller).remaining for caller in callers] == [4, 3, 4]


def _caller(member: Member) -> Caller:
    return Caller(key=f"token:{id(object())}", organisation=member.organisation, role="member", actor=None)
