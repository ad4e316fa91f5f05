from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from backend.config import Config, load


@pytest.fixture
def configured(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Config]:
    def configure(**values: str) -> Config:
        for name, value in values.items():
            monkeypatch.setenv(f"FIRSTBYTE_{name}", value)
        return load()

    return configure


def test_a_secret_can_come_from_a_file(configured: Callable[..., Config], tmp_path: Path) -> None:
    (tmp_path / "password").write_text("from-a-file\n")
    assert configured(DB_PASSWORD_FILE=str(tmp_path / "password")).db_password.get_secret_value() == "from-a-file"


def test_a_file_that_is_not_there_is_named(configured: Callable[..., Config]) -> None:
    with pytest.raises(ImproperlyConfigured, match="FIRSTBYTE_DB_PASSWORD_FILE names a file that cannot be read"):
        configured(DB_PASSWORD_FILE="/nowhere")


def test_all_faults_are_told_at_once_and_no_value(configured: Callable[..., Config]) -> None:
    with pytest.raises(ImproperlyConfigured) as caught:
        configured(
            DB_PORT="many", PRIVATE_TARGETS="10.0.0.0/99", BASE_URL="https://x/path?hunter2", EMAIL_URL="hunter2"
        )
    text = str(caught.value)
    for name in ("FIRSTBYTE_DB_PORT", "FIRSTBYTE_PRIVATE_TARGETS", "FIRSTBYTE_BASE_URL", "FIRSTBYTE_EMAIL_URL"):
        assert name in text
    assert "hunter2" not in text


def test_an_empty_variable_is_an_absent_one(configured: Callable[..., Config]) -> None:
    config = configured(DB_PORT="", CA_FILE="", SLACK_ORIGINS="", EMAIL_FROM="")
    assert (config.db_port, config.ca_file, config.email_from) == (5432, None, "firstbyte@localhost")
    assert config.slack_origins[0] == "https://hooks.slack.com"


def test_a_fault_is_told_in_a_sentence_of_ours(configured: Callable[..., Config]) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"FIRSTBYTE_EMAIL_URL: must be smtp://"):
        configured(EMAIL_URL="imap://mail.example")


def test_secrets_stay_out_of_reprs(configured: Callable[..., Config]) -> None:
    config = configured(
        SECRET_KEY="hunter2", FERNET_KEYS="hunter2", DB_PASSWORD="hunter2", REDIS_URL="redis://:hunter2@x"
    )
    assert "hunter2" not in repr(config)


def test_lists_are_written_with_commas(configured: Callable[..., Config]) -> None:
    config = configured(ALLOWED_HOSTS="a.example, b.example", EXTRA_PORTS="8444,9443", FERNET_KEYS="new, old")
    assert config.allowed_hosts == ("a.example", "b.example")
    assert config.extra_ports == {8444, 9443}
    assert config.keys == ("new", "old")


@pytest.mark.parametrize("ports", ["80,http", "0", "99999"])
def test_ports_are_what_agents_take_for_ports(configured: Callable[..., Config], ports: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"FIRSTBYTE_EXTRA_PORTS.*ports from 1 to 65535"):
        configured(EXTRA_PORTS=ports)


@pytest.mark.parametrize("url", ["s3://host", "s3:///bucket", "https://host/bucket", "bucket"])
def test_a_bucket_has_a_host_and_a_name(configured: Callable[..., Config], url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="FIRSTBYTE_MEDIA_URL"):
        configured(MEDIA_URL=url)


def test_the_address_of_a_bucket_is_taken_apart(configured: Callable[..., Config]) -> None:
    config = configured(MEDIA_URL="s3://key:a%2Fb%40c@s3.example:9000/bucket/a/b?region=eu-central-1")
    assert config.object_storage == {
        "endpoint": "https://s3.example:9000",
        "bucket": "bucket",
        "prefix": "a/b",
        "region": "eu-central-1",
        "key": "key",
        "secret": "a/b@c",
    }
    assert "a%2Fb" not in repr(config)
    assert configured(MEDIA_URL="").object_storage is None


@pytest.mark.parametrize(
    ("url", "https", "loopback"),
    [
        ("https://firstbyte.example.com", True, False),
        ("http://127.0.0.1:8800", False, True),
        ("http://localhost:8800/", False, True),
        ("http://[::1]:8800", False, True),
        ("http://192.168.1.5:8800", False, False),
    ],
)
def test_the_base_url_says_how_browsers_come(
    configured: Callable[..., Config], url: str, https: bool, loopback: bool
) -> None:
    config = configured(BASE_URL=url)
    assert (config.https, config.loopback) == (https, loopback)
    assert config.origin.hostname in config.hosts


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("HTTPS://Watch.Example/", "https://watch.example"),
        ("https://watch.example:443", "https://watch.example"),
        ("https://watch.example:8443", "https://watch.example:8443"),
        ("http://[::1]:80/", "http://[::1]"),
        ("http://127.0.0.1:443", "http://127.0.0.1:443"),
    ],
)
def test_the_base_url_is_kept_as_browsers_say_it(configured: Callable[..., Config], url: str, origin: str) -> None:
    """A passkey says the origin that it was shown to: one that is written otherwise would never be the same."""
    assert configured(BASE_URL=url).base_url == origin
