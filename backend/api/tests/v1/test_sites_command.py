"""`firstbyte sites` and the service together."""

import json
from pathlib import Path

import pytest
from pytest_django.live_server_helper import LiveServer

from backend.accounts.permissions import Scope
from backend.api.tests.v1.calling import make_token
from backend.cast import Member
from backend.runs.actions import register_site
from backend.runs.tests.factories import make_region
from backend.sites.models import Site
from workers.cli import main
from workers.commands.sites_arguments import SITES

pytestmark = pytest.mark.django_db(transaction=True)

SHOP = """\
sites:
  - name: Shop
    url: https://www.shop.example/
    probe:
      interval_s: 120
    pairs:
      - {name: app.js, cdn_url: https://cdn.shop.example/app.js, origin: www.shop.example}
    rules:
      - {kind: budget, name: Paint, params: {metric: lcp_ms, limit: 2500}}
"""
# Behind SHOP: the hosts are the site's.
OF_ALL = """\
    hosts:
      - {name: cdn.shop.example, role: cdn}
maintenance:
  - {starts_at: 2026-01-01T22:00:00Z, ends_at: 2026-01-02T02:00:00Z, reason: Database}
channels:
  - {name: ops, kind: slack, url: !env SLACK_WEBHOOK, after_s: 300}
status_pages:
  - {slug: acme, title: Acme, sites: [Shop]}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sites.yaml"
    path.write_text(SHOP)
    return path


class Command:
    """`firstbyte sites` of somebody with a token."""

    def __init__(self, server: LiveServer, token: str) -> None:
        self._where = ["--url", server.url, "--token", token]

    def __call__(self, action: str, *words: str) -> int:
        return main(["sites", action, *words, *self._where])


@pytest.fixture
def sites(alice: Member, server: LiveServer) -> Command:
    return Command(server, make_token(alice))


def test_a_file_is_planned_carried_out_and_then_differs_in_nothing(
    sites: Command, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sites("plan", str(file)) == 1
    planned = capsys.readouterr().out
    assert planned == (
        "+ Shop\n~ Shop, probe\n    interval_s  60 → 120\n+ Shop, pair app.js\n+ Shop, rule Paint\n4 changes\n"
    )
    assert not Site.objects.exists()
    assert sites("apply", str(file)) == 0
    assert capsys.readouterr().out == planned
    assert Site.objects.get().name == "Shop"
    assert sites("plan", str(file)) == 0
    assert capsys.readouterr().out == "nothing differs\n"


def test_what_is_exported_is_a_file_in_which_nothing_differs(
    sites: Command, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sites("apply", str(file))
    capsys.readouterr()
    assert sites("export") == 0
    told = capsys.readouterr().out
    assert "  - name: Shop\n    url: https://www.shop.example/\n    probe:\n      interval_s: 120\n" in told
    again = tmp_path / "again.yaml"
    again.write_text(told)
    assert sites("plan", "--delete", str(again)) == 0
    capsys.readouterr()
    assert sites("export", "--json") == 0
    as_json = tmp_path / "again.json"
    as_json.write_text(capsys.readouterr().out)
    assert sites("plan", "--delete", str(as_json)) == 0


def test_what_is_not_in_the_file_any_more_stays_until_deleting_is_allowed(
    sites: Command, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sites("apply", str(file))
    file.write_text(SHOP.partition("    pairs:")[0] + "    pairs: []\n")
    capsys.readouterr()
    assert sites("apply", str(file)) == 0
    assert "! Shop, pair app.js is not in the file, and stays; --delete takes it away" in capsys.readouterr().out
    assert sites("apply", "--delete", str(file)) == 0
    assert capsys.readouterr().out == "- Shop, pair app.js\n1 change\n"


def test_what_belongs_to_no_site_is_carried_out_with_secrets_of_the_environment(
    sites: Command, file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLACK_WEBHOOK", "https://hooks.slack.com/services/s3cret")
    file.write_text(SHOP + OF_ALL)
    assert sites("apply", str(file)) == 0
    assert capsys.readouterr().out == (
        "+ channel ops\n+ Shop\n~ Shop, probe\n    interval_s  60 → 120\n+ Shop, pair app.js\n"
        "+ Shop, host cdn.shop.example\n    role  as usual → cdn\n+ Shop, rule Paint\n+ status page acme\n7 changes\n"
    )
    assert sites("export") == 0
    exported = capsys.readouterr().out
    assert "s3cret" not in exported
    file.write_text(exported)
    assert sites("plan", "--delete", str(file)) == 0
    monkeypatch.setenv("SLACK_WEBHOOK", "https://hooks.slack.com/services/an0ther")
    file.write_text(SHOP + OF_ALL.replace("after_s: 300", "after_s: 600"))
    capsys.readouterr()
    assert sites("plan", str(file)) == 1
    assert capsys.readouterr().out == "~ channel ops\n    after_s  300 → 600\n    url      another text\n1 change\n"
    file.write_text(SHOP + OF_ALL.replace("sites: [Shop]", "sites: [x]"))
    assert sites("plan", str(file)) == 2
    assert f"{file}:17: status_pages, acme, sites: No site is called x." in capsys.readouterr().err


def test_what_cannot_be_is_told_with_its_line(sites: Command, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = SHOP.replace("120", "5").replace("limit: 2500", "limit: 2500, of: 3")
    file.write_text(wrong)
    assert sites("plan", str(file)) == 2
    assert capsys.readouterr().err.splitlines() == [
        "firstbyte sites: the service refuses the file, and nothing was changed",
        f"{file}:5: Shop, probe, interval_s: Input should be greater than or equal to 30.",
    ]
    file.write_text(wrong.replace("interval_s: 5", "regions: [nowhere]"))
    assert sites("apply", str(file)) == 2
    told = capsys.readouterr().err
    assert f"{file}:5: Shop, probe, regions: There is no region 'nowhere'" in told
    assert f"{file}:9: Shop, rules, Paint, params, of: Budget has no setting 'of'" in told
    assert not Site.objects.exists()


def test_a_file_of_another_kind_is_wrong_usage(sites: Command, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for content, words in (
        ("- Shop\n", "it must hold `sites`, `rules` or another section"),
        ("sites: [\n", "sites.yaml: line 2: "),
        ("sits: []\n", "sites.yaml:1: sits: Extra inputs are not permitted"),
    ):
        file.write_text(content)
        assert sites("plan", str(file)) == 2
        assert words in capsys.readouterr().err
    assert sites("plan", str(file.with_name("none.yaml"))) == 2
    assert "none.yaml" in capsys.readouterr().err


def test_a_plan_for_programs_is_the_answer_of_the_api(
    sites: Command, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sites("plan", "--json", str(file)) == 1
    assert [change["act"] for change in json.loads(capsys.readouterr().out)["changes"]] == [
        "create",
        "change",
        "create",
        "create",
    ]


def test_what_somebody_called_a_site_moves_no_cursor(
    alice: Member, sites: Command, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No such name is taken any more; those that are there were."""
    file.write_text('sites: [{name: "Shop \\e[2J", url: "https://www.shop.example/", probe: {interval_s: 120}}]')
    assert sites("plan", str(file)) == 2
    told = capsys.readouterr()
    assert (told.out, "\x1b" in told.err) == ("", False)
    assert "The name must be one line without control characters." in told.err
    register_site(actor=None, organisation=alice.organisation, name="Shop", url="https://www.shop.example/")
    Site.objects.update(name="Shop \x1b[2J")
    assert sites("plan", str(file)) == 1
    named = "~ Shop \N{REPLACEMENT CHARACTER}[2J, probe\n"
    assert capsys.readouterr().out == f"{named}    interval_s  60 → 120\n1 change\n"


def test_a_token_that_may_not_says_so(
    alice: Member, server: LiveServer, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reader = Command(server, make_token(alice, Scope.READ))
    assert reader("export") == 0
    assert reader("apply", str(file)) == 2
    assert "scope `write`" in capsys.readouterr().err


def test_the_file_in_the_help_can_be_carried_out(
    alice: Member, sites: Command, file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for code in ("eu", "us"):
        make_region(code, alice.organisation)
    monkeypatch.setenv("SHOP_KEY", "s3cret")
    monkeypatch.setenv("SLACK_WEBHOOK", "https://hooks.slack.com/services/s3cret")
    text = SITES.partition("the file:\n")[2].partition("\n\n")[0]
    file.write_text(text.replace("  rules: []\n", ""))
    assert sites("apply", str(file)) == 0, capsys.readouterr().err
    capsys.readouterr()
    assert sites("plan", str(file)) == 0
