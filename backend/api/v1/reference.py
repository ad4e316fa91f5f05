"""The OpenAPI document as a page tells it: groups of operations, and the shapes of what is sent. Pure."""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

Schema = dict[str, Any]

_METHODS = ("get", "post", "patch", "put", "delete")
_ERRORS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Type:
    """A type in words; `shape` is the one on this page that it is made of."""

    text: str
    shape: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A parameter, or a field of a shape."""

    name: str
    type: Type
    required: bool
    place: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: str
    description: str
    type: Type | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    id: str
    method: str
    path: str
    summary: str
    description: str
    scopes: tuple[str, ...]
    permission: str
    parameters: tuple[Field, ...]
    body: Type | None
    answers: tuple[Answer, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    name: str
    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    name: str
    description: str
    fields: tuple[Field, ...]
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    description: str
    groups: tuple[Group, ...]
    shapes: tuple[Shape, ...]


def reference_of(described: bytes) -> Reference:
    """What the page shows."""
    document = json.loads(described)
    groups: dict[str, list[Operation]] = defaultdict(list)
    for path, methods in document["paths"].items():
        for method in _METHODS:
            if method in methods:
                groups[methods[method]["tags"][0]].append(_operation(document, path, method))
    return Reference(
        description=document["info"]["description"],
        groups=tuple(Group(name=name, operations=tuple(found)) for name, found in sorted(groups.items())),
        shapes=tuple(_shape(name, schema) for name, schema in sorted(document["components"]["schemas"].items())),
    )


def _operation(document: Schema, path: str, method: str) -> Operation:
    found = document["paths"][path][method]
    parameters = (_resolved(document, parameter) for parameter in found["parameters"])
    content = found.get("requestBody", {}).get("content", {})
    answers = [(status, answer) for status, answer in found["responses"].items()]
    return Operation(
        id=found["operationId"],
        method=method.upper(),
        path=path,
        summary=found["summary"],
        description=found.get("description", ""),
        scopes=tuple(found["x-scopes"]),
        permission=found["x-permission"],
        parameters=tuple(_parameter(parameter) for parameter in parameters),
        body=_first_type(content),
        answers=tuple(_answer(status, answer) for status, answer in answers if int(status) < _ERRORS),
        problems=tuple(status for status, _ in answers if int(status) >= _ERRORS),
    )


def _resolved(document: Schema, found: Schema) -> Schema:
    if "$ref" not in found:
        return found
    for name in found["$ref"].removeprefix("#/").split("/"):
        document = document[name]
    return document


def _parameter(found: Schema) -> Field:
    return Field(
        name=found["name"],
        type=_type(found["schema"]),
        required=found["required"],
        place=found["in"],
        description=found.get("description", ""),
    )


def _answer(status: str, found: Schema) -> Answer:
    description = found["description"] or HTTPStatus(int(status)).phrase
    return Answer(status=status, description=description, type=_first_type(found.get("content", {})))


def _first_type(content: Schema) -> Type | None:
    return next((_type(one["schema"]) for one in content.values() if "schema" in one), None)


def _shape(name: str, schema: Schema) -> Shape:
    required = schema.get("required", ())
    fields = (
        Field(
            name=field,
            type=_type(inner),
            required=field in required,
            place="body",
            description=inner.get("description", ""),
        )
        for field, inner in schema.get("properties", {}).items()
    )
    return Shape(
        name=name,
        description=schema.get("description", ""),
        fields=tuple(fields),
        words=tuple(str(word) for word in schema.get("enum", ())),
    )


def _type(schema: Schema) -> Type:
    """A schema in a few words."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return Type(text=name, shape=name)
    if "const" in schema:
        return Type(text=json.dumps(schema["const"]))
    if "enum" in schema:
        return Type(text=" | ".join(json.dumps(word) for word in schema["enum"]))
    for kind in ("anyOf", "oneOf", "allOf"):
        if kind in schema:
            return _joined([_type(one) for one in schema[kind]])
    if schema.get("type") == "array":
        inner = _type(schema.get("items", {}))
        return Type(text=f"list of {inner.text}", shape=inner.shape)
    return Type(text=" ".join((str(schema.get("type", "any")), *_bounds(schema))))


def _joined(types: list[Type]) -> Type:
    shape = next((one.shape for one in types if one.shape), None)
    return Type(text=" or ".join(one.text for one in types), shape=shape)


def _bounds(schema: Schema) -> Iterable[str]:
    if "format" in schema:
        yield f"({schema['format']})"
    low, high = schema.get("minimum", schema.get("minLength")), schema.get("maximum", schema.get("maxLength"))
    unit = " characters" if schema.get("type") == "string" else ""
    if high is not None:
        yield f"{0 if low is None else low} to {high}{unit}"
    elif low:
        yield f"from {low}{unit}"
    if "default" in schema:
        yield f"= {json.dumps(schema['default'])}"
