"""Names, the path, and the connection beneath TLS."""

from collections.abc import Mapping

from workers.diagnosis.catalogue.entry import Counts, Entry
from workers.measurement.finding import FindingId

ENTRIES: Mapping[FindingId, Entry] = {
    FindingId.DNS_SLOW: Entry(
        title="The name lookup is slow",
        explanation=(
            "Before anything else a browser must turn the host name into an address, and here the name servers took "
            "long to answer. Nothing of the page can begin until they have."
        ),
        advice=(
            "Use name servers that answer from many places (anycast), give records a longer TTL so that resolvers keep "
            "them, and point the name at its address by as few CNAMEs as possible."
        ),
        counts=Counts.NEW_VISIT,
    ),
    FindingId.DNS_CNAME_CHAIN: Entry(
        title="The name leads over a chain of aliases",
        explanation=(
            "The host name is an alias of another name, that one of the next, and so on; a resolver may have to ask "
            "other name servers at each step. Aliases that are kept for a short time make that happen often."
        ),
        advice=(
            "Point the name straight at its last target, or at the addresses themselves, and let records live for five "
            "minutes or more where nothing has to move faster."
        ),
        counts=Counts.NEW_VISIT,
    ),
    FindingId.TCP_RTT_HIGH: Entry(
        title="The server is far away",
        explanation=(
            "One round trip between here and the server takes long, and a first visit needs several of them one after "
            "another. Most of the time before the first byte is spent on the way."
        ),
        advice=(
            "Answer nearer to visitors: a CDN or a server in their region that ends TLS there and keeps warm "
            "connections to the origin. Each round trip less (TLS 1.3, no redirects) helps as much."
        ),
        counts=Counts.NEW_VISIT,
    ),
    FindingId.TCP_LOSS: Entry(
        title="Packets get lost on the way",
        explanation=(
            "Packets between here and the server were lost, and each loss costs a wait until it is repaired. That is a "
            "matter of the network in between more often than of the server."
        ),
        advice=(
            "Compare with other regions: where only one sees it, that path is at fault. Where all do, look at the "
            "server's network card, its firewall's limits and its provider's link."
        ),
        counts=Counts.NEW_VISIT,
    ),
    FindingId.IPV6_BROKEN_OR_SLOW: Entry(
        title="IPv6 is broken or slower than IPv4",
        explanation=(
            "The name has IPv6 addresses, which browsers try first, but connecting to them failed or took much longer "
            "than by IPv4. Browsers try IPv4 only after a wait, about 250 ms in most; where IPv6 answers before "
            "that they stay with it, and every round trip of the visit is as long."
        ),
        advice=(
            "Mend the IPv6 path (address, listener, firewall, routing), or take the AAAA records out until it works."
        ),
        counts=Counts.NEW_VISIT,
    ),
    FindingId.TCP_IW_SMALL: Entry(
        title="The server starts with too small a window",
        explanation=(
            "A new connection may send only so many packets before the first acknowledgement comes back, and this "
            "server begins with fewer than the usual ten. A page of ordinary size then needs more round trips."
        ),
        advice=(
            "Use a kernel that begins with ten segments (Linux since 2.6.39), and remove a route setting that makes it "
            "fewer."
        ),
        counts=Counts.NEW_VISIT,
    ),
    FindingId.TCP_IDLE_RESTART: Entry(
        title="An idle connection loses its speed",
        explanation=(
            "After a short pause the server begins slowly again on a connection that was already fast. The next large "
            "answer over it takes one more round trip."
        ),
        advice="Switch off slow start after idle time on the server.",
        counts=Counts.ANSWER_AFTER_REST,
    ),
    FindingId.TCP_NAGLE_DELAYED_ACK: Entry(
        title="The server waits for an acknowledgement between two parts of its answer",
        explanation=(
            "The server writes its answer in pieces and holds the small last one back until the client has "
            "acknowledged those before it (Nagle's algorithm). That costs a round trip, and 40 to 200 ms more where "
            "the client has got too little to acknowledge it at once."
        ),
        advice=("Set TCP_NODELAY on the server's connections, and write head and body of an answer in one go."),
        counts=Counts.EACH_REQUEST,
    ),
}
