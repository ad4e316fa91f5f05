"""Which code an agent runs can be told from what it says of itself."""

import shutil
from pathlib import Path

from workers.version import VERSION, build, build_of


def made(folder: Path) -> Path:
    for name in ("run.py", "probes/tls.py", "probes/tests/test_tls.py", "bench/soak.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"NAME = '{name}'\n")
    return folder


def test_a_copy_is_the_same_build_and_changed_code_another(tmp_path: Path) -> None:
    code = made(tmp_path / "workers")
    copy = shutil.copytree(code, tmp_path / "elsewhere" / "copied")
    assert build_of(copy) == build_of(code)
    (copy / "probes" / "tls.py").write_text("NAME = 'other'\n")
    assert build_of(copy) != build_of(code)


def test_code_at_another_place_is_another_build(tmp_path: Path) -> None:
    code = made(tmp_path / "workers")
    before = build_of(code)
    (code / "run.py").rename(code / "runs.py")
    assert build_of(code) != before


def test_what_images_leave_out_and_bytecode_are_no_part_of_it(tmp_path: Path) -> None:
    code = made(tmp_path / "workers")
    before = build_of(code)
    (code / "__pycache__").mkdir()
    (code / "__pycache__" / "run.cpython-311.pyc").write_bytes(b"code")
    for left_out in ("probes/tests", "bench"):
        assert f"**/{Path(left_out).name}\n" in (Path(__file__).parents[2] / ".dockerignore").read_text()
        shutil.rmtree(code / left_out)
    assert build_of(code) == before


def test_an_agent_is_of_the_build_of_all_that_a_region_receives() -> None:
    assert build() == f"{VERSION}+{build_of(Path(__file__).parents[1])}"
