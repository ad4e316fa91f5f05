"""Certificates: trust, time, names, size."""

from collections.abc import Mapping

from workers.diagnosis.catalogue.entry import Counts, Entry
from workers.measurement.finding import FindingId

ENTRIES: Mapping[FindingId, Entry] = {
    FindingId.TLS_CHAIN_LARGE: Entry(
        title="The certificate chain is large",
        explanation=(
            "The server sends more than 4 KB of certificates with each full handshake. Over HTTP/3 a server may send "
            "three times what it got before it knows the client's address, about 7,200 bytes to today's browsers, so "
            "that a larger chain costs a round trip there."
        ),
        advice="Put fewer host names into the certificate, use ECDSA instead of RSA, and send no root.",
        counts=Counts.NEW_VISIT,
    ),
    FindingId.TLS_CHAIN_NEEDLESS: Entry(
        title="Certificates are sent that nobody needs",
        explanation=(
            "Among the certificates that the server sends are a root, which browsers have already or never trust, or "
            "some that do not belong to this chain. They make each full handshake larger."
        ),
        advice="Take them out of the certificate file: the server's own first, then its intermediates, no root.",
    ),
    FindingId.TLS_CHAIN_INCOMPLETE: Entry(
        title="An intermediate certificate is missing, or not in its place",
        explanation=(
            "The server sends its own certificate without the one that links it to a known authority, or not right "
            "before it, or before that another one which leads to no known authority or to one whose time is over. "
            "Some browsers fetch what is missing and lose time, or find the right way; others, and many programs, "
            "refuse the connection."
        ),
        advice=(
            "Serve the full chain in this order: the server's certificate first, then the intermediate that signed it, "
            "then the one that signed that."
        ),
    ),
    FindingId.TLS_CERT_EXPIRED: Entry(
        title="The certificate has expired",
        explanation=(
            "A certificate that this server sends was valid only until a day that has passed. Browsers show a warning "
            "in place of the site."
        ),
        advice="Renew it now, reload the server, and let renewal run by itself: lifetimes shrink to 47 days by 2029.",
    ),
    FindingId.TLS_CERT_EXPIRING: Entry(
        title="The certificate expires soon",
        explanation=(
            "Less than a third of the certificate's life is left, and by then it should have been renewed. When it "
            "runs out, browsers show a warning in place of the site."
        ),
        advice="Look why it was not renewed, and whether the server was reloaded after it was.",
    ),
    FindingId.TLS_CERT_NOT_YET_VALID: Entry(
        title="The certificate is not valid yet",
        explanation=(
            "The certificate's life begins later than now. Until then browsers show a warning in place of the site."
        ),
        advice="Check the clock of the machine that issued it, and serve the earlier certificate until then.",
    ),
    FindingId.TLS_CERT_NAME_MISMATCH: Entry(
        title="The certificate is for another name",
        explanation=(
            "None of the names in the certificate is the one that was asked for. Browsers show a warning in place of "
            "the site."
        ),
        advice="Issue a certificate that names this host, and make sure the server picks it for this name (SNI).",
    ),
    FindingId.TLS_CERT_SELF_SIGNED: Entry(
        title="The certificate is signed by itself",
        explanation=(
            "No authority vouches for this certificate: it was signed with its own key. Browsers show a warning in "
            "place of the site."
        ),
        advice="Get a certificate from an authority that browsers know; many give them away by ACME.",
    ),
    FindingId.TLS_CERT_UNTRUSTED: Entry(
        title="No known authority vouches for the certificate",
        explanation=(
            "The chain that the server sends does not lead to an authority that is trusted here, or one of its "
            "certificates must not be used for this (the evidence says what OpenSSL objects to). Browsers show a "
            "warning in place of the site."
        ),
        advice=(
            "Get a certificate from an authority that browsers know, and serve all its intermediates. For an authority "
            "of your own, tell Firstbyte its certificate (FIRSTBYTE_CA_FILE, or --cacert)."
        ),
    ),
    FindingId.TLS_KEY_WEAK: Entry(
        title="A certificate's key or signature is too weak",
        explanation=(
            "A certificate of this chain has a key that is too short, or was signed with a method that is broken. "
            "Clients refuse it."
        ),
        advice="Issue a new certificate with an ECDSA P-256 key, or RSA with 2048 bits, signed with SHA-256.",
    ),
    FindingId.TLS_OCSP: Entry(
        title="The certificate comes without proof that it is valid",
        explanation=(
            "The certificate can be revoked by OCSP, and the server does not send the authority's current word along "
            "(stapling), or what it sends is signed by nobody entitled. Clients that check have to ask the authority "
            "themselves; where the certificate demands a staple, or what comes along is an error or says that the "
            "certificate is revoked, Firefox and others refuse the connection."
        ),
        advice=(
            "Switch stapling on and make sure that the server can reach the authority, or use a certificate without "
            "OCSP, as most now are. Where the authority says that this one is revoked, replace it now; an error that "
            "it answers must not be stapled."
        ),
    ),
    FindingId.TLS_CERT_COMPRESSION: Entry(
        title="Certificates are not compressed",
        explanation=(
            "Browsers accept compressed certificates, and this chain is long enough to gain from it. Where a round "
            "trip is lost because the chain is larger than what the server may send at once, the evidence says "
            "whether it would fit compressed; that round trip is counted with the chain."
        ),
        advice="Switch on certificate compression where the server can, or make the chain shorter.",
        counts=Counts.NEW_VISIT,
    ),
    FindingId.TLS_CERT_COMPRESSION_BROKEN: Entry(
        title="Compressed certificates cannot be read",
        explanation=(
            "The server compresses its certificates for those who can take them so, and what it sends does not inflate "
            "to what it says, so that browsers which offer that algorithm cannot connect. The evidence names the "
            "algorithm and who offers it; a server may choose another for whoever offers less."
        ),
        advice="Switch certificate compression off until the server, or what stands before it, is updated.",
    ),
}
