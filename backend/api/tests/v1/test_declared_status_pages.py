"""Status pages, as a file declares them."""

import pytest

from backend.accounts.models import AuditEntry
from backend.api.tests.v1.calling import Program, make_token
from backend.api.tests.v1.test_declarations import Document, exported, faults, fields, told
from backend.api.tests.v1.world import World, make_world
from backend.cast import Member
from backend.status.models import StatusPage

pytestmark = pytest.mark.django_db
SITES: Document = {"sites": [{"name": name, "url": f"https://{name.lower()}.example/"} for name in ("A", "B")]}


def declared(*pages: Document) -> Document:
    return SITES | {"status_pages": list(pages)}


def page(slug: str, *sites: str, title: str = "Acme") -> Document:
    return {"slug": slug, "title": title, "sites": list(sites)}


def shown(slug: str) -> list[str]:
    return sorted(StatusPage.objects.get(slug=slug).sites.values_list("name", flat=True))


def test_a_page_is_made_with_sites_that_are_made_with_it(program: Program, world: World) -> None:
    made = told(program.post("declaration/apply", declared(page("acme", "B", world.site.name))))
    assert made[-1] == ("create", "status_page", None, "acme")
    assert shown("acme") == sorted(["B", world.site.name])
    assert AuditEntry.objects.get(action="create_status_page").actor == world.member.user


def test_what_is_declared_already_changes_nothing(program: Program, world: World) -> None:
    program.post("declaration/apply", declared(page("acme", "A", "B")))
    acts = AuditEntry.objects.count()
    for document in (declared(page("acme", "B", "A")), declared(page("acme", "A", "B", "A")), SITES):
        assert told(program.post("declaration/apply?delete=true", document)) == []
    assert AuditEntry.objects.count() == acts


def test_a_page_keeps_its_address_and_gets_another_title_and_other_sites(program: Program, world: World) -> None:
    program.post("declaration/apply", declared(page("acme", "A")))
    before = StatusPage.objects.get()
    answer = program.post("declaration/apply", declared(page("acme", "B", title="Acme now")))
    assert fields(answer) == {"title": ("Acme", "Acme now"), "sites": (["A"], ["B"])}
    after = StatusPage.objects.get()
    assert (after.pk, after.title, shown("acme")) == (before.pk, "Acme now", ["B"])


def test_pages_that_a_written_list_does_not_name_go_only_when_that_is_allowed(program: Program, world: World) -> None:
    program.post("declaration/apply", declared(page("acme", "A")))
    assert told(program.post("declaration/apply", declared())) == [("keep", "status_page", None, "acme")]
    assert told(program.post("declaration/apply?delete=true", declared())) == [("delete", "status_page", None, "acme")]
    assert not StatusPage.objects.exists()


def test_an_export_tells_pages_and_changes_nothing(program: Program, world: World) -> None:
    program.post("declaration/apply", declared(page("acme", "A", "B"), page("inside", world.site.name)))
    document = exported(program)
    assert document["status_pages"] == [page("acme", "A", "B"), page("inside", world.site.name)]
    assert told(program.post("declaration/plan?delete=true", document)) == []
    program.post("declaration/apply?delete=true", declared())
    program.post("declaration/apply", document)
    assert exported(program) == document


def test_a_page_whose_sites_are_gone_stays_as_it_is(program: Program, world: World) -> None:
    program.post("declaration/apply", declared(page("acme", "A")))
    StatusPage.objects.get().sites.clear()
    assert told(program.post("declaration/apply", exported(program))) == []


def test_what_cannot_be_is_refused_at_its_place(program: Program, world: World, charlie: Member) -> None:
    make_world(charlie, code="eu-2")
    Program(make_token(charlie)).post("declaration/apply", declared(page("taken", "A")))
    pages = [page("taken", "A"), page("Acme", "A"), page("nobody", "C"), page("empty"), page("twice", "A")]
    found = faults(program.post("declaration/apply", declared(*pages, page("twice", "B"))))
    assert found["#/status_pages/0/slug"].startswith("Another status page has this address already")
    assert found["#/status_pages/1/slug"].startswith("The address is 3 to 50 of a to z")
    assert found["#/status_pages/2/sites"] == "No site is called C."
    assert found["#/status_pages/3/sites"] == "Choose 1 to 100 sites."
    assert found["#/status_pages/5/slug"] == "twice is named twice."
    assert not StatusPage.objects.filter(organisation=world.member.organisation).exists()
