"""The twins of servers that are not nginx: HAProxy, which seals what it has got from another server, and Caddy, whose
TLS, HTTP/2 and HTTP/3 are those of Go."""

from dataclasses import replace

from workers.measurement.finding import FindingId as Id
from workers.tests.netlab.caddy import CaddyConduct
from workers.tests.netlab.conduct import Conduct
from workers.tests.netlab.haproxy import HaproxyConduct
from workers.tests.netlab.served import ChainWish, Network, Served
from workers.tests.netlab.twin import Cost, Twin

_HAPROXY, _CADDY = Served(conduct=HaproxyConduct()), Served(conduct=CaddyConduct())
_HAPROXY_PAGE = Served(conduct=HaproxyConduct(origin=Conduct(body_bytes=20_000)))
_CADDY_PAGE = Served(conduct=CaddyConduct(body_bytes=20_000))
_LONG, _MIDDLE = ChainWish(size_bytes=18_000), ChainWish(size_bytes=2000)
_RESTING, _NARROW = Network(idle_restart=True), Network(server_iw=4)

HAPROXY_TWINS = (
    Twin(
        id=Id.TLS_RECORD_OVERFLOW,
        name="haproxy-records",
        positive=_HAPROXY_PAGE,
        repaired=_HAPROXY_PAGE.but(record_bytes=4096),
        cost=Cost.ANSWER,
    ),
    Twin(
        id=Id.TLS_RESUMPTION_MISSING,
        name="haproxy-no-sessions",
        positive=_HAPROXY.but(session_cache=False),
        repaired=_HAPROXY,
    ),
    Twin(
        id=Id.TLS_CHAIN_EXCEEDS_IW,
        name="haproxy-chain-18k",
        positive=replace(_HAPROXY, chain=_LONG),
        repaired=replace(_HAPROXY, chain=_MIDDLE),
        instead=frozenset({Id.TLS_CHAIN_LARGE}),
        cost=Cost.HANDSHAKE,
    ),
    Twin(
        id=Id.TCP_IDLE_RESTART,
        name="haproxy-idle-restart",
        positive=replace(_HAPROXY_PAGE.but(record_bytes=4096), network=_RESTING),
        repaired=_HAPROXY_PAGE.but(record_bytes=4096),
        cost=Cost.AFTER_IDLE,
    ),
)

# Go's first records leave in packets of their own: a loss behind one looks like a pause between two records. So its
# twins are told apart without losses alone.
CADDY_TWINS = (
    Twin(
        id=Id.TLS_RESUMPTION_MISSING,
        name="caddy-no-sessions",
        positive=_CADDY.but(tickets=False),
        repaired=_CADDY,
        # Without tickets there is nothing to send early data with.
        hidden=frozenset({Id.TLS_ZERO_RTT}),
        calm=True,
    ),
    Twin(
        id=Id.TLS_CHAIN_EXCEEDS_IW,
        name="caddy-chain-18k",
        positive=replace(_CADDY, chain=_LONG),
        repaired=replace(_CADDY, chain=_MIDDLE),
        instead=frozenset({Id.TLS_CHAIN_LARGE}),
        cost=Cost.HANDSHAKE,
        calm=True,
    ),
    Twin(
        id=Id.TCP_IDLE_RESTART,
        name="caddy-idle-restart",
        positive=replace(_CADDY_PAGE, network=_RESTING),
        repaired=_CADDY_PAGE,
        cost=Cost.AFTER_IDLE,
        calm=True,
    ),
    Twin(
        id=Id.TCP_IW_SMALL,
        name="caddy-window-4",
        positive=replace(_CADDY_PAGE, network=_NARROW),
        repaired=_CADDY_PAGE,
        cost=Cost.WHOLE,
        calm=True,
    ),
    Twin(
        id=Id.TLS_CHAIN_LARGE,
        name="caddy-h3-amplified",
        positive=replace(_CADDY, quic=True, chain=ChainWish(size_bytes=9400)),
        repaired=replace(_CADDY, quic=True, chain=_MIDDLE),
        cost=Cost.QUIC_HANDSHAKE,
        # What Python computes for QUIC on our side is in it.
        cost_from_ms=80,
        calm=True,
    ),
    Twin(
        id=Id.TLS_CHAIN_LARGE,
        name="caddy-h3-not-amplified",
        # To browsers, whose hello takes two datagrams.
        positive=replace(_CADDY, quic=True, chain=ChainWish(size_bytes=5500)),
        repaired=replace(_CADDY, quic=True, chain=_MIDDLE),
        cost=Cost.QUIC_HANDSHAKE,
        cost_from_ms=80,
        calm=True,
    ),
)

OTHER_TWINS = (*HAPROXY_TWINS, *CADDY_TWINS)
