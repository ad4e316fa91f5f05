"""Why a target could not be measured: a closed vocabulary, each word with whom to blame and a sentence for people."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Stage(StrEnum):
    """How far the run had come."""

    TARGET = "target"
    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    SEND = "send"
    WAIT = "wait"
    DOWNLOAD = "download"
    REDIRECT = "redirect"
    BROWSER = "browser"
    CHECK = "check"


class Blame(StrEnum):
    TARGET = "target"
    NETWORK = "network"
    MONITOR = "monitor"


class FailureKind(StrEnum):
    INVALID_URL = "invalid_url"
    INVALID_REQUEST = "invalid_request"
    BLOCKED_DESTINATION = "blocked_destination"
    PROFILE_UNAVAILABLE = "profile_unavailable"
    DNS_NOT_FOUND = "dns_not_found"
    DNS_SERVER_FAILURE = "dns_server_failure"
    DNS_TIMEOUT = "dns_timeout"
    CONNECT_REFUSED = "connect_refused"
    CONNECT_UNREACHABLE = "connect_unreachable"
    CONNECT_TIMEOUT = "connect_timeout"
    CONNECTION_RESET = "connection_reset"
    TLS_TIMEOUT = "tls_timeout"
    TLS_ALERT = "tls_alert"
    TLS_NOT_SPOKEN = "tls_not_spoken"
    HTTP1_NOT_SPOKEN = "http1_not_spoken"
    TLS_FAILED = "tls_failed"
    CERTIFICATE_EXPIRED = "certificate_expired"
    CERTIFICATE_NOT_YET_VALID = "certificate_not_yet_valid"
    CERTIFICATE_WRONG_HOST = "certificate_wrong_host"
    CERTIFICATE_SELF_SIGNED = "certificate_self_signed"
    CERTIFICATE_UNTRUSTED = "certificate_untrusted"
    CERTIFICATE_INVALID = "certificate_invalid"
    REQUEST_NOT_TAKEN = "request_not_taken"
    RESPONSE_TIMEOUT = "response_timeout"
    RESPONSE_INVALID = "response_invalid"
    RESPONSE_TOO_LARGE = "response_too_large"
    DOWNLOAD_TIMEOUT = "download_timeout"
    DOWNLOAD_INCOMPLETE = "download_incomplete"
    TOO_MANY_REDIRECTS = "too_many_redirects"
    STATUS_UNEXPECTED = "status_unexpected"
    TEXT_MISSING = "text_missing"
    PAGE_TIMEOUT = "page_timeout"
    PAGE_CRASHED = "page_crashed"
    PAGE_IS_DOWNLOAD = "page_is_download"
    PAGE_ERROR = "page_error"
    PAGE_CHALLENGE = "page_challenge"
    PROTOCOL_NOT_SPOKEN = "protocol_not_spoken"
    STEP_FAILED = "step_failed"
    BROWSER_FAILED = "browser_failed"
    INTERNAL_ERROR = "internal_error"


# Nothing came back from beyond the agent's own network.
SILENT = frozenset(
    {
        FailureKind.DNS_NOT_FOUND,
        FailureKind.DNS_SERVER_FAILURE,
        FailureKind.DNS_TIMEOUT,
        FailureKind.CONNECT_UNREACHABLE,
        FailureKind.CONNECT_TIMEOUT,
    }
)


class _Meaning(NamedTuple):
    stage: Stage
    blame: Blame
    sentence: str


_MEANINGS: dict[FailureKind, _Meaning] = {
    FailureKind.INVALID_URL: _Meaning(Stage.TARGET, Blame.TARGET, "The address is not one that can be measured."),
    FailureKind.INVALID_REQUEST: _Meaning(
        Stage.TARGET, Blame.MONITOR, "The request cannot be sent as it is configured."
    ),
    FailureKind.BLOCKED_DESTINATION: _Meaning(
        Stage.CONNECT, Blame.TARGET, "The host leads to an address that may not be measured from here."
    ),
    FailureKind.PROFILE_UNAVAILABLE: _Meaning(
        Stage.TARGET, Blame.MONITOR, "The network here cannot be shaped to the chosen profile."
    ),
    FailureKind.DNS_NOT_FOUND: _Meaning(Stage.DNS, Blame.TARGET, "The host name leads to no address."),
    FailureKind.DNS_SERVER_FAILURE: _Meaning(Stage.DNS, Blame.TARGET, "The name servers answered with an error."),
    FailureKind.DNS_TIMEOUT: _Meaning(Stage.DNS, Blame.NETWORK, "The name servers did not answer in time."),
    FailureKind.CONNECT_REFUSED: _Meaning(Stage.CONNECT, Blame.TARGET, "The server refused the connection."),
    FailureKind.CONNECT_UNREACHABLE: _Meaning(Stage.CONNECT, Blame.NETWORK, "There is no route to the server."),
    FailureKind.CONNECT_TIMEOUT: _Meaning(
        Stage.CONNECT, Blame.NETWORK, "The server did not answer the connection in time."
    ),
    FailureKind.CONNECTION_RESET: _Meaning(
        Stage.WAIT, Blame.TARGET, "The server closed the connection without an answer."
    ),
    FailureKind.TLS_TIMEOUT: _Meaning(Stage.TLS, Blame.TARGET, "The TLS handshake did not finish in time."),
    FailureKind.TLS_ALERT: _Meaning(Stage.TLS, Blame.TARGET, "The server broke off the TLS handshake with an alert."),
    FailureKind.TLS_NOT_SPOKEN: _Meaning(Stage.TLS, Blame.TARGET, "The server does not speak TLS on this port."),
    # It says nothing of what people see, whose browsers speak more than a pair.
    FailureKind.HTTP1_NOT_SPOKEN: _Meaning(
        Stage.TLS,
        Blame.MONITOR,
        "The server does not speak the version of HTTP that it was asked in; a page may reach it.",
    ),
    FailureKind.TLS_FAILED: _Meaning(
        Stage.TLS,
        Blame.TARGET,
        "TLS failed: no version or cipher in common with the server, or data from it that cannot be right.",
    ),
    FailureKind.CERTIFICATE_EXPIRED: _Meaning(Stage.TLS, Blame.TARGET, "The certificate has expired."),
    FailureKind.CERTIFICATE_NOT_YET_VALID: _Meaning(Stage.TLS, Blame.TARGET, "The certificate is not valid yet."),
    FailureKind.CERTIFICATE_WRONG_HOST: _Meaning(Stage.TLS, Blame.TARGET, "The certificate is for another host name."),
    FailureKind.CERTIFICATE_SELF_SIGNED: _Meaning(Stage.TLS, Blame.TARGET, "The certificate is signed by itself."),
    FailureKind.CERTIFICATE_UNTRUSTED: _Meaning(
        Stage.TLS, Blame.TARGET, "No trusted authority vouches for the certificate, or an intermediate is missing."
    ),
    FailureKind.CERTIFICATE_INVALID: _Meaning(Stage.TLS, Blame.TARGET, "The certificate could not be verified."),
    FailureKind.REQUEST_NOT_TAKEN: _Meaning(
        Stage.WAIT, Blame.TARGET, "The server accepted the connection and allowed no request on it."
    ),
    FailureKind.RESPONSE_TIMEOUT: _Meaning(Stage.WAIT, Blame.TARGET, "No first byte came in time."),
    FailureKind.RESPONSE_INVALID: _Meaning(Stage.WAIT, Blame.TARGET, "The answer is not valid HTTP."),
    FailureKind.RESPONSE_TOO_LARGE: _Meaning(Stage.DOWNLOAD, Blame.TARGET, "The answer is larger than the limit."),
    FailureKind.DOWNLOAD_TIMEOUT: _Meaning(Stage.DOWNLOAD, Blame.TARGET, "The answer did not end in time."),
    FailureKind.DOWNLOAD_INCOMPLETE: _Meaning(
        Stage.DOWNLOAD, Blame.TARGET, "The connection closed in the middle of the body."
    ),
    FailureKind.TOO_MANY_REDIRECTS: _Meaning(
        Stage.REDIRECT, Blame.TARGET, "The address redirects in a circle or too often."
    ),
    FailureKind.STATUS_UNEXPECTED: _Meaning(
        Stage.CHECK, Blame.TARGET, "The server answered with a status that is not accepted."
    ),
    FailureKind.TEXT_MISSING: _Meaning(Stage.CHECK, Blame.TARGET, "The text that must be there is missing."),
    FailureKind.PAGE_TIMEOUT: _Meaning(Stage.BROWSER, Blame.TARGET, "The page did not finish loading in time."),
    FailureKind.PAGE_CRASHED: _Meaning(Stage.BROWSER, Blame.TARGET, "The page crashed the browser tab."),
    FailureKind.PAGE_IS_DOWNLOAD: _Meaning(Stage.BROWSER, Blame.TARGET, "The address is a file to save, not a page."),
    FailureKind.PAGE_ERROR: _Meaning(Stage.BROWSER, Blame.TARGET, "The browser could not load the page."),
    # It says nothing of what people see: nobody may be told that the site is down.
    FailureKind.PAGE_CHALLENGE: _Meaning(
        Stage.CHECK, Blame.MONITOR, "The server asked for proof that a person visits, and did not show the page."
    ),
    FailureKind.PROTOCOL_NOT_SPOKEN: _Meaning(
        Stage.CHECK, Blame.TARGET, "The server did not speak the protocol that was asked for."
    ),
    FailureKind.STEP_FAILED: _Meaning(
        Stage.BROWSER,
        Blame.TARGET,
        "A step of the script before the page could not be done: the site is broken, or it changed without the script.",
    ),
    FailureKind.BROWSER_FAILED: _Meaning(Stage.BROWSER, Blame.MONITOR, "The browser could not be used."),
    FailureKind.INTERNAL_ERROR: _Meaning(
        Stage.TARGET, Blame.MONITOR, "The measurement itself failed; this is a fault of the monitor."
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """`detail` is the sentence for people, with what was seen. Made by `failure()`, so no word lacks its meaning."""

    kind: FailureKind
    stage: Stage
    blame: Blame
    detail: str


def failure(kind: FailureKind, evidence: str | None = None, *, stage: Stage | None = None) -> Failure:
    """A failure with its usual stage and blame. `evidence` (an address, a status) is put behind the sentence."""
    meaning = _MEANINGS[kind]
    detail = meaning.sentence if evidence is None else f"{meaning.sentence.removesuffix('.')}: {evidence}"
    return Failure(kind=kind, stage=stage or meaning.stage, blame=meaning.blame, detail=detail)
