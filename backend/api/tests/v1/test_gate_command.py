"""The command and the service together: what one says the other understands."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pytest_django.live_server_helper import LiveServer

from backend.accounts.permissions import Scope
from backend.analysis.gate_metrics import OFFSETS
from backend.api.tests.v1.calling import make_token
from backend.api.v1 import problems
from backend.cast import Member
from backend.gates.models import Gate
from backend.gates.tests.world import World, make_world
from backend.sites.models import Deploy
from backend.testing import wait_until
from workers.cli import main
from workers.commands.pipeline_api import IN_PROGRESS
from workers.commands.pipeline_arguments import GATE

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world(alice: Member) -> World:
    made = make_world(alice)
    made.history()
    return made


def ask(world: World, server: LiveServer, *arguments: str, slower: float = 1.0) -> int:
    """The command's exit code, while the judge and the agents work."""
    token = make_token(world.member, Scope.GATES)
    command = ["gate", "--url", server.url, "--token", token, "--site", "shop", "--timeout", "600", *arguments]
    known = Gate.objects.count()
    with ThreadPoolExecutor(1) as pool:
        code = pool.submit(main, command)
        wait_until(lambda: code.done() or Gate.objects.count() > known, "the gate to begin")
        if not code.done():
            world.play(Gate.objects.latest("pk"), lambda run: slower)
        return code.result(timeout=300)


def test_the_help_names_every_metric_that_can_be_gated() -> None:
    words = GATE.partition("metrics:")[2].partition("\n\n")[0].split()
    assert sorted(words) == sorted(metric.removesuffix("_ms") for metric in OFFSETS)


def test_both_call_a_request_that_is_being_carried_out_the_same() -> None:
    assert problems.IN_PROGRESS.path.endswith(IN_PROGRESS)


def test_the_command_passes_what_is_unchanged_and_fails_what_is_slower(
    world: World, server: LiveServer, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert ask(world, server, "--deploy-id", "r1", "--rule", "ttfb<=+10%,5ms", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["verdict"], told["deploy"]["external_id"]) == ("pass", "r1")
    junit = tmp_path / "gate.xml"
    assert ask(world, server, "--warn", "total<=9s", "--junit", str(junit), slower=1.5) == 1
    assert "What grew: waiting for the server" in capsys.readouterr().out
    cases = {case.get("name"): [mark.tag for mark in case] for case in ElementTree.parse(junit).iter("testcase")}
    assert cases == {"probe ttfb<=+10%": ["failure"], "probe total<=9000ms (warning)": []}


def test_a_mistake_is_wrong_usage_in_the_services_words(
    world: World, server: LiveServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(world, server, "--rule", "beauty<=+10%") == 2
    assert "the metric of the first rule: 'beauty' cannot be gated" in capsys.readouterr().err


def test_a_deploy_arrives(world: World, server: LiveServer) -> None:
    token = make_token(world.member, Scope.GATES)
    where = ["--url", server.url, "--token", token, "--site", "Shop", "--deploy-version", "1.2.3"]
    assert main(["deploys", "create", *where]) == 0
    assert Deploy.objects.get().version == "1.2.3"
