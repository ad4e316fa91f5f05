"""How a probe ends early: an exception that carries a word of our vocabulary, and the tables that translate others."""

import errno
from dataclasses import replace

from workers.measurement.failure import Blame, Failure, FailureKind, Stage, failure

K = FailureKind


class ProbeError(Exception):
    """The target could not be measured to the end; `failure` says why in our words."""

    def __init__(
        self, kind: FailureKind, evidence: str | None = None, *, stage: Stage | None = None, blame: Blame | None = None
    ) -> None:
        super().__init__(kind)
        usual = failure(kind, evidence, stage=stage)
        self.failure: Failure = usual if blame is None else replace(usual, blame=blame)


# Which word fits when the time of the whole run is up, by what the run was waiting for.
TIMEOUTS = {
    Stage.DNS: K.DNS_TIMEOUT,
    Stage.CONNECT: K.CONNECT_TIMEOUT,
    Stage.TLS: K.TLS_TIMEOUT,
    Stage.SEND: K.RESPONSE_TIMEOUT,
    Stage.WAIT: K.RESPONSE_TIMEOUT,
    Stage.DOWNLOAD: K.DOWNLOAD_TIMEOUT,
}
_CONNECT_ERRORS = {
    errno.ECONNREFUSED: K.CONNECT_REFUSED,
    errno.ECONNRESET: K.CONNECTION_RESET,
    errno.ETIMEDOUT: K.CONNECT_TIMEOUT,
}
# What the machine itself lacks is no fault of a target: files, memory, ports of its own (EADDRNOTAVAIL).
_OUR_ERRORS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL})


def is_ours(error: OSError) -> bool:
    """Whether this machine ran out of something."""
    return error.errno in _OUR_ERRORS


def connect_fault(error: OSError, where: str, *, at_once: bool = False) -> ProbeError:
    """Why a connection could not be made. What is neither refused nor timed out is a lack of a way there.

    That is told `at_once`, before anything was sent, where this machine has no route or lets nothing out.
    """
    kind = _CONNECT_ERRORS.get(error.errno or 0, K.CONNECT_UNREACHABLE)
    if is_ours(error):
        kind = K.INTERNAL_ERROR
    if at_once and kind is K.CONNECT_UNREACHABLE:
        evidence = f"{where}: {error.strerror}, as the agent's own machine says"
        return ProbeError(kind, evidence, stage=Stage.CONNECT, blame=Blame.MONITOR)
    return ProbeError(kind, f"{where}: {error.strerror}", stage=Stage.CONNECT)


def late_fault(stage: Stage, seconds: float, where: str) -> ProbeError:
    """What was waited for when the time was up; one that opens no connection is told with its place."""
    place = f" ({where})" if stage is Stage.CONNECT else ""
    return ProbeError(TIMEOUTS[stage], f"within {round(seconds, 2):g} s{place}")


def broken_fault(error: OSError, stage: Stage) -> ProbeError:
    """Why a connection that was made broke: in the middle of the body, or before."""
    kind = K.DOWNLOAD_INCOMPLETE if stage is Stage.DOWNLOAD else K.CONNECTION_RESET
    if is_ours(error):
        kind = K.INTERNAL_ERROR
    return ProbeError(kind, error.strerror, stage=stage)


def invalid_answer(evidence: str, *, stage: Stage | None = None) -> ProbeError:
    """An answer that makes no sense in its protocol, in words of what was seen."""
    return ProbeError(K.RESPONSE_INVALID, evidence, stage=stage)


def too_large_body(limit_bytes: int) -> ProbeError:
    """An answer of which no more is read."""
    return ProbeError(K.RESPONSE_TOO_LARGE, f"more than {limit_bytes} bytes")
