"""What is special about a row, in words: short beside its name, whole in its details."""

from workers.measurement.waterfall import RowFlag

FLAG_NOTES: dict[RowFlag, str] = {
    RowFlag.PRECONNECTED: "opened ahead",
    RowFlag.COALESCED: "shared connection",
    RowFlag.RESUMED: "TLS resumed",
    RowFlag.EARLY_DATA: "0-RTT",
    RowFlag.EARLY_HINTS: "early hints",
    RowFlag.PREFLIGHT: "CORS preflight",
    RowFlag.FRAME: "in a frame",
    RowFlag.WORKER: "by a worker",
    RowFlag.SERVICE_WORKER: "by a service worker",
    RowFlag.PRELOAD: "preload",
    RowFlag.PREFETCH: "prefetch",
    RowFlag.PUSHED: "pushed",
    RowFlag.RETRIED: "asked again",
    RowFlag.CANCELLED: "cancelled",
    RowFlag.BROWSER_INTERNAL: "of the browser itself",
}
FLAG_SENTENCES: dict[RowFlag, str] = {
    RowFlag.PRECONNECTED: "Its connection was begun before the page asked for it.",
    RowFlag.COALESCED: "It used a connection that was opened for another host with the same certificate and address.",
    RowFlag.RESUMED: "Its connection took up an earlier TLS session, which saves certificates or a round trip.",
    RowFlag.EARLY_DATA: "It was sent within the TLS handshake (0-RTT), before that was complete.",
    RowFlag.EARLY_HINTS: "The server sent 103 Early Hints before its answer.",
    RowFlag.PREFLIGHT: "The browser asked whether the page may send a request to this origin (CORS).",
    RowFlag.FRAME: "A frame asked for it, not the page itself.",
    RowFlag.WORKER: "A worker asked for it.",
    RowFlag.SERVICE_WORKER: "A service worker asked for it.",
    RowFlag.PRELOAD: "The page asked for it by a preload hint.",
    RowFlag.PREFETCH: "It was fetched in advance for a later page.",
    RowFlag.PUSHED: "The server sent it before anybody asked (HTTP/2 server push).",
    RowFlag.RETRIED: (
        "The browser asked more than once: the first try was refused, answered with what makes a browser ask again, or "
        "lost with its connection. What that took stands before the phases."
    ),
    RowFlag.CANCELLED: "The page gave it up before it was complete.",
    RowFlag.BROWSER_INTERNAL: "The browser asked for it on its own account, not the page.",
}
