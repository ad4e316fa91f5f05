"""What to do about a run that failed or was missed: what to look at, never a cause that nobody saw."""

from enum import Enum, auto

from workers.measurement.failure import Failure, FailureKind, Stage, failure
from workers.measurement.messages import MissedReason


class Door(Enum):
    """Where it is told: on the service's pages and in its messages, of runs of a region's agents; or at a terminal, of
    what was measured from the machine that one sits at.
    """

    SERVICE = auto()
    TERMINAL = auto()


# By what stands in braces below.
_WORDS: dict[Door, dict[str, str]] = {
    Door.SERVICE: {
        "us": "this region's agents",
        "here": "this region",
        "elsewhere": "other regions",
        "settings": "the monitor's settings",
        "allowed": "to this region's agents (FIRSTBYTE_PRIVATE_TARGETS)",
        "lacking": "an agent's log says what it lacks",
        "despite": "“Ignore certificate errors” is in the monitor's settings",
        "authority": "",
        "time": "The time limit of a probe or page is in its settings.",
        "accept": "Where the status is meant, accept it in the settings of the probe or page.",
        "browser": "Look at the agents of this region: their page says how their browsers fare, and their logs say "
        "why.",
        "more": "the log of the region's agent says more",
    },
    Door.TERMINAL: {
        "us": "this machine",
        "here": "here",
        "elsewhere": "other machines",
        "settings": "the command",
        "allowed": "with --allow-private",
        "lacking": "the reason says what it lacks",
        "despite": "--insecure measures all the same",
        "authority": "Where it is your own, --cacert trusts it.",
        "time": "--timeout gives it longer.",
        "accept": "",
        "browser": "firstbyte doctor says what a browser lacks here.",
        "more": "firstbyte doctor says what this machine lacks",
    },
}
_ADVICE: dict[FailureKind, str] = {
    FailureKind.INVALID_URL: "Correct the address: in {settings} or, where a redirect led to it, at the server.",
    FailureKind.INVALID_REQUEST: "Look at the request headers and the page's options in {settings}.",
    FailureKind.BLOCKED_DESTINATION: "Look where the name leads. Where it is right, allow the range of its addresses "
    "{allowed}.",
    FailureKind.PROFILE_UNAVAILABLE: "Choose another network profile in {settings}, or let {us} make a network for "
    "each; {lacking}.",
    FailureKind.DNS_NOT_FOUND: "Look how the host is spelled, whether it has an A or AAAA record, and whether its "
    "domain is still registered.",
    FailureKind.DNS_SERVER_FAILURE: "Look at the name servers of the domain, at its delegation and at its DNSSEC "
    "signatures.",
    FailureKind.DNS_TIMEOUT: "See whether other sites fail from {here} too. Where only this one does, look "
    "whether its name servers answer.",
    FailureKind.CONNECT_REFUSED: "Look whether the web server runs and listens on this address and port, and whether a "
    "firewall refuses what comes from {us}.",
    FailureKind.CONNECT_UNREACHABLE: "See whether other sites fail from {here} too. Where only this one does, "
    "look whether its A and AAAA records are right.",
    FailureKind.CONNECT_TIMEOUT: "See whether {elsewhere} reach it. Look whether the server is up, and whether a "
    "firewall drops what comes from {us}.",
    FailureKind.CONNECTION_RESET: "Look into the logs of the server, and of any proxy or firewall before it, at the "
    "time of the failure.",
    FailureKind.TLS_TIMEOUT: "Look how busy the server was at the time of the failure, and whether full packets get "
    "through to it.",
    FailureKind.TLS_ALERT: "Look at the server's TLS settings: its certificate for this name, its versions, "
    "ciphers and protocols (ALPN), and whether it wants a certificate of its clients.",
    FailureKind.TLS_NOT_SPOKEN: "Switch TLS on for this port of the server, or measure an address that begins with "
    "http://.",
    FailureKind.HTTP1_NOT_SPOKEN: "Look which protocols the server offers in its handshake (ALPN).",
    FailureKind.TLS_FAILED: "Look at the server's TLS settings, and at what it, or a proxy or firewall before it, "
    "sends: the reason says what could not be right.",
    FailureKind.CERTIFICATE_EXPIRED: "Renew the certificate, see that the server sends the new one, and look why it "
    "was not renewed in time.",
    FailureKind.CERTIFICATE_NOT_YET_VALID: "Look from when on the certificate is valid, and whether the server sends "
    "the one that is meant.",
    FailureKind.CERTIFICATE_WRONG_HOST: "Get a certificate that names this host, or see that the server chooses the "
    "one that does.",
    FailureKind.CERTIFICATE_SELF_SIGNED: "Get a certificate of an authority that browsers trust. Where this one is "
    "meant, {despite}.",
    FailureKind.CERTIFICATE_UNTRUSTED: "See that the server sends its intermediate certificates too, and that an "
    "authority that browsers trust has signed them. {authority}",
    FailureKind.CERTIFICATE_INVALID: "Look at the chain of certificates that the server sends.",
    FailureKind.REQUEST_NOT_TAKEN: "Look at the server's limits of connections and requests, and those of any proxy "
    "before it.",
    FailureKind.RESPONSE_TIMEOUT: "Look what the server did at the time of the failure, and what it waited for. {time}",
    FailureKind.RESPONSE_INVALID: "Look what answers at this address and port, and what any proxy before it makes of "
    "the answer.",
    FailureKind.RESPONSE_TOO_LARGE: "Measure a smaller file: its address is in {settings}.",
    FailureKind.DOWNLOAD_TIMEOUT: "Look how much the answer holds, and what the server did at the time of the failure. "
    "{time}",
    FailureKind.DOWNLOAD_INCOMPLETE: "Look into the logs of the server, and of any proxy before it, at the time of "
    "the failure.",
    FailureKind.TOO_MANY_REDIRECTS: "Look at the redirects of the server and of any CDN before it: between http and "
    "https, and between names of hosts.",
    FailureKind.STATUS_UNEXPECTED: "Look into the server's log at the time of the failure. {accept}",
    FailureKind.TEXT_MISSING: "Look at the page. Where it has another text now, change it in {settings}.",
    FailureKind.PAGE_TIMEOUT: "Look which requests had not ended. {time}",
    FailureKind.PAGE_CRASHED: "Test it again. Where it crashes each time, look how much memory the page takes.",
    FailureKind.PAGE_IS_DOWNLOAD: "Load another address: it is in {settings}. A probe measures files too.",
    FailureKind.PAGE_ERROR: "Open the page in Chrome: where it fails there too, it names the same error.",
    FailureKind.PAGE_CHALLENGE: "Let the addresses of {us} pass where the site tells programs from people.",
    FailureKind.PROTOCOL_NOT_SPOKEN: "Switch the protocol on at the server, or ask for another in {settings}.",
    FailureKind.STEP_FAILED: "Hold the steps before the page, in {settings}, against what the page shows now.",
    FailureKind.BROWSER_FAILED: "{browser}",
    FailureKind.INTERNAL_ERROR: "Test it again. If it stays, {more}.",
}
# The words of Chrome and OpenSSL where both sides have no version or cipher in common; all else may be anything.
_NOTHING_IN_COMMON = ("ERR_SSL_VERSION_OR_CIPHER_MISMATCH", "unsupported protocol")
_ON_COMMON = "Look which versions of TLS and which ciphers the server offers."
_ON_RECORDS = (
    "Look into the logs of the server, and of any proxy or firewall before it, at the time of the failure: the reason "
    "says what of that which came after the handshake could not be right."
)
# Why, and what to do.
_MISSED: dict[MissedReason, tuple[str, str]] = {
    MissedReason.SERVICE_DOWN: (
        "The service was down when this run was due.",
        "Look into the logs of the service's scheduler and of its broker at the time of this run.",
    ),
    MissedReason.NO_AGENT: (
        "No agent of this region was running.",
        "Start an agent of this region: the page of regions says when each was last heard of.",
    ),
    MissedReason.QUEUE_FULL: (
        "The region had more work than its agents could do in time, or their disks keep no more results.",
        "The page of regions says whose disk is full. Where none is and it happens again, start another agent in this"
        " region, or measure less often from it.",
    ),
    MissedReason.AGENT_LOST: (
        "The agent that held this run disappeared, twice.",
        "Look into the logs of this region's agents at the time of this run, and whether they reach the service.",
    ),
    MissedReason.LATE: (
        "The run could not start in its time.",
        "Look at the clocks of this region's agents. Where they are right and it happens again, start another agent, "
        "or measure less often from this region.",
    ),
    MissedReason.CANCELLED: (
        "The monitor was paused, changed or deleted before this run could start.",
        "Nothing, where that was meant. The audit log says who changed what.",
    ),
    MissedReason.SETTINGS_UNREADABLE: (
        "The monitor's request headers or page options could not be read: no key of FIRSTBYTE_FERNET_KEYS opens them.",
        "Open the monitor's settings: that page says what to do.",
    ),
}


def advice_on(failed: Failure, door: Door = Door.SERVICE) -> str:
    """What to do about it; empty where another than usual is to blame, since its detail says why and whose it is."""
    if failed.blame is not failure(failed.kind).blame:
        return ""
    advice = _advice_on_tls(failed) if failed.kind is FailureKind.TLS_FAILED else _ADVICE[failed.kind]
    return advice.format_map(_WORDS[door]).rstrip()


def _advice_on_tls(failed: Failure) -> str:
    if failed.stage is not Stage.TLS:
        return _ON_RECORDS
    return _ON_COMMON if any(words in failed.detail for words in _NOTHING_IN_COMMON) else _ADVICE[failed.kind]


def why_missed(reason: MissedReason) -> str:
    """Why a run did not take place, in a sentence."""
    return _MISSED[reason][0]


def advice_on_missed(reason: MissedReason) -> str:
    """What to do about a run that did not take place."""
    return _MISSED[reason][1]
