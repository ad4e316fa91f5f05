"""Django's settings for every place the service runs in; what differs comes from the environment by `config`."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from backend.config import load

CONFIG = load()
BASE_DIR = Path(__file__).resolve().parent.parent

SECRET_KEY = CONFIG.secret_key.get_secret_value()
FERNET_KEYS = CONFIG.keys
DEBUG = CONFIG.debug
ALLOWED_HOSTS = CONFIG.hosts
BASE_URL = CONFIG.base_url
REDIS_URL = CONFIG.redis_url.get_secret_value()
# How agents reach the broker, when it is another way than ours; their own account takes the place of any in it.
PUBLIC_BROKER_URL = CONFIG.public_broker_url.get_secret_value() or REDIS_URL
METRICS_TOKEN = CONFIG.metrics_token.get_secret_value()
RETENTION_DAYS = CONFIG.retention_days
AUDIT_RETENTION_DAYS = CONFIG.audit_retention_days
API_REQUESTS_PER_MINUTE = CONFIG.api_requests_per_minute
EXTRA_PORTS = CONFIG.extra_ports
PRIVATE_TARGETS = CONFIG.private_targets
CA_FILE = CONFIG.ca_file
# Where a Slack webhook may lead. An operator names others for what speaks as Slack does.
SLACK_ORIGINS = CONFIG.slack_origins
# Where Slack apps are spoken for.
SLACK_API = CONFIG.slack_api

ROOT_URLCONF = "backend.urls"
WSGI_APPLICATION = "backend.wsgi.application"
INSTALLED_APPS = [
    "backend.accounts",
    "backend.sites",
    "backend.fleet",
    "backend.runs",
    "backend.alerts",
    "backend.compare",
    "backend.gates",
    "backend.experiments",
    "backend.status",
    "backend.weekly",
    "backend.api",
    "backend.web",
    "backend.processes",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.forms",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "backend.web.middleware.request_id",
    "backend.web.middleware.security_headers",
    "backend.api.middleware.api_answers",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    # A forgotten view asks for a login. Doors with other keys (the agents' API, health) say @login_not_required.
    "backend.web.middleware.LoginRequired",
    "backend.web.middleware.time_zone",
    "backend.web.middleware.audited_address",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "backend.web.middleware.form_address",
    "backend.gone.Gone",
]
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "backend.web.context.frame",
            ],
            "builtins": ["backend.web.templatetags.form_tokens"],
        },
    }
]

# Forms look like ours everywhere, also where allauth makes them (templates/django/forms).
FORM_RENDERER = "django.forms.renderers.TemplatesSetting"


def _options(told: Mapping[str, str]) -> str:
    """What each session of the database is told at its beginning."""
    return " ".join(f"-c {name}={value}" for name, value in told.items())


# Whoever stands still in the middle of a transaction, or is out of reach, must not keep locked rows from all others: a
# judge computes for a minute at most. Where the database is elsewhere, it asks now and then whether we are still there.
_SESSION = {
    "idle_in_transaction_session_timeout": "3min",
    "tcp_keepalives_idle": "30",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
}
DATABASES: dict[str, dict[str, Any]] = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": CONFIG.db_host,
        "PORT": CONFIG.db_port,
        "NAME": CONFIG.db_name,
        "USER": CONFIG.db_user,
        "PASSWORD": CONFIG.db_password.get_secret_value(),
        "CONN_MAX_AGE": 0,
        # Asked when a connection is taken from the pool: PostgreSQL may have been restarted since.
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {"connect_timeout": 5, "options": _options(_SESSION)},
    }
}
# What web processes add (`backend.pooled`), whose threads share connections. Other processes hold one each.
DATABASE_POOL: dict[str, Any] = {}
if CONFIG.db_pool_size:
    DATABASE_POOL = {
        "pool": {"min_size": 1, "max_size": CONFIG.db_pool_size, "timeout": 5},
        # A page or a batch of results that takes longer than gunicorn waits for its worker helps nobody.
        "options": _options(_SESSION | {"statement_timeout": "25s"}),
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# An underscore cannot be part of a region's code, so no region's broker account reaches these keys.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "_cache",
    }
}

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True
USE_THOUSAND_SEPARATOR = True

STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / ".run" / "static"
MEDIA_ROOT = CONFIG.media_root
STORAGES: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": "backend.object_storage.ObjectStorage", "OPTIONS": CONFIG.object_storage}
    if CONFIG.object_storage
    else {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
# Without a manifest (nothing was collected yet) files are served from where they lie, so that a checkout runs at once.
if not (STATIC_ROOT / "staticfiles.json").exists():
    STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    WHITENOISE_USE_FINDERS = True
    warnings.filterwarnings("ignore", "No directory at", UserWarning)

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "web:sites"
ACCOUNT_ADAPTER = "backend.accounts.adapter.AccountAdapter"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
# The operator makes accounts; an address is right because its owner can sign in, not because a mail was answered.
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGOUT_REDIRECT_URL = "account_login"
ACCOUNT_PREVENT_ENUMERATION = True
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_DEFAULT_HTTP_PROTOCOL = CONFIG.origin.scheme
# Limits count by address: behind a proxy that is the one it names, else the peer's own.
ALLAUTH_TRUSTED_PROXY_COUNT = int(CONFIG.trust_proxy)
ACCOUNT_RATE_LIMITS = {"login_failed": "10/m/ip,5/5m/key", "reset_password": "20/h/ip,5/h/key"}

SOCIALACCOUNT_ADAPTER = "backend.accounts.single_sign_on.SingleSignOnAdapter"
# A link leads there, since `form-action` of the CSP holds for where a form's answer redirects to, too. Whoever is made
# to follow it comes in as themselves: `state` and PKCE see to it.
SOCIALACCOUNT_LOGIN_ON_GET = True
# What people see of it; empty where there is no provider.
OIDC_NAME = CONFIG.oidc_name if CONFIG.oidc_issuer else ""
SOCIALACCOUNT_PROVIDERS: dict[str, dict[str, Any]] = {"openid_connect": {"APPS": CONFIG.oidc_apps}}

MFA_ADAPTER = "backend.accounts.second_factor.SecondFactorAdapter"
MFA_FORMS = {
    "authenticate": "backend.accounts.second_factor.CodeForm",
    "authenticate_webauthn": "backend.accounts.passkeys.SecondStepForm",
    "activate_totp": "backend.accounts.second_factor.FirstCodeForm",
}
MFA_SUPPORTED_TYPES = ["recovery_codes", "totp", "webauthn"]
MFA_PASSKEY_LOGIN_ENABLED = True
# After the password too: what a session was asked last opens either door, and one of them is open to everybody.
MFA_WEBAUTHN_USER_VERIFICATION = "required"
# A sign-in asks twice. Nothing can be guessed there: this keeps one address from filling the table of sessions.
MFA_RATE_LIMITS = {"webauthn_login": "60/m/ip"}
MFA_TOTP_ISSUER = "Firstbyte"
# RFC 6238, 5.2: at most one step of 30 s for slow hands and clocks that are off.
MFA_TOTP_TOLERANCE = 1
MFA_RECOVERY_CODES_SHOW_ONCE = True
# As above: no address is ever asked to answer a mail.
MFA_ALLOW_UNVERIFIED_EMAIL = True

# A cookie with the __Host- prefix cannot be set by a neighbouring host name; browsers take it over HTTPS only.
_COOKIE = "__Host-" if CONFIG.https else ""
# Cookies know no ports (RFC 6265, 8.5): of two services on loopback each would end the other's sessions.
_PORT = f"-{CONFIG.origin.port}" if CONFIG.loopback and CONFIG.origin.port else ""
SESSION_COOKIE_NAME = f"{_COOKIE}firstbyte-session{_PORT}"
SESSION_COOKIE_AGE = 14 * 24 * 3600
SESSION_COOKIE_SECURE = CONFIG.https
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_NAME = f"{_COOKIE}firstbyte-csrf{_PORT}"
CSRF_COOKIE_SECURE = CONFIG.https
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_TRUSTED_ORIGINS = [BASE_URL]
CSRF_FAILURE_VIEW = "backend.web.views.errors.csrf_failure"

SECURE_SSL_REDIRECT = CONFIG.https
# Probes of the platform, and agents beside the service, come by plain HTTP from within. Agents follow no redirect.
SECURE_REDIRECT_EXEMPT = [r"^(livez|readyz|healthz|metrics)$", r"^api/v1/agent/"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if CONFIG.trust_proxy else None
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if CONFIG.https else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = CONFIG.https
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# W021: a domain on the preload list cannot leave it for months; that is its owner's decision, not ours.
SILENCED_SYSTEM_CHECKS = ["security.W021"]
if CONFIG.loopback and not CONFIG.https:
    # No authority gives a certificate for loopback: HSTS, the redirect and Secure cookies would lock the browser out.
    SILENCED_SYSTEM_CHECKS += ["security.W004", "security.W008", "security.W012", "security.W016"]

DATA_UPLOAD_MAX_MEMORY_SIZE = 2_500_000
DATA_UPLOAD_MAX_NUMBER_FIELDS = 200
DATA_UPLOAD_MAX_NUMBER_FILES = 5
FILE_UPLOAD_HANDLERS = ["backend.web.uploading.BoundedFileHandler"]

_MAIL = {"smtp": 25, "smtp+tls": 587, "smtps": 465}
_MAIL_URL = CONFIG.mail_server
DEFAULT_FROM_EMAIL = SERVER_EMAIL = CONFIG.email_from
if _MAIL_URL.scheme == "file":
    EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    EMAIL_FILE_PATH = unquote(_MAIL_URL.path)
elif _MAIL_URL.scheme:
    EMAIL_BACKEND = "backend.timed_mail.TimedEmailBackend"
    EMAIL_HOST = _MAIL_URL.hostname
    EMAIL_PORT = _MAIL_URL.port or _MAIL[_MAIL_URL.scheme]
    EMAIL_HOST_USER = unquote(_MAIL_URL.username or "")
    EMAIL_HOST_PASSWORD = unquote(_MAIL_URL.password or "")
    EMAIL_USE_TLS = _MAIL_URL.scheme == "smtp+tls"
    EMAIL_USE_SSL = _MAIL_URL.scheme == "smtps"
else:
    # Nobody has named a mail server: what would be sent is in the log of the web process.
    EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "class": "workers.measurement.log_lines.LogLine",
            "format": "%(asctime)s %(levelname)s %(name)s %(message)s",
        }
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {
        "django": {"handlers": [], "level": "INFO", "propagate": True},
        # Tells of each passkey by its identifier; who came in is in the audit log.
        "fido2": {"level": "WARNING"},
    },
}
