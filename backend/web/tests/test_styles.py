"""What the styles keep to, so that tests need not look at everything twice."""

import re
from pathlib import Path

import pytest

STYLES = Path(__file__).parents[3] / "frontend" / "src" / "styles"
SHEETS = sorted(STYLES.glob("*.css"))


def rules_of(sheet: Path) -> str:
    return re.sub(r"/\*.*?\*/", "", sheet.read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.name)
def test_a_theme_is_colours_alone(sheet: Path) -> None:
    """Whether light or dark is asked by colours (`light-dark()`) and by no rule, so that nothing else follows it."""
    rules = rules_of(sheet)
    assert "prefers-color-scheme" not in rules
    of_a_theme = re.findall(r"\[data-theme[^{]*\{([^}]*)\}", rules)
    assert {body.strip() for body in of_a_theme} <= {"color-scheme: light;", "color-scheme: dark;"}
    assert rules.count("light-dark(") == len(re.findall(r"^\s*--[\w-]+: light-dark\(", rules, flags=re.MULTILINE))


def test_both_themes_can_be_chosen() -> None:
    assert {"light", "dark"} <= set(re.findall(r'\[data-theme="(\w+)"\]', rules_of(STYLES / "tokens.css")))
