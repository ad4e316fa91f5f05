"""`python -m workers.tests.write_examples`: writes the golden messages of `workers/measurement/examples/` anew.

Only after a deliberate change of the contract: they stand for what regions in the field send.
"""

import json
from pathlib import Path

from workers.measurement import examples, wire
from workers.tests.builders import EXAMPLES


def pretty(name: str) -> str:
    """An example as its file holds it."""
    return json.dumps(json.loads(wire.encode(EXAMPLES[name])), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    directory = Path(examples.__file__).parent
    for path in directory.glob("*.json"):
        path.unlink()
    for example in EXAMPLES:
        (directory / f"{example}.json").write_text(pretty(example))
