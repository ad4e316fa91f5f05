import os
from pathlib import Path

import pytest

from deploy.local.places import Places, make_sockets, make_state, mirror
from deploy.local.process import StepError


def test_the_sockets_lie_in_a_short_folder_of_this_installation_alone(tmp_path: Path) -> None:
    one, two = Places(code=tmp_path / ("deep" * 40)), Places(code=tmp_path / "other")
    assert one.sockets != two.sockets
    # The limit of a unix socket's path, with PostgreSQL's longest name in it.
    assert len(f"{one.sockets}/.s.PGSQL.5432.lock") < 107


def test_state_and_sockets_are_for_their_owner_only(tmp_path: Path) -> None:
    places = Places(code=tmp_path)
    make_state(places)
    make_sockets(places)
    try:
        folders = (places.state, places.logs, places.home, places.sockets)
        assert {oct(folder.stat().st_mode & 0o777) for folder in folders} == {"0o700"}
    finally:
        places.sockets.rmdir()


def test_a_folder_of_sockets_that_is_a_link_to_elsewhere_is_refused(tmp_path: Path) -> None:
    places = Places(code=tmp_path)
    places.sockets.symlink_to(tmp_path)
    try:
        with pytest.raises(StepError, match="remove it"):
            make_sockets(places)
    finally:
        places.sockets.unlink()


def test_a_copy_follows_its_source_and_keeps_what_is_no_code(tmp_path: Path) -> None:
    source, copy = tmp_path / "source", tmp_path / "copy"
    for path, text in {"a/kept.py": "1", "a/gone.py": "2", ".git/HEAD": "ref", ".run/env": "secret"}.items():
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_text(text)
    mirror(source, copy)
    (copy / "frontend" / "node_modules").mkdir(parents=True)
    (copy / ".run").mkdir()
    (source / "a" / "gone.py").unlink()
    (source / "a" / "kept.py").write_text("3")
    (source / "frontend").mkdir()
    mirror(source, copy)
    found = sorted(str(path.relative_to(copy)) for path in copy.rglob("*"))
    assert found == [".run", "a", "a/kept.py", "frontend", "frontend/node_modules"]
    assert (copy / "a" / "kept.py").read_text() == "3"


def test_a_copy_follows_what_turned_from_a_file_into_a_folder_and_back(tmp_path: Path) -> None:
    source, copy = tmp_path / "source", tmp_path / "copy"
    source.mkdir()
    (source / "thing").write_text("a file")
    mirror(source, copy)
    (source / "thing").unlink()
    (source / "thing").mkdir()
    (source / "thing" / "inner").write_text("x")
    mirror(source, copy)
    assert (copy / "thing" / "inner").read_text() == "x"
    (source / "thing" / "inner").unlink()
    (source / "thing").rmdir()
    (source / "thing").write_text("a file again")
    mirror(source, copy)
    assert (copy / "thing").read_text() == "a file again"


def test_a_copied_program_stays_one(tmp_path: Path) -> None:
    source, copy = tmp_path / "source", tmp_path / "copy"
    source.mkdir()
    (source / "dev").write_text("#!/bin/sh\n")
    (source / "dev").chmod(0o755)
    mirror(source, copy)
    assert os.access(copy / "dev", os.X_OK)
