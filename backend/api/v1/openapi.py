"""The description of the API, OpenAPI 3.1: what Ninja says of the routes, and what the door adds to each of them.

`manage.py openapi` writes `openapi.json`, `--check` says whether it is up to date.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ninja import NinjaAPI
from ninja.errors import ConfigError
from ninja.openapi.schema import OpenAPISchema

from backend.api.v1.access import Need
from backend.api.v1.problems import TYPES
from backend.spreadsheets import MEDIA_TYPE

TARGET = Path(__file__).with_name("openapi.json")
PREFIX = "/api/v1/"
Document = dict[str, Any]

_DESCRIPTION = """\
Measurements of sites: where the milliseconds before the first byte and the first paint go, from every region.

Send `Authorization: Bearer fb_api_…`; an admin makes tokens on the page Tokens. Times are RFC 3339 in UTC, durations \
milliseconds (`_ms`), sizes bytes (`_bytes`); what is not known is null. Lists come in pages: `next` is the cursor of \
the following one, and the header `Link` leads to it. A POST with an `Idempotency-Key` is carried out once within 24 \
hours. Every answer to a GET has an `ETag`, but for tables (CSV), which are sent while they are made. Errors are \
`application/problem+json` (RFC 9457).
"""
_TEXT: Document = {"type": "string"}
_SECURITY: Document = {
    "token": {"type": "http", "scheme": "bearer", "description": "An API token; every route names the scope it needs."},
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "firstbyte-session",
        "description": "A person who is signed in. What changes something needs the header X-CSRFToken, too. Over "
        "HTTPS the name begins with `__Host-`, on loopback it ends with the port.",
    },
}
_PARAMETERS: Document = {
    "IdempotencyKey": {
        "name": "Idempotency-Key",
        "in": "header",
        "required": False,
        "description": "The request is carried out once within 24 hours, however often it is sent with this key.",
        "schema": _TEXT | {"minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    },
    "IfNoneMatch": {
        "name": "If-None-Match",
        "in": "header",
        "required": False,
        "description": "The `ETag` of what you have: 304 says that it is still so.",
        "schema": _TEXT,
    },
}
_HEADERS: Document = {
    "X-Request-Id": {"description": "The request's id; it is in our log.", "required": True, "schema": _TEXT},
    "RateLimit-Policy": {"description": "How much may be asked in how many seconds.", "schema": _TEXT},
    "RateLimit": {"description": "How much is left (`r`), and for how long (`t`).", "schema": _TEXT},
    "ETag": {"description": "Names this version of the answer.", "schema": _TEXT},
    "Link": {"description": '`rel="next"`: the following page.', "schema": _TEXT},
    "Location": {"description": "Where what was made is.", "schema": _TEXT},
    "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 0}},
}
# The one answer that is not ours: the server gives it before it looks where the request goes.
_TOO_LONG: Document = {"description": "The address is too long.", "content": {"text/html": {"schema": _TEXT}}}
_PROBLEM: Document = {
    "title": "Problem",
    "type": "object",
    "required": ["type", "title", "status", "detail", "instance", "request_id"],
    "properties": {
        "type": {"type": "string", "enum": sorted(one.path for one in TYPES)},
        "title": _TEXT,
        "status": {"type": "integer"},
        "detail": _TEXT | {"description": "What is wrong, in a sentence."},
        "instance": _TEXT | {"description": "The path that was asked for."},
        "request_id": {"anyOf": [_TEXT, {"type": "null"}]},
        "errors": {"type": "array", "items": {"$ref": "#/components/schemas/Fault"}},
    },
}
_FAULT: Document = {
    "title": "Fault",
    "type": "object",
    "required": ["pointer", "detail"],
    "properties": {
        "pointer": _TEXT | {"description": "`#/name` in the body, `?name` in the query, or a header's name."},
        "detail": _TEXT,
    },
}


class _Schema(OpenAPISchema):
    """Ninja's, which would let the last of two shapes with one name win."""

    def add_schema_definitions(self, definitions: Document) -> None:
        for name, definition in definitions.items():
            if self.schemas.get(name, definition) != definition:
                raise ConfigError(f"Two shapes are called {name}; give one of them another name.")
        super().add_schema_definitions(definitions)


def document(api: NinjaAPI) -> Document:
    """The whole description."""
    raw = json.dumps(_Schema(api, PREFIX))
    # Pydantic's name for Page[Site] is Page_Site_; generated clients shall have a SitePage.
    found: Document = json.loads(re.sub(r"\bPage_(\w+?)_\b", r"\1Page", raw))
    found["info"] = {"title": "Firstbyte", "version": api.version, "description": _DESCRIPTION}
    found.pop("servers")
    asked = needs_of(api)
    components = found["components"]
    for path, methods in found["paths"].items():
        for method, operation in methods.items():
            _complete(operation, asked[operation["operationId"]], path=path, method=method)
            _free_optional_body(operation, components["schemas"])
    components["schemas"] = components.get("schemas", {}) | {"Problem": _PROBLEM, "Fault": _FAULT}
    components |= {
        "securitySchemes": _SECURITY,
        "parameters": _PARAMETERS,
        "headers": _HEADERS,
        "responses": {_name(status): _problems(status) for status in sorted({one.status for one in TYPES})},
    }
    return found


def needs_of(api: NinjaAPI) -> dict[str, Need]:
    """What each operation asks of its caller, by the operation's id."""
    views = (view for bound in api._get_bound_routers() for view in bound.path_operations.values())
    return {
        api.get_openapi_operation_id(operation): operation.auth_callbacks[0].need  # type: ignore[attr-defined]  # a Bearer
        for view in views
        for operation in view.operations
    }


def text() -> str:
    """The file."""
    # The routes themselves import this package's modules, and this one is among them by way of the page.
    from backend.api.v1 import api  # noqa: PLC0415

    return json.dumps(document(api), indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _complete(operation: Document, need: Need, *, path: str, method: str) -> None:
    """What the door does, said of one operation."""
    operation["security"] = [{"token": []}, {"session": []}]
    operation["x-scopes"] = [scope.value for scope in need.scopes]
    operation["x-permission"] = need.permission.value
    parameters = operation.setdefault("parameters", [])
    if method == "post":
        parameters.append({"$ref": "#/components/parameters/IdempotencyKey"})
    if method == "get" and not any(map(_is_table, operation["responses"].values())):
        parameters.append({"$ref": "#/components/parameters/IfNoneMatch"})
        operation["responses"]["304"] = {"description": "You have this version."}
    for status, response in operation["responses"].items():
        response["headers"] = {name: _ref("headers", name) for name in _headers_of(method, int(status), response)}
    if any(parameter.get("in") == "query" for parameter in parameters):
        operation["responses"]["414"] = _TOO_LONG
    for status in _statuses(operation, path=path, method=method):
        operation["responses"].setdefault(str(status), _ref("responses", _name(status)))


def _free_optional_body(operation: Document, schemas: Document) -> None:
    """No body is an empty one: where no field is required, none need be sent."""
    body = operation.get("requestBody")
    if body is not None:
        schema = body["content"]["application/json"]["schema"]
        fields = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
        body["required"] = bool(fields.get("required"))


def _headers_of(method: str, status: int, response: Document) -> Iterator[str]:
    yield from ("X-Request-Id", "RateLimit-Policy", "RateLimit")
    if method == "get" and not _is_table(response):
        yield "ETag"
    if 'Page"' in json.dumps(response):
        yield "Link"
    if status in (201, 202):
        yield "Location"


def _is_table(response: Document) -> bool:
    """Nobody has seen the whole of it before it is sent."""
    return MEDIA_TYPE in response.get("content", ())


def _statuses(operation: Document, *, path: str, method: str) -> Iterator[int]:
    yield from (400, 401, 403, 405, 422, 429, 500, 503)
    # Also where a filter names what is not there.
    if "{" in path or operation["parameters"]:
        yield 404
    if method != "get":
        yield from (409, 411, 413, 415)


def _problems(status: int) -> Document:
    kinds = [one for one in TYPES if one.status == status]
    return {
        "description": " / ".join(f"{one.title} (`{one.slug}`)" for one in kinds),
        "headers": {"X-Request-Id": _ref("headers", "X-Request-Id")},
        "content": {"application/problem+json": {"schema": _ref("schemas", "Problem")}},
    }


def _name(status: int) -> str:
    return f"Problem{status}"


def _ref(kind: str, name: str) -> Document:
    return {"$ref": f"#/components/{kind}/{name}"}
