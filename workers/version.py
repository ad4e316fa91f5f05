"""What an agent says it is: a version, and which code it runs."""

import hashlib
from functools import cache
from pathlib import Path

# A constant, because a region runs from a copied folder without package metadata.
VERSION = "0.1.0"
_CODE = frozenset({".js", ".json", ".py", ".txt"})
# What images leave out (`.dockerignore`).
_LEFT_OUT = frozenset({"bench", "tests"})


@cache
def build() -> str:
    """VERSION with the build of the code that runs here. Call it before anybody may put other code in its place."""
    return f"{VERSION}+{build_of(Path(__file__).parent)}"


def build_of(folder: Path) -> str:
    """Eight hex digits of all code in a folder (SHA-256): the same in each copy, others once it changes."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.suffix in _CODE and not _LEFT_OUT & {*name.parts} and path.is_file():
            code = path.read_bytes()
            digest.update(f"{name}\0{len(code)}\0".encode() + code)
    return digest.hexdigest()[:8]
