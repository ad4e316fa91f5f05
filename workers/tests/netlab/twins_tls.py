"""The twins of the TLS handshake: versions, certificates, sessions."""

from workers.measurement.finding import FindingId as Id
from workers.tests.netlab.certificates import KeyKind, Life
from workers.tests.netlab.chains import Extra, Signer
from workers.tests.netlab.conduct import Conduct, Refusal, Stall
from workers.tests.netlab.nginx import NginxConduct
from workers.tests.netlab.served import ChainWish, Network, Served
from workers.tests.netlab.twin import Cost, Twin

NGINX = Served()
OWN = Served(conduct=Conduct())
_OWN12 = OWN.but(newest="TLSv1.2")
_OLD = Served(conduct=NginxConduct(protocols="TLSv1.2"))
_RSA = Served(conduct=NginxConduct(ciphers="DEFAULT:@SECLEVEL=0"), chain=ChainWish(key=KeyKind.RSA_2048))
_STATIC_RSA = Served(
    conduct=NginxConduct(protocols="TLSv1.2", ciphers="AES128-SHA256", http2=False),
    chain=ChainWish(key=KeyKind.RSA_2048),
)
_OLD_RSA = Served(
    conduct=NginxConduct(protocols="TLSv1.2", ciphers="ECDHE-RSA-AES128-GCM-SHA256", http2=False),
    chain=ChainWish(key=KeyKind.RSA_2048),
)
_FLUSHING = Conduct(handshake_write_bytes=4096, handshake_nodelay=False)
_LONG = ChainWish(size_bytes=5500)
# Two packets and a small rest, with all that is said besides.
_MIDDLE = ChainWish(size_bytes=2000)


def _chain(**wishes: object) -> Served:
    return Served(chain=ChainWish(**wishes))  # type: ignore[arg-type]  # by name


VERSIONS = (
    Twin(id=Id.TLS_VERSION_OLD, name="tls12-only", positive=_OLD, repaired=NGINX),
    Twin(
        id=Id.TLS_NO_FALSE_START,
        name="static-rsa",
        positive=_STATIC_RSA,
        repaired=_OLD_RSA,
        both=frozenset({Id.TLS_VERSION_OLD}),
    ),
    Twin(
        id=Id.TLS_NO_FALSE_START,
        name="static-rsa-and-no-tls13",
        positive=_STATIC_RSA,
        # What browsers gain by False Start, a client without it gains by TLS 1.3.
        repaired=_STATIC_RSA.but(protocols="TLSv1.2 TLSv1.3"),
        with_it=frozenset({Id.TLS_VERSION_OLD}),
        cost=Cost.HANDSHAKE,
        rtts_ms=(380,),
    ),
    Twin(
        id=Id.TLS_HELLO_RETRY,
        name="p384-only",
        positive=NGINX.but(curves="secp384r1"),
        repaired=NGINX,
        cost=Cost.HANDSHAKE,
        cost_from_ms=380,
    ),
    Twin(
        id=Id.TLS_HELLO_RETRY,
        name="p256-only",
        positive=NGINX.but(curves="prime256v1"),
        repaired=NGINX,
        cost=Cost.HANDSHAKE,
    ),
    Twin(
        id=Id.TLS_PQ,
        name="pq-reset",
        positive=OWN.but(hello_limit_bytes=1000),
        repaired=OWN,
    ),
    Twin(
        id=Id.TLS_PQ,
        name="pq-silence",
        positive=OWN.but(hello_limit_bytes=1000, refusal=Refusal.SILENCE),
        repaired=OWN,
    ),
    Twin(id=Id.TLS_PQ, name="pq-missing", positive=NGINX.but(http2=False), repaired=OWN),
)

FLIGHTS = (
    Twin(
        id=Id.TLS_CERT_FLUSH_STALL,
        name="flush-stall",
        positive=Served(conduct=_FLUSHING, chain=_LONG),
        repaired=Served(conduct=Conduct(handshake_write_bytes=4096), chain=_LONG),
        both=frozenset({Id.TLS_CHAIN_LARGE}),
        cost=Cost.HANDSHAKE,
    ),
    Twin(
        id=Id.TLS_CERT_FLUSH_STALL,
        name="flush-stall-12",
        positive=Served(
            conduct=Conduct(handshake_write_bytes=4096, handshake_nodelay=False, newest="TLSv1.2"), chain=_LONG
        ),
        repaired=Served(conduct=Conduct(handshake_write_bytes=4096, newest="TLSv1.2"), chain=_LONG),
        both=frozenset({Id.TLS_CHAIN_LARGE, Id.TLS_VERSION_OLD}),
        cost=Cost.HANDSHAKE,
    ),
    Twin(
        id=Id.TLS_CERT_FLUSH_STALL,
        name="flush-stall-delayed-ack",
        positive=Served(conduct=_FLUSHING, chain=_LONG, network=Network(delayed_ack_ms=200)),
        repaired=Served(conduct=Conduct(handshake_write_bytes=4096), chain=_LONG, network=Network(delayed_ack_ms=200)),
        both=frozenset({Id.TLS_CHAIN_LARGE}),
        cost=Cost.HANDSHAKE,
    ),
    Twin(
        id=Id.TLS_CERT_FLUSH_STALL,
        name="flush-stall-early",
        positive=Served(conduct=Conduct(handshake_write_bytes=1000, handshake_nodelay=False)),
        repaired=Served(conduct=Conduct(handshake_write_bytes=1000)),
        cost=Cost.HANDSHAKE,
    ),
    Twin(
        id=Id.TLS_CERT_FLUSH_STALL,
        name="flush-stall-behind-a-packet",
        positive=Served(
            conduct=Conduct(handshake_write_bytes=1000, handshake_nodelay=False, body_bytes=20_000), chain=_MIDDLE
        ),
        repaired=Served(conduct=Conduct(handshake_write_bytes=1000, body_bytes=20_000), chain=_MIDDLE),
        cost=Cost.HANDSHAKE,
    ),
    Twin(
        id=Id.TLS_CHAIN_EXCEEDS_IW,
        name="chain-18k",
        positive=_chain(size_bytes=18_000),
        repaired=_chain(size_bytes=2000),
        instead=frozenset({Id.TLS_CHAIN_LARGE}),
        cost=Cost.HANDSHAKE,
    ),
    Twin(
        id=Id.TLS_HANDSHAKE_STALL,
        name="handshake-stall",
        positive=OWN.but(handshake_stall=Stall(after_bytes=700, pause_s=0.5)),
        repaired=OWN,
        cost=Cost.HANDSHAKE,
    ),
    Twin(
        id=Id.TLS_HANDSHAKE_STALL,
        name="late-for-each",
        positive=OWN.but(handshake_think_s=0.07),
        repaired=OWN,
        # A lost packet delays few connections, this each.
        instead=frozenset({Id.TLS_HANDSHAKE_STALL}),
        cost=Cost.HANDSHAKE,
    ),
)

CHAINS = (
    Twin(
        id=Id.TLS_CHAIN_LARGE,
        name="chain-9k",
        positive=_chain(size_bytes=9400, intermediates=3),
        repaired=_chain(size_bytes=2000, intermediates=3),
    ),
    Twin(
        id=Id.TLS_CERT_COMPRESSION,
        name="compressible",
        positive=_chain(size_bytes=9400, intermediates=3),
        repaired=_chain(size_bytes=2000, intermediates=3),
        with_it=frozenset({Id.TLS_CHAIN_LARGE}),
    ),
    Twin(id=Id.TLS_CHAIN_NEEDLESS, name="with-root", positive=_chain(extras=(Extra.ROOT,)), repaired=NGINX),
    Twin(id=Id.TLS_CHAIN_NEEDLESS, name="with-twice", positive=_chain(extras=(Extra.DUPLICATE,)), repaired=NGINX),
    Twin(id=Id.TLS_CHAIN_NEEDLESS, name="with-stranger", positive=_chain(extras=(Extra.UNRELATED,)), repaired=NGINX),
    Twin(
        id=Id.TLS_CHAIN_INCOMPLETE,
        name="incomplete",
        positive=_chain(intermediates_sent=False, points_to_issuer=True),
        repaired=_chain(points_to_issuer=True),
    ),
    Twin(id=Id.TLS_CERT_EXPIRED, name="expired", positive=_chain(life=Life(begins=-100, ends=-10)), repaired=NGINX),
    Twin(id=Id.TLS_CERT_NOT_YET_VALID, name="too-early", positive=_chain(life=Life(begins=2, ends=92)), repaired=NGINX),
    Twin(id=Id.TLS_CERT_EXPIRING, name="ends-soon", positive=_chain(life=Life(begins=-80, ends=10)), repaired=NGINX),
    Twin(
        id=Id.TLS_CERT_EXPIRING,
        name="ends-in-weeks",
        positive=_chain(life=Life(begins=-70, ends=20)),
        repaired=_chain(life=Life(begins=-50, ends=40)),
    ),
    Twin(id=Id.TLS_CERT_NAME_MISMATCH, name="other-name", positive=_chain(stranger=True), repaired=NGINX),
    Twin(id=Id.TLS_CERT_SELF_SIGNED, name="self-signed", positive=_chain(signer=Signer.ITSELF), repaired=NGINX),
    Twin(id=Id.TLS_CERT_UNTRUSTED, name="unknown-issuer", positive=_chain(signer=Signer.UNKNOWN), repaired=NGINX),
    Twin(
        id=Id.TLS_OCSP,
        name="no-staple",
        positive=_chain(has_responder=True),
        repaired=_chain(has_responder=True, stapled=True),
    ),
    Twin(
        id=Id.TLS_OCSP,
        name="must-staple",
        positive=_chain(has_responder=True, must_staple=True),
        repaired=_chain(has_responder=True, must_staple=True, stapled=True),
    ),
)

KEYS = (
    Twin(
        id=Id.TLS_KEY_WEAK,
        name="rsa-1024",
        positive=Served(conduct=_RSA.conduct, chain=ChainWish(key=KeyKind.RSA_1024)),
        repaired=_RSA,
    ),
    Twin(
        id=Id.TLS_KEY_COST,
        name="rsa-4096",
        positive=Served(conduct=_RSA.conduct, chain=ChainWish(key=KeyKind.RSA_4096)),
        repaired=_RSA,
    ),
    Twin(
        id=Id.TLS_KEY_COST,
        name="slow-signature",
        positive=OWN.but(signature_s=0.07),
        repaired=OWN,
        cost=Cost.HANDSHAKE,
    ),
)

SESSIONS = (
    Twin(
        id=Id.TLS_RESUMPTION_MISSING,
        name="no-sessions",
        positive=NGINX.but(session_cache=False, tickets=False, early_data=False),
        repaired=NGINX.but(early_data=False),
        both=frozenset({Id.TLS_ZERO_RTT}),
    ),
    Twin(
        id=Id.TLS_RESUMPTION_MISSING,
        name="no-sessions-12",
        positive=_OLD.but(session_cache=False, tickets=False),
        repaired=_OLD,
        both=frozenset({Id.TLS_VERSION_OLD}),
        cost=Cost.TLS12_REVISIT,
    ),
    Twin(id=Id.TLS_RESUMPTION_FLAKY, name="two-nodes", positive=OWN.but(nodes=(0, 0, 0, 1, 1)), repaired=OWN),
    Twin(
        id=Id.TLS_RESUMPTION_FLAKY,
        name="two-nodes-12",
        positive=_OWN12.but(nodes=(0, 0, 0, 1, 1)),
        repaired=_OWN12,
        both=frozenset({Id.TLS_VERSION_OLD}),
        cost=Cost.TLS12_REVISITS,
        rtts_ms=(380,),
    ),
    Twin(
        id=Id.TLS_RESUMPTION_BROKEN,
        name="breaks-sessions",
        positive=OWN.but(breaks_sessions=True),
        repaired=OWN,
    ),
    Twin(
        id=Id.TLS_RESUMPTION_BROKEN,
        name="breaks-sessions-12",
        positive=_OWN12.but(breaks_sessions=True),
        repaired=_OWN12,
        both=frozenset({Id.TLS_VERSION_OLD}),
    ),
    Twin(
        id=Id.TLS_RESUMPTION_BROKEN,
        name="silent-to-sessions",
        positive=OWN.but(breaks_sessions=True, refusal=Refusal.SILENCE),
        repaired=OWN,
        # Silence takes long to be believed.
        rtts_ms=(80,),
    ),
    Twin(
        id=Id.TLS_ZERO_RTT,
        name="no-early-data",
        positive=NGINX.but(early_data=False),
        repaired=NGINX,
        cost=Cost.EARLIEST_REVISIT,
        # Nearer, what both sides compute for a resumed session is not small beside a round trip.
        cost_from_ms=380,
    ),
)

TLS_TWINS = (*VERSIONS, *FLIGHTS, *CHAINS, *KEYS, *SESSIONS)
