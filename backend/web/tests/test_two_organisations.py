"""Who belongs to two organisations and has a tab open in each does not act in the one for the other."""

import re
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from backend.accounts.models import Organisation
from backend.accounts.permissions import Role
from backend.alerts.models import Maintenance, Rule
from backend.cast import Member, join
from backend.runs.tests.factories import make_region
from backend.sites.models import Site

pytestmark = pytest.mark.django_db

TEMPLATES = Path(__file__).parents[1] / "templates"
# What is a person's own, whatever they work in.
OWN = {"base.html", "errors/other_organisation.html"}


@pytest.fixture
def dora(client: Client, charlie: Member) -> Member:
    """An owner of Acme and of Charlie's organisation, signed in, and in Acme."""
    twice = join("dora", Role.OWNER, "acme")
    charlie.organisation.memberships.create(user=twice.user, role=Role.OWNER)
    client.force_login(twice.user)
    return twice


def go_over(client: Client, organisation: Organisation, **fields: str) -> str:
    """As in another tab; where it leads to."""
    return client.post(reverse("web:switch", args=[organisation.public_id]), fields).headers["Location"]


def fields_of(text: str, action: str) -> dict[str, str]:
    """The hidden fields of a form, as a browser sends them."""
    form = re.search(rf'<form[^>]*action="{action}".*?</form>', text, re.DOTALL)
    assert form is not None, action
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form[0]))


def test_every_form_of_an_organisation_says_which_one_it_is_of() -> None:
    for path in TEMPLATES.rglob("*.html"):
        name = str(path.relative_to(TEMPLATES))
        if name not in OWN and not name.startswith(("account/", "mfa/")):
            assert "csrf_token" not in path.read_text(), name
            posted = re.findall(r'<form[^>]*method="post"[^>]*>\s*{% form_token %}', path.read_text())
            assert len(posted) == path.read_text().count('method="post"'), name


def test_each_page_says_on_its_head_whose_it_is(client: Client, dora: Member, charlie: Member) -> None:
    head = re.compile(r"<header.*?</header>", re.DOTALL)
    for organisation in (dora.organisation, charlie.organisation):
        go_over(client, organisation)
        for path in ("/sites/", "/alerts/", "/profile/", "/alerts/rules/", "/nowhere/"):
            found = head.search(client.get(path).content.decode())
            assert found is not None
            assert f"</span>{organisation.name}</span>" in found[0], path


def test_a_form_is_refused_in_another_organisation_than_it_was_made_in(
    client: Client, dora: Member, charlie: Member
) -> None:
    made = fields_of(client.get("/members/").content.decode(), reverse("web:member_add"))
    assert made["of_organisation"] == str(dora.organisation.public_id)
    go_over(client, charlie.organisation)
    answer = client.post(
        reverse("web:member_add"),
        made | {"email": "new@example.org", "role": "admin"},
        headers={"referer": "http://testserver/members/"},
    )
    text = answer.content.decode()
    assert answer.status_code == 409
    here, there = dora.organisation.name, charlie.organisation.name
    assert f"This form was opened in {here}, and you are in {there} now" in text
    assert "Nothing was changed." in text
    assert "data-unsent" in text, "what was typed is kept"
    for organisation in (dora.organisation, charlie.organisation):
        assert not organisation.memberships.filter(user__email="new@example.org").exists()
    assert '<input type="hidden" name="next" value="/members/">' in text
    assert go_over(client, dora.organisation, next="/members/") == "/members/"
    client.post(reverse("web:member_add"), made | {"email": "new@example.org", "role": "admin"})
    assert dora.organisation.memberships.filter(user__email="new@example.org").exists()


@pytest.mark.parametrize(
    ("page", "action", "fields"),
    [
        ("/sites/add/", "", {"url": "https://shop.example/", "untested": "1"}),
        ("/alerts/rules/", "/alerts/rules/suggested/ttfb/", {}),
        ("/alerts/maintenance/", "", {"starts_at": "2030-01-01T10:00", "ends_at": "2030-01-01T12:00", "reason": "x"}),
        ("/tokens/", "/tokens/add/", {"name": "ci", "scope": "read", "days": "90"}),
        ("/regions/", "/regions/add/", {"code": "fra", "name": "Frankfurt"}),
    ],
)
def test_nothing_is_made_in_an_organisation_by_a_form_of_another(
    client: Client, dora: Member, charlie: Member, page: str, action: str, fields: dict[str, str]
) -> None:
    make_region("eu", dora.organisation)
    token = re.search(r'name="of_organisation" value="([^"]+)"', client.get(page).content.decode())
    assert token is not None
    go_over(client, charlie.organisation)
    assert client.post(action or page, fields | {"of_organisation": token[1]}).status_code == 409
    assert not Site.objects.exists()
    assert not Rule.objects.exists()
    assert not Maintenance.objects.exists()


def test_an_organisation_that_somebody_has_left_is_not_named(client: Client, dora: Member, charlie: Member) -> None:
    made = fields_of(client.get("/members/").content.decode(), reverse("web:member_add"))
    dora.membership.delete()
    text = client.post(reverse("web:member_add"), made | {"email": "x@example.org", "role": "admin"}).content.decode()
    assert "an organisation that you are not in any more" in text
    assert dora.organisation.name not in text


def test_nobody_is_led_out_of_the_house_by_going_over(client: Client, dora: Member, charlie: Member) -> None:
    assert go_over(client, charlie.organisation, next="https://evil.example/") == "/sites/"
