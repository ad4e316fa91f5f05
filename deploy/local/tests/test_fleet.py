from pathlib import Path
from typing import Any

import pytest

from deploy.local import fleet
from deploy.local.process import StepError


def said(password: str | None, *regions: dict[str, str]) -> dict[str, Any]:
    return {"admin": {"email": "admin@localhost.localdomain", "password": password}, "regions": list(regions)}


def region(code: str, token: str) -> dict[str, str]:
    return {"code": code, "name": code, "agent_token": token, "broker_url": f"unix://{token}@/x"}


def test_what_is_shown_once_is_kept_when_it_is_not_shown_again() -> None:
    known = fleet.merge({}, said("first-password", region("local-a", "t1")))
    assert fleet.merge(known, said(None, {"code": "local-a", "name": "A"})) == known


def test_new_secrets_replace_old_ones() -> None:
    known = fleet.merge({}, said("p", region("local-a", "t1"), region("local-b", "t2")))
    merged = fleet.merge(known, said(None, region("local-a", "t3")))
    assert merged["regions"]["local-a"]["agent_token"] == "t3"
    assert merged["regions"]["local-b"]["agent_token"] == "t2"


def test_the_password_of_another_login_is_not_shown_as_this_ones() -> None:
    known = {"admin": {"email": "someone@example.com", "password": "theirs"}, "regions": {}}
    assert fleet.merge(known, said(None))["admin"]["password"] is None


def test_before_the_first_start_there_is_no_login(tmp_path: Path) -> None:
    assert fleet.read_login(tmp_path / "fleet.json") is None


def test_a_region_without_credentials_is_named(tmp_path: Path) -> None:
    with pytest.raises(StepError, match="no credentials of the region local-a"):
        fleet.credentials(tmp_path / "fleet.json", "local-a")
