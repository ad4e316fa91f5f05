import os
import re
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local.process import StepError
from deploy.local.settings import first_free, is_free, read_settings, settle
from workers.tests.ports import free_port


@pytest.fixture
def taken_port() -> Iterator[int]:
    """A port that somebody listens on for as long as the test runs."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_secrets_are_made_once_and_for_their_owner_only(tmp_path: Path) -> None:
    first, second = settle(tmp_path / "env"), settle(tmp_path / "env")
    assert (second.secret_key, second.fernet_keys) == (first.secret_key, first.fernet_keys)
    assert len(first.secret_key) > 50
    assert stat.S_IMODE(os.stat(tmp_path / "env").st_mode) == 0o600


def test_two_installations_have_different_secrets(tmp_path: Path) -> None:
    first, second = settle(tmp_path / "one"), settle(tmp_path / "two")
    assert first.secret_key != second.secret_key
    assert first.fernet_keys != second.fernet_keys


def test_secrets_do_not_appear_when_settings_are_printed(tmp_path: Path) -> None:
    settings = settle(tmp_path / "env")
    assert settings.secret_key not in repr(settings)
    assert settings.fernet_keys not in repr(settings)


def test_a_port_that_is_taken_by_now_is_chosen_again_and_the_secrets_stay(tmp_path: Path, taken_port: int) -> None:
    before, env = settle(tmp_path / "env"), tmp_path / "env"
    env.write_text(env.read_text().replace(f"SHOP_PORT={before.shop_port}\n", f"SHOP_PORT={taken_port}\n"))
    chosen = read_settings(env)
    assert chosen is not None
    assert chosen.shop_port == taken_port
    after = settle(env)
    assert after.shop_port not in (taken_port, after.cdn_port, after.web_port)
    assert after.secret_key == before.secret_key


def test_a_port_that_was_asked_for_is_taken_or_said_to_be_in_use(tmp_path: Path, taken_port: int) -> None:
    free = free_port()
    assert settle(tmp_path / "env", web_port=free).base_url == f"http://127.0.0.1:{free}"
    with pytest.raises(StepError, match=f"Port {taken_port} is taken"):
        settle(tmp_path / "env", web_port=taken_port)


def test_a_port_taken_on_either_loopback_address_is_not_free(taken_port: int) -> None:
    assert not is_free(taken_port)
    assert first_free(taken_port) > taken_port


def test_a_file_that_lost_a_line_is_named_with_what_it_lacks(tmp_path: Path) -> None:
    settle(tmp_path / "env")
    lines = (tmp_path / "env").read_text().splitlines()
    (tmp_path / "env").write_text("\n".join(line for line in lines if "FERNET_KEYS=" not in line))
    with pytest.raises(StepError, match="lacks FIRSTBYTE_FERNET_KEYS"):
        read_settings(tmp_path / "env")


@pytest.mark.parametrize("port", ["eighty", "8811x", "0", "65536"])
def test_a_file_with_a_port_that_is_none_is_named_with_the_line(tmp_path: Path, port: str) -> None:
    path = tmp_path / "env"
    settle(path)
    path.write_text(re.sub(r"WEB_PORT=\d+", f"WEB_PORT={port}", path.read_text()))
    with pytest.raises(StepError, match="env: FIRSTBYTE_WEB_PORT must be a number from 1 to 65535"):
        read_settings(path)


def test_before_the_first_start_there_are_no_settings(tmp_path: Path) -> None:
    assert read_settings(tmp_path / "env") is None
