"""Authorities that a person names."""

from pathlib import Path

import pytest

from workers.browser.trust import trust_in_home
from workers.tests.browser.sites import write_authority


def test_an_authority_is_found_where_its_file_was_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_authority(tmp_path / "ca.pem")
    trust_in_home(tmp_path / "home", Path("ca.pem"))
    assert (tmp_path / "home" / ".pki" / "nssdb" / "cert9.db").exists()
