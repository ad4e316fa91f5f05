"""Links by which guests look at runs: who made them, how long they hold, and what ends them."""

from datetime import timedelta

import pytest
from django.core.signing import Signer
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from backend.accounts.models import AuditEntry
from backend.cast import Member
from backend.runs import sharing
from backend.runs.ingest import ingest
from backend.runs.models import SharedRun
from backend.runs.queries import RunDetail, run_detail
from backend.runs.retention import forget
from backend.runs.sharing import SharingError, link_of, share_run, shared_detail, sharing_of, stop_sharing
from backend.runs.tests.factories import make_fleet, make_monitors, make_pending
from backend.runs.tests.results import line_of
from backend.sites.actions import delete_site

pytestmark = pytest.mark.django_db


def ended(count: int = 1) -> list[RunDetail]:
    """Runs of one monitor."""
    fleet, found = make_fleet(), []
    (monitor,) = make_monitors(fleet)
    for minutes in range(count):
        at = timezone.now() - timedelta(minutes=minutes + 1)
        pending = make_pending(fleet, monitor, scheduled_for=at)
        ingest(fleet.regions[0], [line_of(pending)], now=timezone.now())
        detail = run_detail(fleet.organisation, pending.run_id)
        assert detail is not None
        found.append(detail)
    return found


def acts() -> list[str]:
    return list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))


def test_who_has_the_link_finds_the_run(alice: Member) -> None:
    (detail,) = ended()
    shared = share_run(actor=alice.user, detail=detail)
    found = shared_detail(link_of(shared))
    assert found is not None
    assert (found.run.run_id, found.site) == (detail.run.run_id, detail.site)
    assert sharing_of(detail) == shared
    assert acts()[-1] == "share_run"


def test_a_run_that_is_shared_again_keeps_its_link_and_has_it_longer(alice: Member) -> None:
    (detail,) = ended()
    first = share_run(actor=alice.user, detail=detail)
    SharedRun.objects.update(expires_at=timezone.now() + timedelta(days=1))
    again = share_run(actor=alice.user, detail=detail)
    assert link_of(again) == link_of(first)
    assert again.expires_at > timezone.now() + timedelta(days=29)


def test_a_link_that_was_taken_back_is_never_good_again(alice: Member) -> None:
    (detail,) = ended()
    first = link_of(share_run(actor=alice.user, detail=detail))
    stop_sharing(actor=alice.user, detail=detail)
    assert sharing_of(detail) is None
    second = link_of(share_run(actor=alice.user, detail=detail))
    assert (shared_detail(first), shared_detail(second) is None) == (None, False)
    assert acts()[-3:] == ["share_run", "stop_sharing", "share_run"]


def test_to_stop_what_is_not_shared_does_nothing(alice: Member) -> None:
    (detail,) = ended()
    before = acts()
    stop_sharing(actor=alice.user, detail=detail)
    assert acts() == before


def test_a_link_expires_and_what_is_shared_after_that_has_another(alice: Member) -> None:
    (detail,) = ended()
    link = link_of(share_run(actor=alice.user, detail=detail))
    SharedRun.objects.update(expires_at=timezone.now())
    assert (shared_detail(link), sharing_of(detail)) == (None, None)
    assert link_of(share_run(actor=alice.user, detail=detail)) != link
    assert shared_detail(link) is None


@pytest.mark.parametrize("forged", ["", ".", "a.b", "0" * 32, "\0.\0", "é" * 40])
def test_what_was_not_signed_asks_the_database_nothing(
    forged: str, django_assert_num_queries: DjangoAssertNumQueries, db: None
) -> None:
    with django_assert_num_queries(0):
        assert shared_detail(forged) is None


def test_the_number_of_a_link_alone_or_with_another_signature_opens_nothing(alice: Member) -> None:
    """As somebody has it who has read the database."""
    (detail,) = ended()
    shared = share_run(actor=alice.user, detail=detail)
    number = shared.public_id.hex
    signed_elsewhere = Signer(salt="elsewhere", sep=".").sign(number)
    for link in (number, signed_elsewhere, link_of(shared)[:-1], f"{link_of(shared)}a"):
        assert shared_detail(link) is None


def test_the_link_of_a_deleted_site_leads_nowhere(alice: Member) -> None:
    (detail,) = ended()
    link = link_of(share_run(actor=alice.user, detail=detail))
    delete_site(actor=alice.user, site=detail.site)
    assert shared_detail(link) is None


def test_an_organisation_shares_so_many_runs_at_a_time(alice: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "MAX_SHARED", 1)
    first, second = ended(2)
    share_run(actor=alice.user, detail=first)
    share_run(actor=alice.user, detail=first)
    with pytest.raises(SharingError, match="At most 1 runs"):
        share_run(actor=alice.user, detail=second)
    SharedRun.objects.update(expires_at=timezone.now())
    share_run(actor=alice.user, detail=second)


def test_links_that_have_expired_are_forgotten(alice: Member) -> None:
    first, second = ended(2)
    for detail in (first, second):
        share_run(actor=alice.user, detail=detail)
    now = timezone.now()
    SharedRun.objects.filter(run_id=first.run.run_id).update(expires_at=now - timedelta(seconds=1))
    forget(now)
    assert [shared.run_id for shared in SharedRun.objects.all()] == [second.run.run_id]
