from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from django.utils import timezone
from pytest_django import Settings

from backend.accounts.models import AuditEntry
from backend.cast import Member
from backend.sites import actions, queries
from backend.sites.deploys import DeployMarker, InvalidDeployError
from backend.sites.models import Deploy, Site

HOUR = timedelta(hours=1)
MARKER = DeployMarker(external_id="r1234", version="9f3c2e1", url="https://ci.example/1234", note="Faster basket")


@pytest.fixture
def site(alice: Member) -> Site:
    return actions.create_draft(actor=alice.user, organisation=alice.organisation, url="shop.example")


def tell(alice: Member, site: Site | None, marker: DeployMarker = MARKER) -> Deploy:
    return actions.record_deploy(
        actor=alice.user, organisation=alice.organisation, site=site, marker=marker, token_name="pipeline"
    )


def test_a_deploy_is_in_force_from_now_on_unless_it_says_when(alice: Member, site: Site) -> None:
    before = timezone.now()
    deploy = tell(alice, site)
    assert before <= deploy.at <= timezone.now()
    assert (deploy.version, deploy.token_name, deploy.created_by) == ("9f3c2e1", "pipeline", alice.user)
    earlier = tell(alice, site, DeployMarker(version="1", at=before - HOUR))
    assert earlier.at == before - HOUR
    assert AuditEntry.objects.filter(action="record_deploy").count() == 2


@pytest.mark.parametrize("days", [7, 90])
def test_a_deploy_may_lie_as_far_back_as_runs_are_kept(
    alice: Member, site: Site, settings: Settings, days: int
) -> None:
    settings.RETENTION_DAYS = days
    kept, gone = (timezone.now() - timedelta(days=days) + by for by in (HOUR, -HOUR))
    assert tell(alice, site, DeployMarker(at=kept)).at == kept
    with pytest.raises(InvalidDeployError, match=f"at most {days} days back"):
        tell(alice, site, DeployMarker(at=gone))


def test_the_same_release_told_twice_is_one_deploy_but_each_site_has_its_own(alice: Member, site: Site) -> None:
    other = actions.create_draft(actor=alice.user, organisation=alice.organisation, url="blog.example")
    first = tell(alice, site)
    assert tell(alice, site, replace(MARKER, note="Once more")) == first
    assert len({first.pk, tell(alice, other).pk, tell(alice, None).pk, tell(alice, None).pk}) == 3
    assert Deploy.objects.count() == 3


def test_deploys_without_a_name_of_their_own_are_never_the_same(alice: Member, site: Site) -> None:
    assert tell(alice, site, DeployMarker()) != tell(alice, site, DeployMarker())


def test_a_sites_deploys_are_its_own_and_those_of_all_sites_in_time_order(
    alice: Member, charlie: Member, site: Site
) -> None:
    now = timezone.now()
    other = actions.create_draft(actor=alice.user, organisation=alice.organisation, url="blog.example")
    for place, version, age in ((site, "a", 3), (None, "b", 2), (other, "not ours", 2), (site, "c", 1), (site, "d", 9)):
        tell(alice, place, DeployMarker(version=version, at=now - age * HOUR))
    tell(charlie, None, DeployMarker(version="theirs", at=now - 2 * HOUR))
    assert [deploy.version for deploy in queries.deploys_between(site, now - 3 * HOUR, now)] == ["a", "b", "c"]
    assert [deploy.version for deploy in queries.deploys_between(site, now - 3 * HOUR, now - HOUR)] == ["a", "b"]


def test_a_deploy_of_others_cannot_be_read(alice: Member, charlie: Member, site: Site) -> None:
    deploy = tell(alice, site)
    assert queries.deploy(alice.organisation, deploy.public_id) == deploy
    assert queries.deploy(charlie.organisation, deploy.public_id) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("version", "v" * 101),
        ("note", "two\nlines"),
        ("external_id", "nul\0"),
        ("url", "javascript:alert(1)"),
        ("url", "https://"),
        ("url", "https://[broken"),
        ("at", datetime(2026, 9, 1)),  # noqa: DTZ001
        # Counted from when the tests were collected, which may be long ago.
        ("at", timezone.now() + timedelta(days=1)),
        ("at", timezone.now() - timedelta(days=31)),
    ],
)
def test_what_cannot_be_a_deploy_is_refused_by_field(alice: Member, site: Site, field: str, value: object) -> None:
    with pytest.raises(InvalidDeployError) as caught:
        tell(alice, site, replace(MARKER, **{field: value}))  # type: ignore[arg-type]  # one field at a time
    assert set(caught.value.faults) == {field}
    assert not Deploy.objects.exists()
