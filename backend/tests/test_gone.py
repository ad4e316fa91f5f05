"""Of two who delete the same thing at once, the later one is told that it is not there: no fault of ours."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse

from backend.accounts.actions import change_role
from backend.accounts.models import Membership
from backend.accounts.permissions import Role
from backend.alerts.models import Channel
from backend.api.tests.v1.calling import Program, make_token
from backend.cast import Member
from backend.gone import Gone
from backend.runs.tests.factories import NOW
from backend.sites.actions import rename
from backend.sites.hosts import choose_role
from backend.sites.models import Host, HostRole, Site
from backend.testing import wait_until
from backend.tests.side_by_side import waiting
from backend.web.tests.world import make_channel, make_world

pytestmark = pytest.mark.django_db(transaction=True)


def by_hand(alice: Member, channel: Channel) -> Any:
    client = Client(raise_request_exception=False)
    client.force_login(alice.user)
    return client.post(reverse("web:channel_delete", args=[channel.public_id]))


def by_program(alice: Member, channel: Channel) -> Any:
    client = Client(raise_request_exception=False, headers={"Authorization": f"Bearer {make_token(alice)}"})
    return client.delete(f"/api/v1/channels/{channel.public_id}")


@pytest.mark.parametrize(("delete", "done"), [(by_hand, 302), (by_program, 204)])
def test_of_two_who_delete_the_same_the_later_finds_nothing(
    alice: Member, delete: Callable[[Member, Channel], Any], done: int
) -> None:
    channel = make_channel(alice)

    def delete_it() -> tuple[int, str]:
        try:
            response = delete(alice, channel)
            return response.status_code, response.content.decode()
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as people:
        with transaction.atomic():
            Channel.objects.select_for_update().get()
            asked = [people.submit(delete_it) for _ in range(2)]
            wait_until(lambda: waiting() == 2, "both to have found it", timeout_s=60)
        (first, _), (second, text) = sorted(one.result() for one in asked)
    assert (first, second) == (done, 404)
    assert "There is nothing here" in text or '"type": "/api/v1/problems/not-found"' in text
    assert not Channel.objects.exists()


def test_nothing_is_made_for_a_site_that_is_deleted_meanwhile(alice: Member) -> None:
    site = make_world(alice).site
    program = Program(make_token(alice))

    def make_a_rule() -> int:
        try:
            return int(program.post("rules", {"kind": "failures", "site": str(site.public_id)}).status_code)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as people:
        with transaction.atomic():
            Site.objects.filter(pk=site.pk).delete()
            asked = people.submit(make_a_rule)
            wait_until(waiting, "the rule to have found its site", timeout_s=60)
        assert asked.result() == 404


def test_what_is_deleted_meanwhile_is_not_changed(alice: Member, bob: Member) -> None:
    site = make_world(alice).site
    host = Host.objects.create(site=site, name="cdn.example", proposed="cdn", first_seen_at=NOW, last_seen_at=NOW)
    read_before = Site.objects.get(pk=site.pk)
    Site.objects.filter(pk=site.pk).delete()
    Membership.objects.filter(pk=bob.membership.pk).delete()
    with pytest.raises(Site.DoesNotExist):
        rename(actor=alice.user, site=read_before, name="Shop")
    with pytest.raises(Host.DoesNotExist):
        choose_role(actor=alice.user, host=host, role=HostRole.OWN)
    with pytest.raises(Membership.DoesNotExist):
        change_role(actor=alice.user, membership=bob.membership, role=Role.ADMIN)


@pytest.mark.parametrize(
    ("method", "path", "error"),
    [
        # It sends again what met a fault, and would not what nobody knows.
        ("POST", "/api/v1/agent/results", Site.DoesNotExist()),
        # Nobody deletes what is only looked for: the fault is ours.
        ("GET", "/sites/", Site.DoesNotExist()),
        ("POST", "/sites/", KeyError("site")),
    ],
)
def test_other_faults_stay_faults(method: str, path: str, error: Exception) -> None:
    assert Gone(lambda _: HttpResponse()).process_exception(RequestFactory().generic(method, path), error) is None
