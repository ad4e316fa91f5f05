"""Which sites rely on which."""

import re
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from backend.accounts.models import AuditEntry, Organisation
from backend.cast import Member
from backend.sites import dependencies
from backend.sites.dependencies import DependencyError, rely_on
from backend.sites.models import Site

pytestmark = pytest.mark.django_db


@pytest.fixture
def sites(alice: Member) -> list[Site]:
    return [
        Site.objects.create(organisation=alice.organisation, name=name, url=f"https://{name}.example/", status="active")
        for name in ("a", "b", "c")
    ]


def names_of(site: Site) -> list[str]:
    return sorted(site.relies_on.values_list("name", flat=True))


def test_a_site_relies_on_those_that_were_chosen_last(sites: list[Site]) -> None:
    a, b, c = sites
    rely_on(actor=None, site=a, others=[b.public_id, c.public_id])
    rely_on(actor=None, site=a, others=[c.public_id])

    assert names_of(a) == ["c"]
    assert AuditEntry.objects.filter(action="change_dependencies").count() == 2


def test_locks_are_taken_in_the_order_of_a_file_of_sites(
    sites: list[Site],
) -> None:
    with CaptureQueriesContext(connection) as asked:
        rely_on(actor=None, site=sites[0], others=[sites[1].public_id])

    locked = [re.findall(r'FROM "(\w+)"', query["sql"])[0] for query in asked if "FOR NO KEY UPDATE" in query["sql"]]
    assert locked == ["accounts_organisation", "sites_site"]


def test_no_site_relies_on_itself_in_the_end(sites: list[Site]) -> None:
    a, b, c = sites
    rely_on(actor=None, site=a, others=[b.public_id])
    rely_on(actor=None, site=b, others=[c.public_id])
    for site in (a, c):
        with pytest.raises(DependencyError):
            rely_on(actor=None, site=site, others=[a.public_id])

    assert names_of(a) == ["b"]
    assert names_of(c) == []


def test_one_that_others_rely_on_by_two_ways_is_no_circle(sites: list[Site]) -> None:
    a, b, c = sites
    rely_on(actor=None, site=b, others=[c.public_id])
    rely_on(actor=None, site=a, others=[b.public_id, c.public_id])

    assert names_of(a) == ["b", "c"]


def test_sites_of_others_drafts_and_what_is_not_there_are_refused(sites: list[Site]) -> None:
    theirs = Site.objects.create(
        organisation=Organisation.objects.create(name="Other"), name="x", url="https://x.example/", status="active"
    )
    draft = Site.objects.create(organisation=sites[0].organisation, name="d", url="https://d.example/")
    for other in (theirs.public_id, draft.public_id, uuid4()):
        with pytest.raises(DependencyError):
            rely_on(actor=None, site=sites[0], others=[other])


def test_so_many_may_be_relied_on(sites: list[Site], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dependencies, "MAX_RELIED_ON", 1)
    with pytest.raises(DependencyError):
        rely_on(actor=None, site=sites[0], others=[sites[1].public_id, sites[2].public_id])
