"""What sites rely on, as a file declares it."""

import pytest

from backend.accounts.models import AuditEntry
from backend.api.tests.v1.calling import Program
from backend.api.tests.v1.test_declarations import Document, exported, faults, fields, site_in, told
from backend.api.tests.v1.world import World
from backend.sites.models import Site

pytestmark = pytest.mark.django_db


def declared(**relies_on: list[str] | None) -> Document:
    """Sites A, B and C, with what each relies on; None leaves it out."""
    return {
        "sites": [
            {"name": name, "url": f"https://{name.lower()}.example/"}
            | ({} if (names := relies_on.get(name)) is None else {"relies_on": names})
            for name in ("A", "B", "C")
        ]
    }


def relied_on(name: str) -> list[str]:
    return sorted(Site.objects.get(name=name).relies_on.values_list("name", flat=True))


def test_sites_rely_on_those_that_are_made_with_them_and_later(program: Program, world: World) -> None:
    made = told(program.post("declaration/apply", declared(A=["B", "C"], B=["C"])))

    assert [one for one in made if one[0] == "change"] == [("change", "site", "A", ""), ("change", "site", "B", "")]
    assert (relied_on("A"), relied_on("B"), relied_on("C")) == (["B", "C"], ["C"], [])


def test_what_is_declared_already_changes_nothing(program: Program, world: World) -> None:
    program.post("declaration/apply", declared(A=["B"]))
    acts = AuditEntry.objects.count()

    assert told(program.post("declaration/apply", declared(A=["B"], B=[]))) == []
    assert told(program.post("declaration/apply", declared())) == []
    assert AuditEntry.objects.count() == acts
    assert relied_on("A") == ["B"]


def test_what_is_not_named_any_more_is_relied_on_no_longer(program: Program, world: World) -> None:
    program.post("declaration/apply", declared(A=["B", "C"]))
    answer = program.post("declaration/apply", declared(A=["C"]))

    assert fields(answer) == {"relies_on": (["B", "C"], ["C"])}
    assert relied_on("A") == ["C"]


def test_two_can_change_places(program: Program, world: World) -> None:
    program.post("declaration/apply", declared(A=["B"], B=["C"]))
    program.post("declaration/apply", declared(C=["B"], B=["A"], A=[]))

    assert (relied_on("A"), relied_on("B"), relied_on("C")) == ([], ["A"], ["B"])


def test_a_plan_changes_nothing(program: Program, world: World) -> None:
    program.post("declaration/apply", declared())

    assert told(program.post("declaration/plan", declared(A=["B"]))) == [("change", "site", "A", "")]
    assert relied_on("A") == []


@pytest.mark.parametrize(
    ("relies_on", "place", "sentence"),
    [
        ({"A": ["Nobody"]}, "#/sites/0/relies_on", "No site is called Nobody."),
        ({"A": ["B"], "B": ["A"]}, "#/sites/1/relies_on", "It would rely on itself in the end"),
        ({"C": ["C"]}, "#/sites/2/relies_on", "It would rely on itself in the end"),
        ({"A": ["Twice"]}, "#/sites/0/relies_on", "2 sites are called Twice."),
    ],
)
def test_what_cannot_be_is_refused_at_its_place_and_changes_nothing(
    program: Program, world: World, relies_on: dict[str, list[str] | None], place: str, sentence: str
) -> None:
    program.post("declaration/apply", declared())
    for number in range(2):
        Site.objects.create(
            organisation=world.site.organisation, name="Twice", url=f"https://{number}.example/", status="active"
        )

    found = faults(program.post("declaration/apply", declared(**relies_on)))

    assert list(found) == [place]
    assert found[place].startswith(sentence)
    assert [relied_on(name) for name in "ABC"] == [[], [], []]


def test_an_export_tells_what_sites_rely_on(program: Program, world: World) -> None:
    program.post("declaration/apply", declared(A=["C", "B"]))
    document = exported(program)

    assert site_in(document, "A")["relies_on"] == ["B", "C"]
    assert told(program.post("declaration/plan", document)) == []
