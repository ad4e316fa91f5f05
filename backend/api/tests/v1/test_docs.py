"""The reference page, and the description it is made of."""

import json

import pytest
from django.test import Client

from backend.api.v1 import api
from backend.api.v1.openapi import TARGET, document
from backend.api.v1.problems import TYPES
from backend.api.v1.reference import reference_of

pytestmark = pytest.mark.django_db


def test_the_description_is_served_to_everybody_and_kept_by_who_has_it() -> None:
    answer = Client().get("/api/v1/openapi.json")
    assert answer.json()["openapi"] == "3.1.0"
    again = Client().get("/api/v1/openapi.json", headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304


def test_the_page_tells_of_every_operation_every_shape_and_every_problem() -> None:
    answer = Client().get("/api/v1/docs")
    text, described = answer.content.decode(), document(api)
    for methods in described["paths"].values():
        for operation in methods.values():
            assert f'id="{operation["operationId"]}"' in text
    for name in described["components"]["schemas"]:
        assert f'id="shape-{name}"' in text
    for kind in TYPES:
        assert f'id="problem-{kind.slug}"' in text


def test_the_page_needs_no_network_and_no_inline_code() -> None:
    answer = Client().get("/api/v1/docs")
    text = answer.content.decode()
    for foreign in ("https://cdn", "//unpkg", "<style", " style=", "onclick"):
        assert foreign not in text
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


def test_every_link_inside_the_page_leads_somewhere() -> None:
    text = Client().get("/api/v1/docs").content.decode()
    anchors = {part.split('"')[0] for part in text.split('href="#')[1:]}
    assert all(f'id="{anchor}"' in text for anchor in anchors)


def test_every_type_of_the_description_can_be_said_in_words() -> None:
    reference = reference_of(TARGET.read_bytes())
    for shape in reference.shapes:
        for field in shape.fields:
            assert field.type.text
            assert "any" not in field.type.text.split(), (shape.name, field.name)


def test_what_is_described_is_json_with_its_references_whole() -> None:
    described = json.loads(TARGET.read_text())
    for found in _references(described):
        place = described
        for name in found.removeprefix("#/").split("/"):
            place = place[name]


def _references(node: object) -> list[str]:
    if isinstance(node, dict):
        here = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
        return here + [one for inner in node.values() for one in _references(inner)]
    return [one for inner in node for one in _references(inner)] if isinstance(node, list) else []
