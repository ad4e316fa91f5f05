"""HTTP: redirects, protocols, answers; and whole pages."""

from collections.abc import Mapping

from workers.diagnosis.catalogue.entry import Counts, Entry
from workers.measurement.finding import FindingId

ENTRIES: Mapping[FindingId, Entry] = {
    FindingId.HTTP_REDIRECT_COST: Entry(
        title="Redirects stand before the page",
        explanation=(
            "The address leads to another one, or once more to itself, before it leads to the page, by a redirect, a "
            "script or a refresh, and each step costs its own round trips, often a new connection as well. Without "
            "HSTS browsers take the step from http:// to https:// each time."
        ),
        advice=(
            "Link to the last address directly, join several steps into one, and send Strict-Transport-Security with "
            "at least half a year, so that browsers go to https:// by themselves. What leads to itself, as to set a "
            "cookie, can set it and answer at once."
        ),
        counts=Counts.NEW_VISIT,
    ),
    FindingId.HTTP_NO_TLS: Entry(
        title="The page is served without TLS",
        explanation=(
            "The page itself comes over plain http:// and does not lead to https://. Everybody on the way can read and "
            "change it, browsers call it not secure, and HTTP/2 and HTTP/3 are out of reach."
        ),
        advice="Serve the site over https:// and answer http:// with a permanent redirect to it.",
    ),
    FindingId.HTTP_KEEPALIVE_OFF: Entry(
        title="The server closes the connection after each answer",
        explanation=(
            "Each further request has to open a connection and shake hands anew, on a page with many requests again "
            "and again. Where it is told with “agreed on h2”, connections of HTTP/2 are closed, which browsers use."
        ),
        advice="Keep connections open for 15 to 75 seconds.",
        counts=Counts.FURTHER_REQUEST,
    ),
    FindingId.HTTP_H2_MISSING: Entry(
        title="HTTP/2 is missing or broken",
        explanation=(
            "With HTTP/1.1 a connection carries one request at a time, so browsers open up to six of them and each "
            "pays for its own handshake, where HTTP/2 carries all requests over one. Where HTTP/2 is agreed on and no "
            "answer comes over it, browsers show an error and do not go back to HTTP/1.1."
        ),
        advice=(
            "Switch HTTP/2 on; browsers use it over TLS only, where ALPN agrees on it. Where it breaks, mend or switch "
            "off what speaks it, until it answers."
        ),
        counts=Counts.NEW_VISIT,
    ),
    FindingId.HTTP_H3: Entry(
        title="HTTP/3 is not in use",
        explanation=(
            "HTTP/3 needs one round trip less before the first request, because connection and encryption are set up "
            "together. Here it is not offered, or it is announced and does not answer, or only with a certificate that "
            "browsers refuse."
        ),
        advice=(
            "Offer it and announce it by the Alt-Svc header or an HTTPS record. Where it is announced already, let UDP "
            "port 443 through the firewall and serve it with the certificate of the site, or stop announcing it."
        ),
        counts=Counts.RETURNING_VISIT,
    ),
    FindingId.HTTP_THINK_TIME: Entry(
        title="The server takes long to begin its answer",
        explanation=(
            "Between the arrival of the request and the first byte of the answer the server worked for a long time, "
            "always or for some of the requests. Neither the network nor the handshake explains it."
        ),
        advice=(
            "Keep answers that are the same for everybody in a cache, look at the slowest queries and calls behind the "
            "page, and send Server-Timing to see which part it is."
        ),
        counts=Counts.EACH_REQUEST,
    ),
    FindingId.HTTP_BODY_STALL: Entry(
        title="The answer stops in the middle",
        explanation=(
            "The first byte came in time, then the server paused before it sent the rest, once or again and again. The "
            "page's content waits for that."
        ),
        advice="Look at what the application does between the parts of its page, and let slow parts come last.",
        counts=Counts.EACH_REQUEST,
    ),
    FindingId.HTTP_BUFFERED_RESPONSE: Entry(
        title="The page is held back until it is complete",
        explanation=(
            "The server works on the page for a while and then sends all of it at once. Browsers could load styles and "
            "scripts meanwhile if the head of the page came first."
        ),
        advice=(
            "Flush the head of the page as soon as it is known, or send 103 Early Hints, and put the most important "
            "assets into the first 14 KB."
        ),
        counts=Counts.EACH_REQUEST,
    ),
    FindingId.PAGE_EXTRA_HOSTS_AND_LOST_MUX: Entry(
        title="Connections to another host hold the page up",
        explanation=(
            "What the page needs early lies on a host to which a connection had to be opened first, or several were "
            "opened where one would do. Each pays for name lookup, TCP and TLS before its first byte."
        ),
        advice=(
            "Serve these files from the page's own host, where its connection is open already; otherwise preconnect to "
            "the host, and speak HTTP/2 there."
        ),
        counts=Counts.NEW_VISIT,
    ),
    FindingId.PAGE_CDN_SLOWER_THAN_ORIGIN: Entry(
        title="The CDN is slower than the origin",
        explanation=(
            "Asked side by side, the CDN needs longer for the same file than the server it stands in front of. What is "
            "meant to make the site faster makes it slower here."
        ),
        advice=(
            "Look at which phase is slower: TLS (versions, resumption), misses in the CDN's cache, or the way to its "
            "nearest place. Where that cannot be mended, serve the file from the origin."
        ),
        counts=Counts.NEW_VISIT,
    ),
}
