"""The file of `firstbyte sites`: what it says, and where."""

import json
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.commands.sites_file import MAX_BYTES, FileError, read_file, written

PLAIN = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
NAMES = st.text(string.ascii_letters + string.digits + "_-. ~:/#", max_size=12)
TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufeff\ufffe\uffff"), max_size=20)
DOCUMENTS = st.recursive(
    PLAIN | TEXTS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=12
)


def said(text: str) -> Any:
    return read_file(text.encode()).document


def fault(content: bytes | str) -> str:
    with pytest.raises(FileError) as refused:
        read_file(content.encode() if isinstance(content, str) else content)
    return str(refused.value)


@given(DOCUMENTS)
def test_what_is_written_is_read_as_it_was(document: Any) -> None:
    assert said(written(document)) == document


@given(DOCUMENTS)
def test_json_is_read_as_json(document: Any) -> None:
    assert said(json.dumps(document)) == document


@pytest.mark.parametrize(
    "text", ["no", "yes", "on", "Off", "12:30", "2026-11-24", "0x10", "010", "1_000", ".5", "NULL"]
)
def test_what_only_yaml_1_1_takes_for_something_else_is_text(text: str) -> None:
    assert said(f"region: {text}") == {"region": text}


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("false", False), ("null", None), ("~", None), ("", None), ("60", 60)]
)
def test_plain_values_are_those_of_json(text: str, value: object) -> None:
    found = said(f"value: {text}")["value"]
    assert (found, type(found)) == (value, type(value))


def test_shared_settings_are_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "usual: &usual\n  interval_s: 60\n  regions: [eu]\nprobe:\n  <<: *usual\n  interval_s: 300\n"
    assert said(text)["probe"] == {"interval_s": 300, "regions": ["eu"]}


def test_secrets_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_KEY", "s3cret: 1")
    assert said("headers: [{name: X-Key, value: !env SHOP_KEY}]") == {
        "headers": [{"name": "X-Key", "value": "s3cret: 1"}]
    }
    monkeypatch.delenv("SHOP_KEY")
    assert fault("a: 1\nb: !env SHOP_KEY").startswith("line 2: the environment has no 'SHOP_KEY'")


def test_each_value_has_the_line_that_it_stands_in() -> None:
    file = read_file(b"sites:\n  - name: Shop\n    probe:\n      interval_s: 1\n  - name: a/b~c\n    x/y~: 1\n")
    assert file.line_of("#/sites/0/probe/interval_s") == 4
    assert file.line_of("#/sites/0/probe/timeout_s") == 4
    assert file.line_of("#/sites/0/url") == 2
    assert file.line_of("#/sites/1/x~1y~0") == 6
    assert file.line_of("#/rules") == 1
    assert read_file(b"").line_of("#/sites") == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("sites: []\nsites: []\n", "line 2: 'sites' is there twice"),
        ("a: &a {b: 1}\nc: {<<: *a, d: 1, d: 2}\n", "line 2: 'd' is there twice"),
        ("sites: [", "line 1: "),
        (
            "a: !!python/object/apply:os.system [ls]\n",
            "line 1: 'tag:yaml.org,2002:python/object/apply:os.system' has no meaning here",
        ),
        ("a: 1\nb: !!binary aGk=\n", "line 2: 'tag:yaml.org,2002:binary' has no meaning here"),
        ("a: !!timestamp 2026-11-24\n", "line 1: 'tag:yaml.org,2002:timestamp' has no meaning here"),
        ("a: !!int abc\n", "it holds a number that is none"),
        ("a: " + "1" * 5_000, "it holds a number that is none, or too long"),
        ("a: *nowhere\n", "line 1: found undefined alias"),
        ('a: "\\ud800"\n', "line 1: it holds half a character"),
        ("a: 1\n---\nb: 2\n", "line 2: but found another document"),
        ("&a [*a]", "holds itself"),
        ("&a {b: *a}", "holds itself"),
        ("[" * 5_000, "nested too deep"),
        (b"name: \xff", "it is not UTF-8: byte 6 is wrong"),
        ("a: \x00", "special characters are not allowed"),
        (b" " * (MAX_BYTES + 1), "it has more than 1048576 bytes"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_line(content: bytes | str, words: str) -> None:
    assert words in fault(content)


def test_aliases_that_stand_for_billions_cost_nothing() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 20)]
    assert "holds too much" in fault("\n".join(lines))
