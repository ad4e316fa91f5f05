"""The twins of the network, of transport and of HTTP."""

from dataclasses import replace

from workers.measurement.finding import FindingId as Id
from workers.tests.netlab.conduct import Conduct, Stall
from workers.tests.netlab.names import Naming
from workers.tests.netlab.nginx import NginxConduct, Plain
from workers.tests.netlab.served import ChainWish, Network, SecondAddress, Served
from workers.tests.netlab.twin import Cost, Twin

NGINX = Served()
OWN = Served(conduct=Conduct())
_PAGE = 20_000
# A server that speaks nothing but HTTP/2.
_HTTP2 = Served(conduct=Conduct(protocols=("h2",), body_bytes=_PAGE))
_BOTH = Served(conduct=Conduct(protocols=("h2", "http/1.1"), body_bytes=_PAGE))
_BIG = NGINX.but(body_bytes=_PAGE)
_CHAIN = ChainWish(size_bytes=9400, intermediates=3)
_BIG12 = _BIG.but(protocols="TLSv1.2")
_SPLIT = Conduct(head_apart=True, body_bytes=700)
_SPLIT12 = Conduct(head_apart=True, body_bytes=700, newest="TLSv1.2")

NAMES = (
    Twin(
        id=Id.DNS_SLOW,
        name="slow-name",
        positive=replace(NGINX, naming=Naming(search_ms=600)),
        repaired=NGINX,
        cost=Cost.LOOKUP,
    ),
    Twin(
        id=Id.DNS_SLOW,
        name="slow-name-behind-a-redirect",
        positive=replace(NGINX, naming=Naming(search_ms=600), begin="/moved"),
        repaired=replace(NGINX, begin="/moved"),
        both=frozenset({Id.HTTP_REDIRECT_COST}),
        cost=Cost.LOOKUP,
    ),
    Twin(id=Id.DNS_CNAME_CHAIN, name="four-aliases", positive=replace(NGINX, naming=Naming(aliases=4)), repaired=NGINX),
    Twin(
        id=Id.DNS_CNAME_CHAIN,
        name="four-aliases-to-search",
        positive=replace(NGINX, naming=Naming(aliases=4, hop_ms=60)),
        repaired=NGINX,
        cost=Cost.LOOKUP,
        # Nearer, so long a search is slow by itself.
        rtts_ms=(380,),
    ),
    Twin(
        id=Id.DNS_CNAME_CHAIN,
        name="short-ttl",
        positive=replace(NGINX, naming=Naming(ttl_s=20, search_ms=60)),
        repaired=replace(NGINX, naming=Naming(ttl_s=300, search_ms=60)),
        # Nearer, such a search is slow by itself.
        rtts_ms=(80, 380),
    ),
    Twin(
        id=Id.IPV6_BROKEN_OR_SLOW,
        name="six-refuses",
        positive=replace(NGINX, second=SecondAddress(answers=False)),
        repaired=replace(NGINX, second=SecondAddress()),
        cost=Cost.FALLBACK,
        cost_from_ms=80,
    ),
    Twin(
        id=Id.IPV6_BROKEN_OR_SLOW,
        name="six-silent",
        positive=replace(NGINX, second=SecondAddress(answers=False, hears=False)),
        repaired=replace(NGINX, second=SecondAddress()),
        cost=Cost.FALLBACK,
        cost_from_ms=80,
    ),
)

REDIRECTS = (
    Twin(
        id=Id.HTTP_REDIRECT_COST,
        name="no-hsts",
        positive=NGINX.but(hsts=None),
        repaired=NGINX,
    ),
    Twin(
        id=Id.HTTP_REDIRECT_COST,
        name="from-http",
        positive=replace(NGINX, scheme="http"),
        repaired=NGINX,
        cost=Cost.JOURNEY,
        rtts_ms=(380,),
    ),
    Twin(id=Id.HTTP_REDIRECT_COST, name="short-hsts", positive=NGINX.but(hsts="max-age=86400"), repaired=NGINX),
    Twin(
        id=Id.HTTP_REDIRECT_COST,
        name="moved",
        positive=replace(NGINX, begin="/moved"),
        repaired=NGINX,
        cost=Cost.MOVED,
    ),
    Twin(
        id=Id.HTTP_REDIRECT_COST,
        name="moved-away",
        positive=replace(NGINX, begin="/away"),
        repaired=NGINX,
        cost=Cost.MOVED_AWAY,
    ),
    Twin(
        id=Id.HTTP_NO_TLS,
        name="no-tls",
        positive=Served(conduct=NginxConduct(secure=False, plain=Plain.PAGE), scheme="http"),
        repaired=NGINX,
    ),
)

TRANSPORT = (
    Twin(
        id=Id.TLS_RECORD_OVERFLOW,
        name="records-16k",
        positive=_BIG.but(buffer="16k"),
        repaired=_BIG,
        cost=Cost.ANSWER,
    ),
    Twin(
        id=Id.TLS_RECORD_OVERFLOW,
        name="records-16k-12",
        positive=_BIG12.but(buffer="16k"),
        repaired=_BIG12,
        both=frozenset({Id.TLS_VERSION_OLD}),
        cost=Cost.ANSWER,
    ),
    Twin(
        id=Id.TLS_RECORD_TINY,
        name="records-1300",
        positive=OWN.but(body_bytes=150_000, record_bytes=1300),
        repaired=OWN.but(body_bytes=150_000),
    ),
    Twin(
        id=Id.TCP_IW_SMALL,
        name="window-4",
        positive=replace(_BIG, network=Network(server_iw=4)),
        repaired=_BIG,
        cost=Cost.WHOLE,
    ),
    Twin(
        id=Id.TCP_IW_SMALL,
        name="window-4-long-chain",
        positive=replace(_BIG, network=Network(server_iw=4), chain=_CHAIN),
        repaired=replace(_BIG, chain=_CHAIN),
        both=frozenset({Id.TLS_CHAIN_LARGE}),
        cost=Cost.VISIT,
        cost_from_ms=380,
        rtts_ms=(80, 380),
    ),
    Twin(
        id=Id.TCP_IDLE_RESTART,
        name="idle-restart",
        positive=replace(_BIG, network=Network(idle_restart=True)),
        repaired=_BIG,
        cost=Cost.AFTER_IDLE,
    ),
    Twin(
        id=Id.TCP_IDLE_RESTART,
        name="idle-restart-h2",
        positive=replace(_HTTP2, network=Network(idle_restart=True)),
        repaired=_HTTP2,
        cost=Cost.AFTER_IDLE,
        cost_from_ms=80,
    ),
    Twin(
        id=Id.TCP_NAGLE_DELAYED_ACK,
        name="nagle",
        positive=Served(conduct=replace(_SPLIT, nodelay=False)),
        repaired=Served(conduct=_SPLIT),
        cost=Cost.DELAYED,
    ),
    Twin(
        id=Id.TCP_NAGLE_DELAYED_ACK,
        name="nagle-behind-packets",
        positive=Served(conduct=replace(_SPLIT, body_bytes=2000, nodelay=False)),
        repaired=Served(conduct=replace(_SPLIT, body_bytes=2000)),
        cost=Cost.DELAYED,
    ),
    Twin(
        id=Id.TCP_NAGLE_DELAYED_ACK,
        name="nagle-two-requests",
        positive=Served(conduct=replace(_SPLIT, most_requests=2, nodelay=False)),
        repaired=Served(conduct=replace(_SPLIT, most_requests=2)),
        cost=Cost.DELAYED,
    ),
    Twin(
        id=Id.TCP_NAGLE_DELAYED_ACK,
        name="nagle-no-goodbye",
        positive=Served(conduct=replace(_SPLIT, says_goodbye=False, nodelay=False)),
        repaired=Served(conduct=replace(_SPLIT, says_goodbye=False)),
        cost=Cost.DELAYED,
    ),
    Twin(
        id=Id.TCP_NAGLE_DELAYED_ACK,
        name="nagle-12",
        positive=Served(conduct=replace(_SPLIT12, nodelay=False)),
        repaired=Served(conduct=_SPLIT12),
        both=frozenset({Id.TLS_VERSION_OLD}),
        cost=Cost.DELAYED,
    ),
)

ANSWERS = (
    Twin(
        id=Id.HTTP_KEEPALIVE_OFF,
        name="closing",
        positive=OWN.but(keep_alive=False),
        repaired=OWN,
        cost=Cost.NEXT_REQUEST,
        # Nearer, what a server in Python computes for a handshake is not small beside a round trip.
        cost_from_ms=380,
    ),
    Twin(
        id=Id.HTTP_KEEPALIVE_OFF,
        name="closing-window-2",
        positive=replace(_BIG.but(keepalive_s=0, http2=False), network=Network(server_iw=2)),
        repaired=replace(_BIG.but(http2=False), network=Network(server_iw=2)),
        both=frozenset({Id.TCP_IW_SMALL}),
        cost=Cost.NEXT_REQUEST,
        cost_from_ms=80,
    ),
    Twin(
        id=Id.HTTP_KEEPALIVE_OFF,
        name="closing-h2",
        positive=_HTTP2.but(keep_alive=False),
        repaired=_HTTP2,
    ),
    Twin(
        id=Id.HTTP_KEEPALIVE_OFF,
        name="closing-h2-of-both",
        positive=_BOTH.but(closes_http2=True),
        repaired=_BOTH,
    ),
    Twin(
        id=Id.HTTP_THINK_TIME,
        name="thinking-h2",
        positive=_HTTP2.but(think_s=(0.3,)),
        repaired=_HTTP2.but(think_s=(0.05,)),
        with_it=frozenset({Id.HTTP_BUFFERED_RESPONSE}),
        cost=Cost.WAIT,
    ),
    Twin(id=Id.HTTP_H2_MISSING, name="no-h2", positive=NGINX.but(http2=False), repaired=NGINX),
    Twin(
        id=Id.HTTP_H3,
        name="h3-blocked",
        positive=NGINX.but(headers=(("Alt-Svc", 'h3=":443"; ma=86400'),)),
        repaired=replace(NGINX, quic=True),
    ),
    Twin(
        id=Id.TLS_CHAIN_LARGE,
        name="h3-amplified",
        positive=replace(NGINX, quic=True, chain=ChainWish(size_bytes=9400)),
        repaired=replace(NGINX, quic=True, chain=ChainWish(size_bytes=2000)),
        # One handshake of a server in Python: what it computes on a busy machine is much beside a short round trip.
        cost=Cost.QUIC_HANDSHAKE,
        cost_from_ms=380,
    ),
    Twin(
        id=Id.HTTP_THINK_TIME,
        name="thinking",
        positive=OWN.but(think_s=(0.3,)),
        repaired=OWN.but(think_s=(0.05,)),
        cost=Cost.WAIT,
    ),
    Twin(
        id=Id.HTTP_THINK_TIME,
        name="thinking-long",
        positive=OWN.but(think_s=(0.8,)),
        repaired=OWN.but(think_s=(0.05,)),
        cost=Cost.WAIT,
    ),
    Twin(
        id=Id.HTTP_THINK_TIME,
        name="thinking-now-and-then",
        positive=OWN.but(think_s=(0.05, 0.05, 0.95, 0.05, 0.95)),
        repaired=OWN.but(think_s=(0.05,)),
        shy=True,
        cost=Cost.MEAN_WAIT,
    ),
    Twin(
        id=Id.HTTP_BODY_STALL,
        name="drops",
        positive=OWN.but(body_bytes=10_000, trickle=Stall(after_bytes=2000, pause_s=0.3)),
        repaired=OWN.but(body_bytes=10_000),
        cost=Cost.WHOLE,
        # Farther, so short a silence may be the way's.
        rtts_ms=(20, 80),
    ),
    Twin(
        id=Id.HTTP_BODY_STALL,
        # Over a kept connection the kernel takes pieces of one size for full segments.
        name="equal-pieces",
        positive=OWN.but(body_bytes=4096, trickle=Stall(after_bytes=1024, pause_s=0.3)),
        repaired=OWN.but(body_bytes=4096),
        cost=Cost.WHOLE,
        # Farther, so short a silence may be the way's.
        rtts_ms=(20, 80),
    ),
    Twin(
        id=Id.HTTP_BODY_STALL,
        name="body-stall",
        positive=OWN.but(body_bytes=_PAGE, body_stall=Stall(after_bytes=5000, pause_s=0.5)),
        repaired=OWN.but(body_bytes=_PAGE),
        cost=Cost.WHOLE,
    ),
    Twin(
        id=Id.HTTP_BUFFERED_RESPONSE,
        name="buffered",
        positive=OWN.but(body_bytes=_PAGE, think_s=(0.3,)),
        repaired=OWN.but(body_bytes=_PAGE, think_s=(0.05,)),
        with_it=frozenset({Id.HTTP_THINK_TIME}),
    ),
)

HTTP_TWINS = (*NAMES, *REDIRECTS, *TRANSPORT, *ANSWERS)
