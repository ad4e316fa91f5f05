"""The file of `firstbyte sites`: YAML 1.2's plain values, `!env NAME`, and where each value stands.

PyYAML reads YAML 1.1, in which `no` is false, 12:30 a number and 2026-11-24 a day; and it takes the last of two equal
keys. Here these are texts, and a key that is there twice is a mistake.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

# The service takes a quarter of that, as JSON.
MAX_BYTES = 1024 * 1024
# Aliases may stand for more than is written, and for themselves: so many values, and so deep, are in no file that a
# person keeps.
_MAX_VALUES, _MAX_DEPTH = 100_000, 30
_ENV = "!env"
# What JSON has, too. YAML's other types, which need a tag, are none that a file of sites could mean.
_TYPES = frozenset(f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq"))
_PLAIN = {
    "bool": (r"true|false", "tf"),
    "int": (r"-?(?:0|[1-9][0-9]*)", "-0123456789"),
    "float": (r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", "-0123456789"),
    "null": (r"~|null|", ["~", "n", ""]),
    "merge": (r"<<", "<"),
}


class FileError(Exception):
    """The file cannot be read; the text says where and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SitesFile:
    """What the file says, and the line of each value by its JSON pointer (`#/sites/0/name`)."""

    document: Any
    lines: dict[str, int]

    def line_of(self, pointer: str) -> int:
        """The line of a value, or of what it would be in, where it is not written."""
        while pointer and pointer not in self.lines:
            pointer = pointer.rpartition("/")[0]
        return self.lines.get(pointer, 1)


def read_file(content: bytes) -> SitesFile:
    """Raises FileError."""
    if len(content) > MAX_BYTES:
        raise FileError(f"it has more than {MAX_BYTES} bytes; keep several files, each with its own sites")
    try:
        loader = _Loader(content.decode("utf-8-sig"))
        root = loader.get_single_node()
        lines = dict(_lines(root))
        return SitesFile(document={} if root is None else loader.construct_document(root), lines=lines)
    except UnicodeDecodeError as error:
        raise FileError(f"it is not UTF-8: byte {error.start} is wrong") from error
    except ValueError as error:
        raise FileError(f"it holds a number that is none, or too long: {error}") from error
    except RecursionError as error:
        raise FileError("it is nested too deep, holds itself, or holds too much") from error
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise FileError(f"{line}{error.problem or error.context or error}") from error
    except yaml.YAMLError as error:
        raise FileError(str(error)) from error


def written(document: Any) -> str:
    """A document as a person would write it."""
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


class _Loader(yaml.SafeLoader):
    """What a plain text stands for is told below."""


class _Dumper(yaml.SafeDumper):
    """The same; every value is written where it stands."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _from_environment(loader: yaml.SafeLoader, node: yaml.Node) -> str:
    name = str(node.value)
    value = os.environ.get(name)
    if value is None:
        problem = f"the environment has no {name[:100]!r}; set it, or write the text itself"
        raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
    return value


def _text(loader: yaml.SafeLoader, node: yaml.Node) -> str:
    """A text; JSON escapes what is beyond 16 bits as two halves, which YAML leaves apart."""
    try:
        return str(node.value).encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError as error:
        raise yaml.MarkedYAMLError(problem="it holds half a character", problem_mark=node.start_mark) from error


def _lines(root: yaml.Node | None) -> Iterator[tuple[str, int]]:
    """Raises RecursionError for more than a file can hold, and MarkedYAMLError for a key that is there twice."""
    waiting = [] if root is None else [("#", root, 0)]
    for _ in range(_MAX_VALUES):
        if not waiting:
            return
        pointer, node, depth = waiting.pop()
        if depth > _MAX_DEPTH:
            break
        yield pointer, node.start_mark.line + 1
        if node.tag not in _TYPES and node.tag != _ENV:
            raise yaml.MarkedYAMLError(problem=f"{node.tag[:60]!r} has no meaning here", problem_mark=node.start_mark)
        if isinstance(node, yaml.MappingNode):
            _refuse_twice(node)
            waiting += [(f"{pointer}/{_escaped(key)}", value, depth + 1) for key, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            waiting += [(f"{pointer}/{index}", value, depth + 1) for index, value in enumerate(node.value)]
    raise RecursionError


def _refuse_twice(node: yaml.MappingNode) -> None:
    seen = set()
    for key, _ in node.value:
        if str(key.value) in seen:
            raise yaml.MarkedYAMLError(problem=f"{key.value!r} is there twice", problem_mark=key.start_mark)
        seen.add(str(key.value))


def _escaped(key: yaml.Node) -> str:
    """A name as a part of a JSON pointer, cut as the service cuts it."""
    return str(key.value)[:60].replace("~", "~0").replace("/", "~1")


for _made in (_Loader, _Dumper):
    _made.yaml_implicit_resolvers = {}
    for _name, (_pattern, _first) in _PLAIN.items():
        _made.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", re.compile(f"^(?:{_pattern})$"), list(_first))
_Loader.add_constructor(_ENV, _from_environment)
_Loader.add_constructor("tag:yaml.org,2002:str", _text)
