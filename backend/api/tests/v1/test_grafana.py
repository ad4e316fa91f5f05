"""The dashboard for Grafana asks for what Prometheus is told, and is a dashboard as Grafana reads it."""

import json
import re
from collections.abc import Mapping
from datetime import timedelta
from itertools import combinations
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import time_machine
from prometheus_client.parser import text_string_to_metric_families

from backend.api.tests.v1.calling import Program
from backend.api.tests.v1.world import World
from backend.compare.models import Pairing
from backend.runs.models import Connection
from backend.runs.tests.factories import NOW
from workers.diagnosis.probe.trust import SOON

FILE = Path(__file__).parents[4] / "deploy" / "grafana" / "firstbyte.json"
DASHBOARD: dict[str, Any] = json.loads(FILE.read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
VARIABLES = {one["name"]: one for one in DASHBOARD["templating"]["list"]}
TARGETS = [(panel["title"], target) for panel in PANELS for target in panel["targets"]]
FUNCTIONS = {"sum", "count", "min", "avg", "sort", "time", "label_replace"}
UNITS = {"s", "none", "suffix: days"}
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
COLUMNS = 24

_TEXT = re.compile(r'"[^"]*"')
_WORD = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_SELECTOR = re.compile(rf"({_WORD.pattern})\{{([^}}]*)\}}")
_BY = re.compile(r"\bby\s*\(([^)]*)\)")


def selectors_of(expression: str) -> list[tuple[str, set[str]]]:
    """Each metric of an expression, with the labels that it is chosen by; nothing else in it is a name of one."""
    bare = _TEXT.sub('""', expression)
    found = [(name, set(_WORD.findall(inside))) for name, inside in _SELECTOR.findall(bare)]
    others = set(_WORD.findall(_BY.sub("", _SELECTOR.sub("", bare))))
    assert others <= FUNCTIONS, (expression, others)
    return found


def labels_kept(expression: str, exported: Mapping[str, set[str]]) -> set[str]:
    """The labels of what an expression gives."""
    grouped = _BY.search(expression)
    if grouped:
        return set(_WORD.findall(grouped[1]))
    if re.match(r"(sum|count|min|avg)\(", expression):
        return set()
    return set.intersection(*(exported[name] for name, _ in selectors_of(expression)))


@pytest.fixture
def exported(program: Program, world: World, pairing: Pairing) -> dict[str, set[str]]:
    """The labels of each metric, as the endpoint tells it of a site with a probe, a page and a pair."""
    world.ended("probe", ago_s=60)
    host = urlsplit(world.site.url).hostname or ""
    Connection.objects.update(host=host, certificate_not_after=NOW + timedelta(days=30))
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(scraped(program)):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def scraped(program: Program) -> str:
    with time_machine.travel(NOW):
        return str(program.get("metrics").content.decode())


@pytest.mark.django_db
def test_each_expression_asks_for_metrics_by_labels_that_they_have(exported: dict[str, set[str]]) -> None:
    for title, target in TARGETS:
        for name, labels in selectors_of(target["expr"]):
            assert name in exported, (title, name)
            assert labels <= exported[name], (title, name)
        for grouped in _BY.findall(target["expr"]):
            (name, _), *_ = selectors_of(target["expr"])
            assert set(_WORD.findall(grouped)) <= exported[name], title


@pytest.mark.django_db
def test_each_legend_names_labels_that_are_left(exported: dict[str, set[str]]) -> None:
    for title, target in TARGETS:
        named = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
        assert named <= labels_kept(target["expr"], exported), title


@pytest.mark.django_db
def test_variables_are_filled_with_labels_that_there_are(exported: dict[str, set[str]]) -> None:
    for variable in VARIABLES.values():
        if variable["type"] == "query":
            asked = variable["query"]["query"]
            parts = re.fullmatch(r"label_values\((.*), (\w+)\)", asked)
            assert parts is not None, asked
            ((name, labels),) = selectors_of(parts[1] if "{" in parts[1] else f"{parts[1]}{{}}")
            assert labels | {parts[2]} <= exported[name], asked


@pytest.mark.django_db
def test_phases_and_kinds_that_are_chosen_exist(program: Program, world: World) -> None:
    world.ended("probe", ago_s=60)
    text = scraped(program)
    for _, target in TARGETS:
        for label, value in re.findall(r'(\w+)!?="(\w+)"', target["expr"]):
            assert f'{label}="{value}"' in text


def test_no_series_of_other_exporters_is_taken_for_a_site() -> None:
    """Some of the names are blackbox_exporter's, whose series have no label `site`: all sites are all that have one."""
    assert VARIABLES["site"]["allValue"] == ".+"
    for title, target in TARGETS:
        for _, labels in selectors_of(target["expr"]):
            assert "site" in labels, title


def test_what_depends_on_the_region_is_chosen_by_it() -> None:
    for title, target in TARGETS:
        for name, labels in selectors_of(target["expr"]):
            assert ("region" in labels) is not name.startswith("firstbyte_site_"), title


def test_sources_and_variables_are_the_readers_choice() -> None:
    assert VARIABLES["datasource"]["type"] == "datasource"
    assert [one["datasource"] for one in (*PANELS, VARIABLES["site"], VARIABLES["region"])] == [DATASOURCE] * (
        len(PANELS) + 2
    )
    for _, target in TARGETS:
        assert target["datasource"] == DATASOURCE
        assert set(re.findall(r"\$(\w+)", target["expr"])) <= VARIABLES.keys()


def test_it_is_a_dashboard_that_can_be_imported_and_found_again() -> None:
    assert re.fullmatch(r"[a-zA-Z0-9_-]{8,40}", DASHBOARD["uid"])
    assert (DASHBOARD["id"], DASHBOARD["schemaVersion"]) == (None, 39)
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))
    for panel in PANELS:
        assert panel["title"], panel["id"]
        assert panel["description"], panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS, panel["title"]
        refs = [target["refId"] for target in panel["targets"]]
        assert refs, panel["title"]
        assert len(refs) == len(set(refs)), panel["title"]
        named = {override["matcher"]["options"] for override in panel["fieldConfig"]["overrides"]}
        assert named <= set(refs), panel["title"]


def test_seconds_are_shown_as_seconds() -> None:
    for panel in PANELS:
        for target in panel["targets"]:
            in_seconds = all(name.endswith("_seconds") for name, _ in selectors_of(target["expr"]))
            assert (panel["fieldConfig"]["defaults"]["unit"] == "s") is in_seconds, panel["title"]


def test_no_panel_covers_another_one() -> None:
    for panel, other in combinations((one["gridPos"] for one in DASHBOARD["panels"]), 2):
        beside = panel["x"] + panel["w"] <= other["x"] or other["x"] + other["w"] <= panel["x"]
        assert beside or panel["y"] + panel["h"] <= other["y"] or other["y"] + other["h"] <= panel["y"]
        assert panel["x"] + panel["w"] <= COLUMNS


def test_a_certificate_is_marked_when_its_finding_comes() -> None:
    marked = [panel for panel in PANELS if "ssl" in panel["targets"][0]["expr"]]
    assert len(marked) == 2
    for panel in marked:
        steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
        assert [step["value"] for step in steps if step["color"] == "green"] == [SOON.days]
