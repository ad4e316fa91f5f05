"""The settings as another process reads them, from an environment of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

ROOT = Path(__file__).resolve().parents[2]
PRODUCTION = {"FIRSTBYTE_BASE_URL": "https://firstbyte.example.com"}
LOOPBACK = {"FIRSTBYTE_BASE_URL": "http://127.0.0.1:8800"}
NAMES = (
    "SESSION_COOKIE_SECURE",
    "CSRF_COOKIE_SECURE",
    "SESSION_COOKIE_NAME",
    "CSRF_COOKIE_NAME",
    "SECURE_SSL_REDIRECT",
    "SECURE_HSTS_SECONDS",
    "SESSION_COOKIE_HTTPONLY",
    "SESSION_COOKIE_SAMESITE",
    "DEBUG",
    "EMAIL_BACKEND",
    "EMAIL_HOST",
    "EMAIL_PORT",
    "EMAIL_USE_TLS",
)


def run(*command: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, check=False
    )


def settings_with(**environment: str) -> dict[str, Any]:
    code = (
        f"import json; from backend import settings; "
        f"print(json.dumps({{name: getattr(settings, name, None) for name in {NAMES!r}}}))"
    )
    done = run("-c", code, **environment)
    assert done.returncode == 0, done.stderr
    values: dict[str, Any] = json.loads(done.stdout)
    return values


@pytest.mark.parametrize("environment", [PRODUCTION, LOOPBACK], ids=["https", "loopback"])
def test_djangos_deployment_checks_are_clean(environment: dict[str, str]) -> None:
    done = run("manage.py", "check", "--deploy", "--fail-level", "WARNING", **environment)
    assert done.returncode == 0, done.stderr


def test_plain_http_beyond_loopback_is_complained_about() -> None:
    done = run(
        "manage.py", "check", "--deploy", "--fail-level", "WARNING", FIRSTBYTE_BASE_URL="http://monitor.example:8800"
    )
    assert done.returncode != 0
    assert "security.W012" in done.stderr


def test_over_https_cookies_are_bound_to_this_host() -> None:
    values = settings_with(**PRODUCTION)
    assert values["SESSION_COOKIE_SECURE"] is values["CSRF_COOKIE_SECURE"] is values["SECURE_SSL_REDIRECT"] is True
    assert values["SESSION_COOKIE_NAME"].startswith("__Host-")
    assert values["SECURE_HSTS_SECONDS"] == 31_536_000
    assert values["SESSION_COOKIE_HTTPONLY"] is True
    assert values["SESSION_COOKIE_SAMESITE"] == "Lax"
    assert values["DEBUG"] is False


def test_on_loopback_a_browser_can_sign_in_over_plain_http() -> None:
    values = settings_with(**LOOPBACK)
    assert values["SESSION_COOKIE_SECURE"] is values["SECURE_SSL_REDIRECT"] is False
    assert not values["SESSION_COOKIE_NAME"].startswith("__Host-")


def test_two_services_on_loopback_do_not_end_each_others_sessions() -> None:
    one, other = settings_with(**LOOPBACK), settings_with(FIRSTBYTE_BASE_URL="http://127.0.0.1:8801")
    assert one["SESSION_COOKIE_NAME"] != other["SESSION_COOKIE_NAME"]
    assert one["CSRF_COOKIE_NAME"] != other["CSRF_COOKIE_NAME"]


def test_a_mail_server_is_one_address() -> None:
    values = settings_with(FIRSTBYTE_EMAIL_URL="smtp+tls://me:pass%40word@mail.example")
    assert (values["EMAIL_HOST"], values["EMAIL_PORT"], values["EMAIL_USE_TLS"]) == ("mail.example", 587, True)
    assert settings_with()["EMAIL_BACKEND"].endswith("console.EmailBackend")


def test_a_faulty_environment_ends_with_one_readable_list() -> None:
    done = run("manage.py", "check", FIRSTBYTE_DB_PORT="many", FIRSTBYTE_BASE_URL="nowhere")
    assert done.returncode != 0
    assert "FIRSTBYTE_DB_PORT: Input should be a valid integer" in done.stderr
    assert "FIRSTBYTE_BASE_URL: must be an origin" in done.stderr


@pytest.mark.parametrize("name", ["SECRET_KEY", "FERNET_KEYS"])
def test_a_missing_secret_is_an_error_that_names_it(name: str) -> None:
    done = run("manage.py", "check", **{f"FIRSTBYTE_{name}": ""})
    assert done.returncode != 0
    assert f"FIRSTBYTE_{name}" in done.stderr


def test_files_can_be_collected_without_any_secret() -> None:
    done = run(
        "manage.py", "collectstatic", "--dry-run", "--noinput", FIRSTBYTE_SECRET_KEY="", FIRSTBYTE_FERNET_KEYS=""
    )
    assert done.returncode == 0, done.stderr


def test_the_web_process_does_not_start_without_its_secrets() -> None:
    done = run("-c", "import backend.wsgi", FIRSTBYTE_SECRET_KEY="")
    assert done.returncode != 0
    assert "FIRSTBYTE_SECRET_KEY is not set" in done.stderr
    assert run("-c", "import backend.wsgi").returncode == 0


def test_the_web_process_and_the_loops_leave_what_was_imported_to_itself() -> None:
    seldom = "import gc; assert gc.get_freeze_count() > 10_000; assert gc.get_threshold()[0] > 700"
    loop = """
import django; django.setup()
from backend.runs.management.commands.scheduler import Command
Command.execute = lambda self, *args, **options: None
Command().run_from_argv(["manage.py", "scheduler"])
"""
    assert run("-c", f"import backend.wsgi; {seldom}").returncode == 0
    done = run("-c", f"{loop}{seldom}", DJANGO_SETTINGS_MODULE="backend.settings")
    assert done.returncode == 0, done.stderr


def test_only_the_web_process_has_a_pool_of_connections_and_ends_long_statements() -> None:
    pooled = """
from django.db import connection
options = connection.settings_dict["OPTIONS"]
sys.exit("pool" in options or "statement_timeout" in options["options"])
"""
    assert run("-c", f"import sys; import backend.wsgi{pooled}").returncode == 1
    loop = f"import sys; import django; django.setup(){pooled}"
    assert run("-c", loop, DJANGO_SETTINGS_MODULE="backend.settings", FIRSTBYTE_DB_POOL_SIZE="4").returncode == 0


def test_the_web_process_outlives_a_restart_of_the_database() -> None:
    code = """
import django; django.setup()
import psycopg
from django.db import connection
from backend.pooled import share_connections
share_connections()
def pid():
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (number,) = cursor.fetchone()
    connection.close()
    return number
first = pid()
assert pid() == first, "the pool lends the same connection again"
wanted = ("host", "port", "user", "password", "dbname")
other = {name: value for name, value in connection.get_connection_params().items() if name in wanted}
with psycopg.connect(**other, autocommit=True) as killer:
    killer.execute("SELECT pg_terminate_backend(%s, 5000)", [first])
assert pid() != first
connection.close_pool()
"""
    done = run("-c", code, FIRSTBYTE_DB_POOL_SIZE="1", DJANGO_SETTINGS_MODULE="backend.settings")
    assert done.returncode == 0, done.stderr


@pytest.mark.django_db
def test_a_process_that_stands_still_in_a_transaction_keeps_its_rows_from_nobody_for_long() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW idle_in_transaction_session_timeout")
        assert cursor.fetchone() == ("3min",)
