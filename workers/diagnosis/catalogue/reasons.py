"""Why a cause was neither found nor excluded, in words that follow "not judged, because"."""

from workers.measurement.finding import NotJudgedReason

_TEXTS = {
    NotJudgedReason.RTT_SHORT: (
        "because the round trip is shorter than 8 ms: at that distance a busy server and a round trip look alike"
    ),
    NotJudgedReason.LOSS: (
        "because packets were lost on the way, or came out of order: then a pause says nothing about the server"
    ),
    NotJudgedReason.PACED: (
        "because the server spreads its packets out in time, so that its flights cannot be told apart"
    ),
    NotJudgedReason.LATE_CLOCK: "because our own clock was read too late to trust pauses of that length",
    NotJudgedReason.TOO_FEW_SAMPLES: "because there are too few measurements of it",
    NotJudgedReason.NEEDS_DEEP_PROBE: "because one connection cannot show it: a deep probe can",
    NotJudgedReason.RESPONSE_SMALL: "because the answer is too small to show it",
    NotJudgedReason.NOT_MEASURED: "because it was not measured",
    NotJudgedReason.NOT_REPEATED: "because it was not seen each time",
    NotJudgedReason.PAINT_ELSEWHERE: (
        "because the paint came later than what the browser had to wait for, so that something else held it up"
    ),
    NotJudgedReason.MADE_LATER: (
        "because what was painted first may be what a script made, or a picture, and would wait for that as long if "
        "nothing blocked it"
    ),
    NotJudgedReason.CLOCKS_APART: (
        "because the server's clock and ours are minutes apart or more: one is wrong, and by the server's all is well"
    ),
    NotJudgedReason.UNSTEADY: (
        "because the way is so unsteady, or the pause so near to a round trip, that it has more than one explanation"
    ),
    NotJudgedReason.PADDED: "because the server fills its records up, and not its certificates are what is large",
    NotJudgedReason.SHAPED: "because the network profile of the run makes it, whatever the site does",
    NotJudgedReason.WITHOUT_TLS_TOO: (
        "because connections without TLS wait as long for their first answer: a firewall on the way that looks into "
        "each connection, or a server that is slow to take them, makes all of them wait"
    ),
    NotJudgedReason.ONLY_WITH_TLS: (
        "because no connection without TLS was answered, which would tell it from a firewall on the way that looks "
        "into each connection and makes all of them wait"
    ),
    NotJudgedReason.HIDDEN: "because another finding, to be mended first, hides it",
}


def reason_text(reason: NotJudgedReason) -> str:
    """A clause without a full stop that begins with "because"."""
    return _TEXTS[reason]
