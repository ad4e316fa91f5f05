"""What the environment says: `FIRSTBYTE_<NAME>`, or the file that `FIRSTBYTE_<NAME>_FILE` names."""

import os
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured
from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from workers.measurement.addresses import Network, parse_networks
from workers.measurement.target import parse_ports

PREFIX = "FIRSTBYTE_"
# Of the provider that people sign in by, in addresses.
PROVIDER_ID = "sso"
# Secrets and addresses are short; a larger file is a mistake (a key ring, a log), not a setting.
MAX_FILE_BYTES = 64 * 1024
# How an S3-compatible storage is reached, by the scheme of its URL.
_ENDPOINTS = {"s3": "https", "s3+http": "http"}

CommaList = Annotated[tuple[str, ...], NoDecode]


class Config(BaseSettings):
    """The settings of the service. Every secret may be absent: commands that need none (collectstatic) run without."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, extra="ignore", frozen=True)

    secret_key: SecretStr = SecretStr("")
    fernet_keys: SecretStr = SecretStr("")
    db_host: str = ""
    db_port: Annotated[int, Field(ge=1, le=65535)] = 5432
    db_name: str = "firstbyte"
    db_user: str = "firstbyte"
    db_password: SecretStr = SecretStr("")
    db_pool_size: Annotated[int, Field(ge=0, le=100)] = 16
    redis_url: SecretStr = SecretStr("redis://127.0.0.1:6379/0")
    public_broker_url: SecretStr = SecretStr("")
    base_url: str = "http://127.0.0.1:8800"
    allowed_hosts: CommaList = ()
    trust_proxy: bool = False
    media_root: Path = Path(".run/media")
    media_url: SecretStr = SecretStr("")
    retention_days: Annotated[int, Field(ge=1, le=3650)] = 30
    # A year, and a month in which to look back at it.
    audit_retention_days: Annotated[int, Field(ge=1, le=3650)] = 400
    api_requests_per_minute: Annotated[int, Field(ge=1, le=1_000_000)] = 600
    email_url: SecretStr = SecretStr("")
    email_from: str = "firstbyte@localhost"
    oidc_issuer: str = ""
    oidc_client_id: str = ""
    oidc_client_secret: SecretStr = SecretStr("")
    oidc_name: str = "single sign-on"
    metrics_token: SecretStr = SecretStr("")
    debug: bool = False
    extra_ports: Annotated[frozenset[int], NoDecode] = frozenset()
    private_targets: Annotated[tuple[Network, ...], NoDecode] = ()
    ca_file: Path | None = None
    slack_origins: CommaList = ("https://hooks.slack.com", "https://hooks.slack-gov.com")
    slack_api: str = "https://slack.com/api"

    @field_validator("allowed_hosts", "slack_origins", mode="before")
    @classmethod
    def _split(cls, value: str | tuple[str, ...]) -> tuple[str, ...]:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("extra_ports", mode="before")
    @classmethod
    def _ports(cls, value: str | frozenset[int]) -> frozenset[int]:
        return parse_ports(value) if isinstance(value, str) else value

    @field_validator("private_targets", mode="before")
    @classmethod
    def _networks(cls, value: str | tuple[Network, ...]) -> tuple[Network, ...]:
        return parse_networks(value) if isinstance(value, str) else value

    @field_validator("base_url")
    @classmethod
    def _origin(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.query:
            raise ValueError("must be an origin such as https://firstbyte.example.com, without a path")
        # As browsers say it (RFC 6454, 6.2): in lower case, and no port that goes without saying.
        port = ":443" if parts.scheme == "https" else ":80"
        return f"{parts.scheme}://{parts.netloc.lower().removesuffix(port)}"

    @field_validator("email_url")
    @classmethod
    def _mail_server(cls, value: SecretStr) -> SecretStr:
        parts = urlsplit(value.get_secret_value())
        if value and not (parts.scheme in ("smtp", "smtps", "smtp+tls") and parts.hostname) and parts.scheme != "file":
            raise ValueError("must be smtp://, smtp+tls:// or smtps:// with a host, or file:///directory")
        return value

    @field_validator("oidc_issuer")
    @classmethod
    def _issuer(cls, value: str) -> str:
        parts = urlsplit(value)
        is_safe = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
        if value and not (is_safe and parts.hostname and not parts.query and not parts.fragment):
            raise ValueError("must be the https:// address of a provider of OpenID Connect, without ? and #")
        return value.rstrip("/")

    @field_validator("media_url")
    @classmethod
    def _bucket(cls, value: SecretStr) -> SecretStr:
        parts = urlsplit(value.get_secret_value())
        if value and not (parts.scheme in _ENDPOINTS and parts.hostname and parts.path.strip("/")):
            raise ValueError("must be s3:// or s3+http:// with a host and a bucket: s3://KEY:SECRET@HOST/BUCKET/PREFIX")
        return value

    @property
    def origin(self) -> SplitResult:
        return urlsplit(self.base_url)

    @property
    def mail_server(self) -> SplitResult:
        return urlsplit(self.email_url.get_secret_value())

    @property
    def oidc_apps(self) -> list[dict[str, Any]]:
        """The provider as allauth has it; none where none is set."""
        app = {
            "provider_id": PROVIDER_ID,
            "name": self.oidc_name,
            "client_id": self.oidc_client_id,
            "secret": self.oidc_client_secret.get_secret_value(),
            "settings": {"server_url": self.oidc_issuer},
        }
        return [app] if self.oidc_issuer else []

    @property
    def object_storage(self) -> dict[str, str] | None:
        """What `ObjectStorage` needs; None where pictures lie on this machine's disk."""
        if not self.media_url:
            return None
        parts = urlsplit(self.media_url.get_secret_value())
        bucket, _, prefix = unquote(parts.path).strip("/").partition("/")
        return {
            "endpoint": f"{_ENDPOINTS[parts.scheme]}://{parts.netloc.rpartition('@')[2]}",
            "bucket": bucket,
            "prefix": prefix,
            "region": dict(parse_qsl(parts.query)).get("region", "us-east-1"),
            "key": unquote(parts.username or ""),
            "secret": unquote(parts.password or ""),
        }

    @property
    def https(self) -> bool:
        return self.origin.scheme == "https"

    @property
    def loopback(self) -> bool:
        """Whether browsers reach the service on this machine only, where TLS cannot be had and is not needed."""
        return is_loopback(self.origin.hostname or "")

    @property
    def hosts(self) -> list[str]:
        """Host names that are answered: the base URL's own, those set, and this machine's own health checks."""
        return list(dict.fromkeys([self.origin.hostname or "", *self.allowed_hosts, "127.0.0.1", "localhost"]))

    @property
    def keys(self) -> tuple[str, ...]:
        """Fernet keys, newest first: the first encrypts, all decrypt."""
        return tuple(part.strip() for part in self.fernet_keys.get_secret_value().split(",") if part.strip())

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, _FileSource(settings_cls)


class _FileSource(PydanticBaseSettingsSource):
    """`FIRSTBYTE_DB_PASSWORD_FILE=/run/secrets/db_password`, as container platforms hand secrets over."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        name = f"{PREFIX}{field_name.upper()}_FILE"
        path = os.environ.get(name)
        if not path:
            return None, field_name, False
        try:
            with Path(path).open("rb") as file:
                return file.read(MAX_FILE_BYTES).decode().strip(), field_name, False
        except (OSError, UnicodeDecodeError) as error:
            raise ImproperlyConfigured(f"{name} names a file that cannot be read: {error}") from error

    def __call__(self) -> dict[str, Any]:
        values = (
            (name, self.get_field_value(field, name)[0]) for name, field in self.settings_cls.model_fields.items()
        )
        return {name: value for name, value in values if value is not None}


def load() -> Config:
    """The settings. Raises ImproperlyConfigured that names every faulty variable and what is wrong, never its value."""
    try:
        return Config()
    except ValidationError as error:
        faults = [
            f"{PREFIX}{str(fault['loc'][0]).upper()}: {fault['msg'].removeprefix('Value error, ')}"
            for fault in error.errors(include_input=False)
        ]
        raise ImproperlyConfigured("The environment cannot be used:\n  " + "\n  ".join(faults)) from error


def is_loopback(host: str) -> bool:
    """Whether a host name or literal address is this machine itself."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
