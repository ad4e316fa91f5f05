"""Nothing is said only where the evidence says no: where it may be, it is found or left open, with the reason."""

from dataclasses import replace

import pytest

from workers.diagnosis.probe import answers, handshakes, names, path, protocols, redirects, transport
from workers.measurement.evidence import Depth, Trial
from workers.measurement.finding import FindingId as Id
from workers.measurement.finding import NotJudgedReason
from workers.tests.diagnosis.judging import found, left_open
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Server, connection, deep, light, name, probe
from workers.tests.diagnosis.sites import deep_site, light_site, shaken
from workers.tests.diagnosis.sites import left_open as left_open_of_site

RULES = (*path.RULES, *transport.RULES, *handshakes.RULES, *answers.RULES)
CHAIN = Server(handshake_bytes=18_000)


@pytest.mark.parametrize(("jitter", "rtt_ms"), [(0.3, 80), (0.6, 80), (0.9, 380)])
def test_a_chain_that_does_not_fit_is_not_passed_over_on_an_unsteady_way(jitter: float, rtt_ms: int) -> None:
    for seed in (0, 100):
        evidence = deep(Path(rtt_ms=rtt_ms, jitter=jitter, seed=seed), CHAIN)
        assert Id.TLS_CHAIN_EXCEEDS_IW in {*found(RULES, evidence), *left_open(RULES, evidence)}


@pytest.mark.parametrize("jitter", [1.5, 3])
@pytest.mark.parametrize("rtt_ms", [20, 80])
@pytest.mark.parametrize(
    ("id", "path", "server"),
    [
        (Id.TCP_NAGLE_DELAYED_ACK, Path(nagle=True), Server(head_apart=True, body_bytes=700)),
        (Id.TLS_CERT_FLUSH_STALL, Path(nagle=True), Server(handshake_bytes=5_500, flush_bytes=4_096)),
        (Id.TLS_CHAIN_EXCEEDS_IW, Path(), CHAIN),
        (Id.TCP_IDLE_RESTART, Path(idle_restart=True), Server(body_bytes=20_000)),
    ],
)
def test_a_wait_of_a_round_trip_is_not_passed_over_where_the_way_hides_it(
    id: Id, path: Path, server: Server, rtt_ms: int, jitter: float
) -> None:
    """As behind a radio that repeats packets, or a client that sleeps."""
    for seed in range(0, 1000, 100):
        evidence = deep(replace(path, rtt_ms=rtt_ms, jitter=jitter, seed=seed), server)
        assert id in {*found(RULES, evidence), *left_open(RULES, evidence)}


def test_nothing_is_left_open_for_the_way_that_cannot_be() -> None:
    """A handshake of one packet waits for nobody in its middle."""
    evidence = deep(Path(jitter=3), Server(handshake_bytes=1_200))
    assert not {Id.TLS_CERT_FLUSH_STALL, Id.TLS_CHAIN_EXCEEDS_IW} & left_open(RULES, evidence).keys()


def test_a_pause_of_two_explanations_is_left_open() -> None:
    """Where the round trips of several connections lie apart as far as the pause does from one."""
    stalled = Server(handshake_bytes=6_000, stall=(2_000, 100_000))
    nearer, farther = connection(Path(), stalled), connection(Path(rtt_ms=105), stalled)
    evidence = probe([nearer, nearer, nearer, farther])
    assert Id.TLS_HANDSHAKE_STALL not in found(RULES, evidence)
    assert left_open(RULES, evidence)[Id.TLS_HANDSHAKE_STALL] is NotJudgedReason.UNSTEADY


@pytest.mark.parametrize("jitter", [0.0, 0.02, 0.1])
@pytest.mark.parametrize("share", [1.05, 1.1, 1.25])
@pytest.mark.parametrize(("rtt_ms", "piece_bytes"), [(20, 6_000), (80, 6_000), (80, 9_000), (380, 6_000)])
def test_a_page_that_comes_piece_by_piece_about_a_round_trip_apart_is_not_passed_over(
    rtt_ms: int, piece_bytes: int, share: float, jitter: float
) -> None:
    """Two such pieces are as much as a window may hold, but no window stops again and again after as much."""
    count = max(5, round(600 / (share * rtt_ms)))
    server = Server(trickle=(piece_bytes, round(share * rtt_ms * 1000)), body_bytes=count * piece_bytes)
    evidence = deep(Path(rtt_ms=rtt_ms, jitter=jitter), server)
    assert Id.HTTP_BODY_STALL in {*found(RULES, evidence), *left_open(RULES, evidence)}


def test_a_connection_that_was_asked_once_says_nothing_of_its_being_kept() -> None:
    evidence = light(Path(), Server())
    once = replace(evidence.trials[0].exchanges[0], kept=None)
    evidence = replace(evidence, trials=(replace(evidence.trials[0], exchanges=(once,)),))
    assert left_open(RULES, evidence)[Id.HTTP_KEEPALIVE_OFF] is NotJudgedReason.NEEDS_DEEP_PROBE


def test_a_far_server_that_never_answered_is_not_judged_for_its_distance() -> None:
    silent = replace(connection(Path(rtt_ms=300), Server()), exchanges=())
    assert left_open(RULES, probe([silent]))[Id.TCP_RTT_HIGH] is NotJudgedReason.NOT_MEASURED


def test_a_short_life_that_a_cache_may_have_shortened_is_left_open() -> None:
    known = name(took_us=60_000, again_us=58_000, min_ttl_s=20)
    evidence = probe([connection(Path(), Server())], names=(known,))
    assert left_open(names.RULES, evidence)[Id.DNS_CNAME_CHAIN] is NotJudgedReason.NOT_MEASURED
    assert not found(names.RULES, evidence)


def test_what_no_probe_can_show_is_not_promised() -> None:
    evidence = replace(light_site(), port=8443)
    open_for = left_open((*redirects.RULES, *protocols.RULES), evidence)
    assert evidence.depth is Depth.LIGHT
    assert not {Id.HTTP_REDIRECT_COST, Id.HTTP_NO_TLS} & set(open_for)


def test_staples_that_nobody_could_see_are_left_open() -> None:
    site = shaken(deep_site(), tuple(Trial), stapled=None)
    with_responder = replace(site.certificates[0], ocsp_urls=("http://ocsp.example.net",))
    site = replace(site, certificates=(with_responder, *site.certificates[1:]))
    assert left_open_of_site(Id.TLS_OCSP, site) == "not_measured"
