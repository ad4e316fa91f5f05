"""What the operator of a region sets, in the environment.

Any name may be given as <NAME>_FILE instead (Docker secrets).
"""

import os
import re
import socket
import ssl
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from workers.measurement.addresses import Network, parse_networks
from workers.measurement.broker import broker_url
from workers.measurement.routes import REGION_PATTERN
from workers.measurement.target import parse_ports

_PREFIX = "FIRSTBYTE_"


class ConfigError(ValueError):
    """The environment does not make an agent; the text is one readable list of faults, without secrets."""


def _region(code: str) -> str:
    if not re.fullmatch(REGION_PATTERN, code):
        raise ValueError("must be the region's code: 2 to 20 lower-case letters, digits and inner hyphens (eu-west)")
    return code


def _service(url: str) -> str:
    if not re.match(r"https?://[^/\s]", url):
        raise ValueError("must be the service's address, with https:// and its host (https://firstbyte.example.com)")
    return url


def _known_broker(url: SecretStr) -> SecretStr:
    broker_url(url.get_secret_value())
    return url


def _authority(path: Path) -> Path:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except ssl.SSLError:
        raise ValueError(f"{path} holds no certificates (PEM)") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    return path


def _ports(text: object) -> object:
    return parse_ports(text) if isinstance(text, str) else text


def _networks(text: object) -> object:
    return parse_networks(text) if isinstance(text, str) else text


class AgentConfig(BaseSettings):
    """One agent. `private_targets` may be measured besides the public Internet; `ca_file` (PEM) is an extra authority.

    A browser whose sandbox does not work on this machine loads private targets only, unless `allow_unsandboxed`.
    """

    model_config = SettingsConfigDict(env_prefix=_PREFIX, env_ignore_empty=True, frozen=True, extra="ignore")

    region: Annotated[str, AfterValidator(_region)]
    service_url: Annotated[str, AfterValidator(_service)]
    agent_token: SecretStr
    broker_url: Annotated[SecretStr, AfterValidator(_known_broker)]
    spool_dir: Path
    browsers: int = Field(default=1, ge=1, le=16)
    probes_in_flight: int = Field(default=200, ge=1, le=1000)
    chromium: Path | None = None
    ca_file: Annotated[Path, AfterValidator(_authority)] | None = None
    private_targets: Annotated[tuple[Network, ...], NoDecode, BeforeValidator(_networks)] = ()
    extra_ports: Annotated[frozenset[int], NoDecode, BeforeValidator(_ports)] = frozenset()
    allow_unsandboxed: bool = False
    agent_name: str = Field(default_factory=socket.gethostname, min_length=1, max_length=100)


def load_config() -> AgentConfig:
    """The configuration of this process. Raises ConfigError naming every variable that is missing or wrong."""
    try:
        return AgentConfig(**_from_files())
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False, include_context=False)
        lines = [f"  {_PREFIX}{str(fault['loc'][0]).upper()}: {_sentence(fault['msg'])}" for fault in faults]
        raise ConfigError("\n".join(["This agent is not configured:", *lines])) from None


def _from_files() -> dict[str, Any]:
    given = {field: os.environ.get(f"{_PREFIX}{field.upper()}_FILE") for field in AgentConfig.model_fields}
    return {field: _read(field, path) for field, path in given.items() if path}


def _read(field: str, path: str) -> str:
    try:
        return Path(path).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{_PREFIX}{field.upper()}_FILE: {path} cannot be read: {error}") from error


def _sentence(message: str) -> str:
    plain = message.removeprefix("Value error, ")
    return "is missing; set it, or the same name with _FILE" if plain == "Field required" else plain
