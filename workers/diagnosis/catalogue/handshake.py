"""The TLS handshake: versions, round trips, resumption, key exchange."""

from collections.abc import Mapping

from workers.diagnosis.catalogue.entry import Counts, Entry
from workers.measurement.finding import FindingId

ENTRIES: Mapping[FindingId, Entry] = {
    FindingId.TLS_VERSION_OLD: Entry(
        title="TLS 1.3 is not spoken",
        explanation=(
            "The server agreed only on an older TLS, whose handshake takes two round trips instead of one. Browsers "
            "can hide one of them under good conditions (False Start), other clients cannot."
        ),
        advice="Switch on TLS 1.3 beside TLS 1.2; it needs OpenSSL 1.1.1 or later.",
        counts=Counts.NEW_VISIT,
    ),
    FindingId.TLS_NO_FALSE_START: Entry(
        title="The handshake takes two round trips in every browser",
        explanation=(
            "With TLS 1.2 a browser may send its request one round trip early (False Start), but only when ALPN and a "
            "cipher with forward secrecy and authenticated encryption were agreed on. This server does not offer them, "
            "so every new visitor waits a round trip longer."
        ),
        advice=(
            "Best switch on TLS 1.3, which needs one round trip only. For TLS 1.2 offer ECDHE with AES-GCM or ChaCha20 "
            "first, and ALPN (any server that speaks HTTP/2 has it)."
        ),
        counts=Counts.NEW_VISIT,
    ),
    FindingId.TLS_HELLO_RETRY: Entry(
        title="The handshake begins twice",
        explanation=(
            "The server supports none of the key exchanges that browsers begin with and asks for another one "
            "(HelloRetryRequest). That costs each new visitor a round trip."
        ),
        advice="Allow X25519 (and X25519MLKEM768 where OpenSSL is 3.5 or later) beside the curves you have.",
        counts=Counts.NEW_VISIT,
    ),
    FindingId.TLS_CERT_FLUSH_STALL: Entry(
        title="The server pauses in the middle of its certificate",
        explanation=(
            "The server sends a first part of its handshake, often 4 KB, then holds the small rest back until the "
            "client has acknowledged that. It costs a round trip, and up to 200 ms more with clients that delay "
            "acknowledgements."
        ),
        advice=(
            "Update the server (nginx 1.5.6 and later do not do this), or set TCP_NODELAY on its connections before "
            "the handshake."
        ),
        counts=Counts.NEW_VISIT,
    ),
    FindingId.TLS_CHAIN_EXCEEDS_IW: Entry(
        title="The certificate chain does not fit into the first window",
        explanation=(
            "Before the client has acknowledged anything, a new connection may carry no more than the server's first "
            "window: about 14 KB where that is the usual one, and here what the evidence calls sent before the gap. "
            "The certificates are larger, so that the rest of the handshake has to wait for a round trip."
        ),
        advice=(
            "Send fewer and smaller certificates: fewer host names in one, ECDSA instead of RSA, no root, no stranger. "
            "Where records are too large as well, mend those first: a shorter chain alone would make their cost "
            "visible."
        ),
        counts=Counts.NEW_VISIT,
    ),
    FindingId.TLS_HANDSHAKE_STALL: Entry(
        title="The server pauses during the handshake",
        explanation=(
            "In the middle of the handshake, or before its first word though nothing was to be signed, the server sent "
            "nothing for a while, and neither the distance nor a lost packet explains it. Something on its side is "
            "slow: a busy processor, a key that is kept elsewhere, a lock."
        ),
        advice=(
            "Look at the server's load during handshakes, at the latency of a key server or security module, and at "
            "what its TLS callbacks do. Where nothing was sent before the gap, handshakes that continue a session wait "
            "as long: look at how long new connections wait for a free worker, and whether a firewall before the "
            "server looks into each of them first."
        ),
        counts=Counts.NEW_VISIT,
    ),
    FindingId.TLS_KEY_COST: Entry(
        title="The handshake is expensive for the server",
        explanation=(
            "Every full handshake needs a signature by the certificate's key before the server can say anything, and "
            "here the server takes long to begin. A long RSA key makes it so, and the handshake larger; with a short "
            "key it is whatever else comes first: a key that is kept elsewhere, or workers that are all busy."
        ),
        advice=(
            "Use an ECDSA P-256 certificate, or RSA with 2048 bits where old clients need RSA. Where the evidence "
            "names such a key already, look at the latency of a key server or security module, and at how long new "
            "connections wait for a free worker."
        ),
        counts=Counts.NEW_VISIT,
    ),
    FindingId.TLS_RESUMPTION_MISSING: Entry(
        title="Returning visitors pay for a full handshake",
        explanation=(
            "The server never accepted a session that it had set up before, so nobody can continue where they left "
            "off. With TLS 1.2 that costs a round trip on each new connection (browsers that send early hide it), "
            "with TLS 1.3 certificates and computing time."
        ),
        advice="Switch on a session cache that all workers share, or session tickets.",
        counts=Counts.RETURNING_VISIT,
    ),
    FindingId.TLS_RESUMPTION_FLAKY: Entry(
        title="Sessions are resumed only sometimes",
        explanation=(
            "Some connections could continue an earlier session and others could not, as happens when several servers "
            "behind one address, or at several addresses, do not know each other's keys, or where sessions live for "
            "seconds only. Those visitors pay for a full handshake."
        ),
        advice=(
            "Give all servers of the site the same ticket keys, and change them together. Where the evidence says that "
            "tickets live for less than an hour, let them live for a day."
        ),
        counts=Counts.RETURNING_VISIT,
    ),
    FindingId.TLS_RESUMPTION_BROKEN: Entry(
        title="Connections of returning visitors fail",
        explanation=(
            "The server gave sessions, and broke each connection off that wanted to continue one, or left it without "
            "an answer, while those that began anew were served. A browser that was here before shows an error first, "
            "and forgets the session."
        ),
        advice=(
            "Look for what the server, or a load balancer before it, does with sessions: keys for tickets that not "
            "all of them have, a cache that is not there. Until that is found, switch session tickets and caches off."
        ),
    ),
    FindingId.TLS_ZERO_RTT: Entry(
        title="0-RTT is not offered",
        explanation=(
            "With TLS 1.3 a returning visitor could send the request along with the first packet of the handshake, and "
            "this server does not allow it. It would save a round trip on each new connection."
        ),
        advice=(
            "Think of switching it on for requests that may safely arrive twice: early data can be replayed by an "
            "attacker. Pass the Early-Data header on, and let the application answer 425 where it must not happen."
        ),
        counts=Counts.RETURNING_VISIT,
    ),
    FindingId.TLS_PQ: Entry(
        title="Post-quantum key exchange is missing or broken",
        explanation=(
            "Browsers offer a key exchange that quantum computers cannot break (X25519MLKEM768), which makes their "
            "first message larger than one packet. A server that does not know it falls back to X25519; one that "
            "breaks on the larger message shuts these browsers out, one that lets it wait keeps them waiting."
        ),
        advice=(
            "Where the handshake breaks: update or remove the firewall or load balancer that cannot read a ClientHello "
            "of two packets; where the evidence says that full packets vanish, let ICMP pass or clamp the MSS to what "
            "the path carries. Where it is only not supported: OpenSSL 3.5 or later brings it, switched on by default."
        ),
    ),
    FindingId.TLS_RECORD_OVERFLOW: Entry(
        title="The first record is too large to be read in time",
        explanation=(
            "The server packs its answer into TLS records that are larger than what a new connection can carry at "
            "once, and a record can be read only when it is whole. The first byte was here a round trip before it "
            "could be used; where the head of the answer has a record of its own, the first byte of the page."
        ),
        advice="Let the server write records of 4 KB, or records that begin small and grow.",
        counts=Counts.NEW_VISIT,
    ),
    FindingId.TLS_RECORD_TINY: Entry(
        title="All records are tiny",
        explanation=(
            "Even in the middle of a large body every TLS record fills no more than a packet. That costs a few per "
            "cent more bytes and processor time, and gains nothing once the connection is fast; records of a few bytes "
            "cost many times what they carry."
        ),
        advice=(
            "Use records of 4 KB, or records that begin small and grow. Where they are of a few bytes, let the "
            "application write in larger pieces."
        ),
    ),
}
