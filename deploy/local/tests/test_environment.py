from pathlib import Path

import pytest

from deploy.local import environment
from deploy.local.places import Places
from deploy.local.settings import settle

OUTER = {
    "HOME": "/home/guest",
    "https_proxy": "http://proxy:3128",
    "NO_PROXY": "localhost",
    "PIP_CERT": "/etc/ssl/ca.pem",
    "npm_config_registry": "https://npm.example.com/",
    "SSL_CERT_FILE": "/etc/ssl/ca.pem",
    "PYTHONPATH": "/somewhere",
    "DJANGO_SETTINGS_MODULE": "other.settings",
    "AWS_SECRET_ACCESS_KEY": "x",
}


def test_pip_and_npm_get_the_callers_proxy_certificates_and_caches_and_nothing_else(tmp_path: Path) -> None:
    places = Places(code=tmp_path)
    added = {
        name: value
        for name, value in environment.registry(places, OUTER).items()
        if environment.base(places).get(name) != value
    }
    assert set(added) == set(OUTER) - {"PYTHONPATH", "DJANGO_SETTINGS_MODULE", "AWS_SECRET_ACCESS_KEY"}


def test_services_get_no_proxy_since_chromium_would_measure_through_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    settings = settle(tmp_path / "env")
    places = Places(code=tmp_path)
    given = {"agent_token": "t", "broker_url": "unix:///x"}
    for env in (environment.service(places, settings), environment.agent(places, settings, "local-a", given)):
        assert not [name for name in env if "proxy" in name.lower()]


def test_an_agent_gets_its_credentials_and_no_secret_of_the_service(tmp_path: Path) -> None:
    settings = settle(tmp_path / "env")
    given = {"agent_token": "token-of-a", "broker_url": "unix://a:b@/x"}
    env = environment.agent(Places(code=tmp_path), settings, "local-a", given)
    assert env["FIRSTBYTE_AGENT_TOKEN"] == "token-of-a"
    assert env["FIRSTBYTE_REGION"] == "local-a"
    assert not [name for name in env if name.startswith(("FIRSTBYTE_DB", "FIRSTBYTE_SECRET", "FIRSTBYTE_FERNET"))]


def test_only_loopback_may_be_measured_besides_the_internet(tmp_path: Path) -> None:
    settings = settle(tmp_path / "env")
    env = environment.instruments(Places(code=tmp_path), settings)
    assert env["FIRSTBYTE_PRIVATE_TARGETS"] == "127.0.0.0/8,::1/128"
    assert env["FIRSTBYTE_EXTRA_PORTS"] == f"{settings.shop_port},{settings.cdn_port}"


def test_the_command_asks_the_service_here_or_the_one_its_caller_names(tmp_path: Path) -> None:
    settings, places = settle(tmp_path / "env"), Places(code=tmp_path)
    outer = {**OUTER, "FIRSTBYTE_TOKEN": "fb_api_x", "FIRSTBYTE_SECRET_KEY": "other"}
    here = environment.command(places, settings, outer)
    there = environment.command(places, settings, {**outer, "FIRSTBYTE_URL": "https://monitor.example"})
    assert (here["FIRSTBYTE_URL"], here["FIRSTBYTE_TOKEN"]) == (settings.base_url, "fb_api_x")
    assert there == {**here, "FIRSTBYTE_URL": "https://monitor.example"}
    assert environment.command(places, None, outer) == {**environment.base(places), "FIRSTBYTE_TOKEN": "fb_api_x"}
    assert here.keys() - environment.instruments(places, settings).keys() == {"FIRSTBYTE_URL", "FIRSTBYTE_TOKEN"}


def test_the_command_heeds_what_an_operator_of_an_agent_sets(tmp_path: Path) -> None:
    """Such as the command that *Add a region* shows, and the ranges that a refusal tells to allow."""
    joined = {
        "FIRSTBYTE_REGION": "eu-west",
        "FIRSTBYTE_AGENT_TOKEN_FILE": "/run/token",
        "FIRSTBYTE_SPOOL_DIR": "/spool",
    }
    ranges = {"FIRSTBYTE_PRIVATE_TARGETS": "10.0.0.0/8"}
    env = environment.command(Places(code=tmp_path), settle(tmp_path / "env"), {**OUTER, **joined, **ranges})
    assert (joined | ranges).items() <= env.items()
