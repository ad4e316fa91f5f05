"""What the documents name is there: files, headings, settings."""

import re
from pathlib import Path

import pytest

from backend.config import Config
from workers.config import AgentConfig

ROOT = Path(__file__).resolve().parents[2]
RUNNING = ROOT / "deploy" / "README.md"
MAP = ROOT / "ARCHITECTURE.md"
DOCUMENTS = (ROOT / "README.md", MAP, RUNNING, ROOT / "deploy" / "SCALING.md", *sorted((ROOT / "docs").glob("*.md")))
PARTS = ("workers", "backend", "deploy", "frontend/src", "docs")


def anchor(heading: str) -> str:
    """As pages of repositories make one."""
    return re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_to_files_and_headings(document: Path) -> None:
    for link in re.findall(r"\]\((?!https?:)([^)]+)\)", document.read_text()):
        name, _, heading = link.partition("#")
        target = document.parent / name if name else document
        assert target.exists(), link
        if heading:
            assert heading in map(anchor, re.findall(r"^#+ (.+)$", target.read_text(), re.MULTILINE)), link


def test_modules_and_folders_on_the_map_are_in_the_code() -> None:
    """Named from the root, or from the part that is spoken of."""
    named = re.findall(r"`([a-z][\w-]*/[\w./-]*|[\w-]+\.(?:py|css))`", MAP.read_text())
    paths = [*ROOT.iterdir(), *(path for part in PARTS for path in (ROOT / part).rglob("*"))]
    there = [f"/{path.relative_to(ROOT)}" for path in paths]
    assert len(named) > 80
    assert [name for name in named if not any(path.endswith(_endings(name)) for path in there)] == []


def _endings(name: str) -> tuple[str, ...]:
    """The name of a function may stand behind its module's: `measurement/broker.acl_rules`."""
    path = name.rstrip("/")
    return tuple(f"/{stem}{kind}" for stem in (path, path.rpartition(".")[0]) for kind in ("", ".py", ".ts") if stem)


@pytest.mark.parametrize("config", [Config, AgentConfig])
def test_each_setting_has_its_row(config: type[Config] | type[AgentConfig]) -> None:
    table = RUNNING.read_text().partition("\n## Settings\n")[2]
    rows = re.sub(r"`_([A-Z]+)`", r"`FIRSTBYTE_DB_\1`", table)
    assert [name for name in config.model_fields if f"`FIRSTBYTE_{name.upper()}`" not in rows] == []
