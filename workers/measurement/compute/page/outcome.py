"""Whether a page load is a measurement or a failure, and whose.

The order matters: what keeps the page from being the right one (a destination that is forbidden, a navigation that
came to nothing) is told before what is merely wrong with it (its status, its text, its time).
"""

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from workers.measurement.captures_page import PageCapture
from workers.measurement.certificate import Certificate
from workers.measurement.compute.netlog.nouns import NOT_RESOLVED
from workers.measurement.compute.page.challenge import challenge_of_page
from workers.measurement.compute.page.page import EMPTY_ERROR_PAGE, Page
from workers.measurement.compute.page.waiting import WAITED_FOR
from workers.measurement.failure import Failure, FailureKind, Stage, failure
from workers.measurement.messages import Failed, Measured, PageMeasurement, RunRequest
from workers.measurement.page_options import Protocol
from workers.measurement.statuses import NOT_MODIFIED, REDIRECTS, USUALLY_ACCEPTED, WITHOUT_BODY
from workers.measurement.waterfall import Request, ResourceType

Judge = Callable[[str], bool]

# Chrome's net errors (net/base/net_error_list.h) in our words. What is not here is a page error with Chrome's name.
KINDS = {
    "ERR_NAME_NOT_RESOLVED": FailureKind.DNS_NOT_FOUND,
    "ERR_NAME_RESOLUTION_FAILED": FailureKind.DNS_SERVER_FAILURE,
    "ERR_ICANN_NAME_COLLISION": FailureKind.DNS_NOT_FOUND,
    "ERR_DNS_MALFORMED_RESPONSE": FailureKind.DNS_SERVER_FAILURE,
    "ERR_DNS_SERVER_FAILED": FailureKind.DNS_SERVER_FAILURE,
    "ERR_DNS_TIMED_OUT": FailureKind.DNS_TIMEOUT,
    "ERR_CONNECTION_REFUSED": FailureKind.CONNECT_REFUSED,
    "ERR_CONNECTION_TIMED_OUT": FailureKind.CONNECT_TIMEOUT,
    "ERR_TIMED_OUT": FailureKind.CONNECT_TIMEOUT,
    "ERR_HTTP2_PING_FAILED": FailureKind.CONNECT_TIMEOUT,
    "ERR_ADDRESS_UNREACHABLE": FailureKind.CONNECT_UNREACHABLE,
    "ERR_NETWORK_ACCESS_DENIED": FailureKind.CONNECT_UNREACHABLE,
    "ERR_CONNECTION_FAILED": FailureKind.CONNECT_UNREACHABLE,
    # An interface of the region's own machine came or went, or the machine slept: Chrome drops what it has open. Or it
    # has none but its loopback, or the one that it has is down (ENETDOWN).
    "ERR_NETWORK_CHANGED": FailureKind.BROWSER_FAILED,
    "ERR_INTERNET_DISCONNECTED": FailureKind.BROWSER_FAILED,
    "ERR_NETWORK_IO_SUSPENDED": FailureKind.BROWSER_FAILED,
    # What the machine itself lacks: ports of its own (EADDRNOTAVAIL), files, memory.
    "ERR_ADDRESS_INVALID": FailureKind.BROWSER_FAILED,
    "ERR_INSUFFICIENT_RESOURCES": FailureKind.BROWSER_FAILED,
    "ERR_NO_BUFFER_SPACE": FailureKind.BROWSER_FAILED,
    "ERR_OUT_OF_MEMORY": FailureKind.BROWSER_FAILED,
    "ERR_CONNECTION_RESET": FailureKind.CONNECTION_RESET,
    "ERR_CONNECTION_CLOSED": FailureKind.CONNECTION_RESET,
    "ERR_CONNECTION_ABORTED": FailureKind.CONNECTION_RESET,
    "ERR_EMPTY_RESPONSE": FailureKind.CONNECTION_RESET,
    "ERR_SOCKET_NOT_CONNECTED": FailureKind.CONNECTION_RESET,
    "ERR_SSL_PROTOCOL_ERROR": FailureKind.TLS_FAILED,
    "ERR_SSL_VERSION_OR_CIPHER_MISMATCH": FailureKind.TLS_FAILED,
    "ERR_SSL_UNRECOGNIZED_NAME_ALERT": FailureKind.TLS_ALERT,
    "ERR_BAD_SSL_CLIENT_AUTH_CERT": FailureKind.TLS_ALERT,
    "ERR_SSL_CLIENT_AUTH_CERT_NEEDED": FailureKind.TLS_ALERT,
    "ERR_CERT_COMMON_NAME_INVALID": FailureKind.CERTIFICATE_WRONG_HOST,
    "ERR_CERT_AUTHORITY_INVALID": FailureKind.CERTIFICATE_UNTRUSTED,
    "ERR_CERT_DATE_INVALID": FailureKind.CERTIFICATE_EXPIRED,
    "ERR_CERT_REVOKED": FailureKind.CERTIFICATE_INVALID,
    "ERR_INVALID_HTTP_RESPONSE": FailureKind.RESPONSE_INVALID,
    "ERR_INVALID_CHUNKED_ENCODING": FailureKind.RESPONSE_INVALID,
    "ERR_RESPONSE_HEADERS_TOO_BIG": FailureKind.RESPONSE_INVALID,
    "ERR_RESPONSE_HEADERS_MULTIPLE_CONTENT_LENGTH": FailureKind.RESPONSE_INVALID,
    "ERR_RESPONSE_HEADERS_TRUNCATED": FailureKind.RESPONSE_INVALID,
    "ERR_CONTENT_DECODING_FAILED": FailureKind.RESPONSE_INVALID,
    "ERR_HTTP2_PROTOCOL_ERROR": FailureKind.RESPONSE_INVALID,
    "ERR_INVALID_REDIRECT": FailureKind.RESPONSE_INVALID,
    "ERR_CONTENT_LENGTH_MISMATCH": FailureKind.DOWNLOAD_INCOMPLETE,
    "ERR_INCOMPLETE_CHUNKED_ENCODING": FailureKind.DOWNLOAD_INCOMPLETE,
    "ERR_TOO_MANY_REDIRECTS": FailureKind.TOO_MANY_REDIRECTS,
    "ERR_UNSAFE_PORT": FailureKind.INVALID_URL,
    "ERR_DISALLOWED_URL_SCHEME": FailureKind.INVALID_URL,
    "ERR_INVALID_URL": FailureKind.INVALID_URL,
}
# BoringSSL's reasons, SSL_R_WRONG_VERSION_NUMBER and SSL_AD_REASON_OFFSET: what began as no record of TLS does, and
# alerts that were received, by their number above this one.
_NO_TLS, _FIRST_ALERT = 247, 1000
# Whatever ends a session of QUIC, or its handshake: a silence, or what the server said.
_QUIC_ENDED = frozenset({"ERR_QUIC_PROTOCOL_ERROR", "ERR_QUIC_HANDSHAKE_FAILED"})
# For so long glibc waits for an answer before it asks again (resolv.conf(5), timeout).
SILENCE_US = 5_000_000
# What they are called while hands are shaken, while the answer is waited for, and while it comes.
_ENDS = {
    FailureKind.CONNECTION_RESET: (
        FailureKind.CONNECTION_RESET,
        FailureKind.CONNECTION_RESET,
        FailureKind.DOWNLOAD_INCOMPLETE,
    ),
    FailureKind.CONNECT_TIMEOUT: (
        FailureKind.TLS_TIMEOUT,
        FailureKind.RESPONSE_TIMEOUT,
        FailureKind.DOWNLOAD_TIMEOUT,
    ),
}
# What no server can bring about, of whichever request.
_DROPPED = ("ERR_NETWORK_CHANGED", "ERR_NETWORK_IO_SUSPENDED")
# Chrome follows no redirect to files, to data or to pages of its own.
_NO_WEB = "ERR_UNSAFE_REDIRECT"
# By the page's own doing, by an answer that is no page, or by the browser, as when its process for the page dies.
_GIVEN_UP = "ERR_ABORTED"
_BY_CERTIFICATE = {FailureKind.CERTIFICATE_EXPIRED, FailureKind.CERTIFICATE_UNTRUSTED}
_MAX_NAME_CHARS = 100
RAN_OUT = "the machine ran out of memory in the middle of the run"


def judge_page(request: RunRequest, capture: PageCapture, page: Page, may_measure: Judge) -> Measured | Failed:
    """The outcome of a run.

    Of a page that led to a forbidden address nothing is kept: its content is not for the asker, and neither is which
    address it was.
    """
    if not all(map(may_measure, page.addresses)):
        return Failed(failure=failure(FailureKind.BLOCKED_DESTINATION, "the page, or something on it, leads there"))
    reason = (
        _disturbed(page.measurement)
        or _unheard(request, capture, page)
        or _broken(request, capture, page)
        or _challenged(page.measurement)
        or _wrong(request, capture, page.measurement)
    )
    if reason is not None:
        return Failed(failure=reason, measurement=page.measurement)
    return Measured(measurement=page.measurement)


def cut_short_by(measured: PageMeasurement) -> str | None:
    """Chrome drops what it has open when a network of its machine comes or goes: the page is then without what was
    dropped, and done too early. Chrome's name for that; None of a page that was left alone."""
    return next((row.failure for row in measured.waterfall.requests if row.failure in _DROPPED), None)


def _disturbed(measured: PageMeasurement) -> Failure | None:
    name = cut_short_by(measured)
    if name is None:
        return None
    return failure(FailureKind.BROWSER_FAILED, f"a network of its machine came or went during the load ({name})")


def _unheard(request: RunRequest, capture: PageCapture, page: Page) -> Failure | None:
    """A server without HTTP/3 is silent where Chrome was told to speak nothing else. One that says anything speaks
    QUIC, and what breaks then is its error.
    """
    alone = request.page.protocol is Protocol.H3 and page.is_deaf_to_quic
    if not alone or capture.crashed or capture.load_seen:
        return None
    return failure(FailureKind.PROTOCOL_NOT_SPOKEN, "nobody answered over QUIC", stage=Stage.CONNECT)


def _broken(request: RunRequest, capture: PageCapture, page: Page) -> Failure | None:
    measured = page.measurement
    if capture.crashed:
        return _crashed(capture)
    if capture.is_download:
        return failure(FailureKind.PAGE_IS_DOWNLOAD, measured_type(measured))
    if capture.outgrew:
        return failure(FailureKind.RESPONSE_TOO_LARGE)
    if capture.net_error == EMPTY_ERROR_PAGE:
        return None
    if capture.net_error is not None:
        return _net_failure(capture.net_error, capture, page)
    if not capture.load_seen and not _waits_for_black_hole(request, measured):
        # Some interstitials go on asking for as long as one waits.
        return _challenged(measured) or _unanswered(page) or failure(FailureKind.PAGE_TIMEOUT, _unfinished(measured))
    return None


def _crashed(capture: PageCapture) -> Failure:
    if capture.memory_limit_bytes is not None:
        words = f"it was ended because it took more than {capture.memory_limit_bytes // 2**20} MB of memory"
        return failure(FailureKind.PAGE_CRASHED, words)
    if capture.machine_ran_out:
        return failure(FailureKind.BROWSER_FAILED, RAN_OUT)
    return failure(FailureKind.PAGE_CRASHED)


def _unanswered(page: Page) -> Failure | None:
    """A document that waited for one thing for most of the page's time is told of by that."""
    watched_us, document, waiting = page.measurement.waterfall.watched_until_us, page.newest, page.waiting
    if document is None or document.status is not None or waiting is None or watched_us is None:
        return None
    if 2 * waiting.waited_us <= watched_us:
        return None
    seconds = waiting.waited_us / 1_000_000
    return failure(WAITED_FOR[waiting.stage], f"{_named(document.url)} waited for {seconds:.0f} s")


def _challenged(measured: PageMeasurement) -> Failure | None:
    found = challenge_of_page(measured.waterfall.requests, measured.document, measured.title)
    return None if found is None else failure(FailureKind.PAGE_CHALLENGE, str(found))


def _waits_for_black_hole(request: RunRequest, measured: PageMeasurement) -> bool:
    """Whether the page came and only lacks what was made not to answer: then what it is without is the measurement."""
    document = document_of(measured)
    if document is None or document.status is None:
        return False
    open_rows = [row for row in measured.waterfall.requests if row.timing.end_us is None]
    return any(urlsplit(row.url).hostname in request.page.black_holes for row in open_rows)


def _net_failure(name: str, capture: PageCapture, page: Page) -> Failure:
    document = page.newest
    if document is not None and name == _GIVEN_UP and document.status in (*WITHOUT_BODY, NOT_MODIFIED):
        return failure(FailureKind.PAGE_ERROR, f"status {document.status} has no page")
    if name == _GIVEN_UP and not _has_begun(page.measurement):
        return failure(FailureKind.BROWSER_FAILED, f"it gave the load up before the page had begun ({name})")
    if name == _NO_WEB:
        return failure(FailureKind.INVALID_URL, f"it redirects out of the web ({name})", stage=Stage.REDIRECT)
    if document is not None and name == "ERR_UNEXPECTED_PROXY_AUTH":
        return failure(FailureKind.STATUS_UNEXPECTED, f"{document.status}, which only a proxy may say")
    if name == NOT_RESOLVED and document is not None and document.failure in KINDS:
        name = document.failure
    kind = FailureKind.CONNECT_TIMEOUT if name in _QUIC_ENDED and page.fell_silent else KINDS.get(name)
    if kind in _BY_CERTIFICATE:
        kind = _by_certificate(kind, capture, page.refused)
    if kind is FailureKind.DNS_SERVER_FAILURE and _was_silence(document):
        kind = FailureKind.DNS_TIMEOUT
    if kind is FailureKind.TLS_FAILED:
        kind = _by_tls_fault(page.tls_fault)
    if kind is None:
        kind = FailureKind.CERTIFICATE_INVALID if name.startswith("ERR_CERT_") else FailureKind.PAGE_ERROR
    return _broken_off(kind, name, document, page)


def _has_begun(measured: PageMeasurement) -> bool:
    """Whether there has been a page, whose doing it may be that no other came."""
    documents = (row for row in measured.waterfall.requests if row.resource_type is ResourceType.DOCUMENT)
    return any(row.status is not None and row.status not in REDIRECTS for row in documents)


def _broken_off(kind: FailureKind, name: str, document: Request | None, page: Page) -> Failure:
    """Chrome has one error for a connection that ends, or is silent, however far the document had come."""
    if document is None or kind not in _ENDS:
        return failure(kind, name)
    shaking, waiting, reading = _ENDS[kind]
    if document.timing.send is not None:
        return failure(waiting if document.status is None else reading, name)
    if page.ended_at is Stage.TLS:
        return failure(shaking, name, stage=Stage.TLS)
    # Of a silence nobody can say then what was silent; a connection that ended has one name for both.
    is_unclear = page.ended_at is None and shaking is not kind
    return failure(FailureKind.PAGE_ERROR if is_unclear else kind, name)


def _was_silence(document: Request | None) -> bool:
    """The system's resolver has one word for name servers that answer with an error and for those that do not."""
    lookup = None if document is None else document.timing.dns
    return lookup is not None and lookup.duration_us >= SILENCE_US


def _by_tls_fault(reason: int | None) -> FailureKind:
    """Chrome has one error for alerts of the server, for what is no TLS, and for all else that ends a handshake."""
    if reason == _NO_TLS:
        return FailureKind.TLS_NOT_SPOKEN
    return FailureKind.TLS_ALERT if reason is not None and reason >= _FIRST_ALERT else FailureKind.TLS_FAILED


def _by_certificate(kind: FailureKind, capture: PageCapture, certificate: Certificate | None) -> FailureKind:
    """Chrome has one error for both ends of a certificate's life, and one for every doubtful issuer."""
    if certificate is None:
        return kind
    if kind is FailureKind.CERTIFICATE_EXPIRED:
        early = capture.started_at is not None and capture.started_at < certificate.not_before
        return FailureKind.CERTIFICATE_NOT_YET_VALID if early else kind
    return FailureKind.CERTIFICATE_SELF_SIGNED if certificate.subject == certificate.issuer else kind


def measured_type(measured: PageMeasurement) -> str | None:
    """What kind of file the document is, for the sentence of a failure."""
    document = document_of(measured)
    return None if document is None else document.mime_type


def document_of(measured: PageMeasurement) -> Request | None:
    """The row of the final document."""
    rows = measured.waterfall.requests
    return rows[measured.document - 1] if measured.document is not None and measured.document <= len(rows) else None


def _unfinished(measured: PageMeasurement) -> str:
    rows = measured.waterfall.requests
    waiting = [row for row in rows if row.timing.end_us is None]
    if not waiting:
        return "it never said that it had loaded"
    first = _named(waiting[0].url) if len(waiting) == 1 else f"first {_named(waiting[0].url)}"
    return f"{len(waiting)} of {len(rows)} requests were still open, {first}"


def _named(url: str) -> str:
    """Host and path, as much as a sentence holds; without the query, which may be secret."""
    name = re.split("[?#]", url.partition("://")[2] or url, maxsplit=1)[0]
    return name if len(name) <= _MAX_NAME_CHARS else f"{name[: _MAX_NAME_CHARS - 1]}…"


def _wrong(request: RunRequest, capture: PageCapture, measured: PageMeasurement) -> Failure | None:
    document = document_of(measured)
    status = None if document is None else document.status
    accepted = (
        status in request.accepted_status if request.accepted_status else status is None or status in USUALLY_ACCEPTED
    )
    if not accepted:
        return failure(FailureKind.STATUS_UNEXPECTED, str(status))
    if request.page.protocol is not None and document is not None and not _speaks(document, request.page.protocol):
        return failure(
            FailureKind.PROTOCOL_NOT_SPOKEN, f"{document.protocol or 'unknown'} instead of {request.page.protocol}"
        )
    if request.body_text is not None and not capture.text_found:
        return failure(FailureKind.TEXT_MISSING, f"{request.body_text[:100]!r}")
    return None


def _speaks(document: Request, protocol: Protocol) -> bool:
    spoken = document.protocol or ""
    return spoken.startswith("http/1") if protocol is Protocol.H1 else spoken == protocol
