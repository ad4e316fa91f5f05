"""Scripts as people write them, and what is shown of them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.page_options import MAX_STEPS, Click, Key, Press, Step, TypeText, Visit, WaitFor
from workers.measurement.page_rules import PageOptionError
from workers.measurement.script_text import KEPT, parse_script, script_text, with_kept

SCRIPT = """
// Log in
visit https://shop.example/login
type run into me into #user
Secret  pass phrase  into  form > [name=password]
click form > button
click iframe[title='Sign in'] >>> form > button
press enter
wait for .account, .welcome
"""
STEPS: tuple[Step, ...] = (
    Visit(url="https://shop.example/login"),
    TypeText(selector="#user", text="run into me"),
    TypeText(selector="form > [name=password]", text="pass phrase ", secret=True),
    Click(selector="form > button"),
    Click(selector="iframe[title='Sign in'] >>> form > button"),
    Press(key=Key.ENTER),
    WaitFor(selector=".account, .welcome"),
)


def faults(text: str) -> list[str]:
    with pytest.raises(PageOptionError) as caught:
        parse_script(text)
    return str(caught.value).splitlines()


def test_lines_are_steps() -> None:
    assert parse_script(SCRIPT) == STEPS
    assert parse_script("") == ()


def test_what_is_shown_is_what_was_written_without_the_secrets() -> None:
    shown = script_text(STEPS)
    assert "pass phrase" not in shown
    assert f"secret {KEPT} into form > [name=password]" in shown
    assert with_kept(parse_script(shown), STEPS) == STEPS


def test_every_line_at_fault_is_told_and_nothing_that_is_typed() -> None:
    said = faults("visit ftp://x\nsecret s3cret\nclick\njump s3cret\nwait .a\nclick #ok")
    assert [line.partition(":")[0] for line in said] == [f"Line {number}" for number in range(1, 6)]
    assert said[1] == "Line 2: Write secret TEXT into SELECTOR, such as secret … into #password."
    assert said[3].startswith("Line 4: This is no step. Write visit URL, click SELECTOR")
    assert "s3cret" not in "".join(said)


def test_a_recording_is_read_in_place_of_lines() -> None:
    click = {"type": "click", "selectors": [["#go"]]}
    assert parse_script(json.dumps({"steps": [click]})) == (Click(selector="#go"),)
    assert faults('{"steps": [{"type": "customStep"}]}') == ["Step 1: 'customStep' cannot be done here."]


def test_a_script_is_bounded() -> None:
    assert len(parse_script("click a\n" * 10_000)) == MAX_STEPS + 1
    assert len(faults("x\n" * 10_000)) == MAX_STEPS + 1


@pytest.mark.parametrize(
    "shown",
    [
        f"visit https://evil.example/\nsecret {KEPT} into #password",
        f"visit http://shop.example/\nsecret {KEPT} into #password",
        f"visit https://shop.example:8443/\nsecret {KEPT} into #password",
        f"visit https://shop.example/\nsecret {KEPT} into #comment",
        f"visit https://shop.example/\ntype {KEPT} into #password",
        f"visit https://shop.example/\nsecret {KEPT} into #password\nsecret {KEPT} into #password",
    ],
)
def test_a_secret_is_kept_for_its_own_field_and_server_only(shown: str) -> None:
    before = parse_script("visit https://shop.example/login\nsecret s3cret into #password")
    with pytest.raises(PageOptionError, match=r"Step \d: write the secret again.") as caught:
        with_kept(parse_script(shown), before)
    assert "s3cret" not in str(caught.value)


def test_a_secret_is_kept_neither_where_a_new_visit_led_nor_when_hosts_are_elsewhere() -> None:
    script = "visit https://sso.example/\nvisit https://shop.example/login\nsecret s3cret into #password"
    before, masked = parse_script(script), parse_script(script.replace("s3cret", KEPT))
    assert with_kept(masked, before) == before
    assert len(with_kept(masked[1:], before)) == 2
    with pytest.raises(
        PageOptionError, match=r"Step 4: write the secret again\. It was given before a step led to https"
    ):
        with_kept((Visit(url="https://evil.example/"), *masked), before)
    with pytest.raises(
        PageOptionError, match=r"Step 3: write the secret again\. It was given before hosts were reached"
    ):
        with_kept(masked, before, moved=True)


def test_only_some_keys_are_pressed() -> None:
    assert parse_script("press ESCAPE\nPress Tab") == (Press(key=Key.ESCAPE), Press(key=Key.TAB))
    said = "Only these keys can be pressed: Enter, Tab, Escape. Write press Enter."
    assert faults("press F5\npress") == [f"Line 1: {said}", f"Line 2: {said}"]


def test_a_secret_stays_with_its_field_when_other_steps_change() -> None:
    before = parse_script("visit https://a.example/\nsecret one into #a\nsecret two into #a\nsecret b into #b")
    after = parse_script(
        f"visit https://a.example/other\nclick #x\nsecret {KEPT} into #b\nsecret {KEPT} into #a\nsecret new into #a"
    )
    assert [step.text for step in with_kept(after, before) if isinstance(step, TypeText)] == ["b", "one", "new"]


@given(st.text(max_size=200))
def test_any_text_is_a_script_or_refused(text: str) -> None:
    try:
        steps = parse_script(text)
    except PageOptionError:
        return
    assert with_kept(parse_script(script_text(steps)), steps) == steps or KEPT in text
