"""What commands print as JSON, held to the schemas that are published."""

import json
from pathlib import Path
from typing import Any

from jsonschema_rs import Draft202012Validator, Registry

from workers.tests.diagnosis.test_probe_document import closed

SCHEMAS = Path(__file__).parents[3] / "docs" / "schemas"
# Where a schema without a name of its own stands, for those that refer to it.
_PLACE = "json-schema:///"


def must_fit(document: dict[str, Any], *, whole: bool = True) -> None:
    """Raises jsonschema_rs' ValidationError.

    A `whole` document has no field that its schema does not name; else it refers to one that names the rest.
    """
    schemas = {path.name: json.loads(path.read_text()) for path in SCHEMAS.iterdir()}
    if whole:
        schemas = closed(schemas)
    registry = Registry([(f"{_PLACE}{name}", one) for name, one in schemas.items()])
    schema = schemas[f"{document['schema'].replace('/', '-')}.json"]
    Draft202012Validator(schema, registry=registry).validate(document)
