"""Probes through profiles, each in the network that its request asks for."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from workers import shaped
from workers.measurement.addresses import parse_networks
from workers.measurement.failure import FailureKind
from workers.measurement.messages import Failed, Measured, ProbeMeasurement
from workers.measurement.profile import PROFILES, Profile, parse_profile
from workers.probes.settings import ProbeSettings
from workers.shaped import ShapedProber, marked
from workers.shaping import place
from workers.shaping.faults import NotPermittedError
from workers.shaping.links import Links
from workers.tests.builders import build_request
from workers.tests.netlab.test_place import SERVER4, Machine, machine
from workers.tests.servers import Server, keeping, response
from workers.tests.waiting import undisturbed

SETTINGS = ProbeSettings(allowed=parse_networks("192.0.2.0/24,127.0.0.0/8"), extra_ports=frozenset(range(1024, 65536)))


@contextmanager
def prober(here: Machine, timeout_us: int = 20_000_000) -> Iterator[Callable[[str, Profile], Measured | Failed]]:
    """Measures from the made-up machine."""
    instrument = ShapedProber(SETTINGS)

    def probe(url: str, profile: Profile) -> Measured | Failed:
        request = build_request(url=url, profile=profile, timeout_us=timeout_us)
        return here.network.call(lambda: instrument.probe(request))

    try:
        yield probe
    finally:
        here.network.call(instrument.close)


def serving(here: Machine) -> Server:
    return here.world.call(lambda: Server(keeping(response()), host=SERVER4))


def measured(outcome: Measured | Failed) -> ProbeMeasurement:
    assert isinstance(outcome, Measured), outcome
    assert isinstance(outcome.measurement, ProbeMeasurement)
    return outcome.measurement


@undisturbed
def test_each_request_is_measured_through_its_own_profile_and_verified() -> None:
    with machine() as here, prober(here) as probe, serving(here) as server:
        outcomes = {rtt: probe(server.url(host=SERVER4), parse_profile(f"-/-/{rtt}")) for rtt in (30, 60, 90)}
    for rtt_ms, outcome in outcomes.items():
        measurement = measured(outcome)
        assert rtt_ms * 1000 <= (measurement.connections[0].rtt_us or 0) < rtt_ms * 1000 + 29_000
        assert measurement.evidence is not None
        assert measurement.evidence.profile_verified is True
        again = marked(outcome, parse_profile(f"-/-/{rtt_ms + 30}"))
        assert measured(again).evidence != measurement.evidence


def test_a_profile_asked_for_again_is_there_and_many_do_not_pile_up() -> None:
    with machine() as here, prober(here) as probe:
        before = len(here.network.call(socket.if_nameindex))
        with serving(here) as server:
            for rtt in (10, 11, 10, 12, 13, 14, 15, 10):
                measured(probe(server.url(host=SERVER4), parse_profile(f"-/-/{rtt}")))
        assert len(here.network.call(socket.if_nameindex)) == before + shaped._KEPT


@pytest.fixture
def links(monkeypatch: pytest.MonkeyPatch) -> list[Links]:
    """The processes of links that are made, in their order."""
    made: list[Links] = []

    def make() -> Links:
        made.append(Links())
        return made[-1]

    monkeypatch.setattr(place, "Links", make)
    monkeypatch.setattr(place, "has_netem", lambda: False)
    return made


def kill(links: Links) -> None:
    """As a machine does that has no memory left."""
    links._process.kill()
    links._process.wait()


def test_a_link_that_ended_is_made_anew_and_no_site_is_blamed_for_it(links: list[Links]) -> None:
    with machine() as here, prober(here) as probe, serving(here) as server:
        for _ in range(2):
            measured(probe(server.url(host=SERVER4), parse_profile("-/-/10")))
            kill(links[-1])
    assert len(links) == 2


def test_a_run_in_which_its_link_ended_says_nothing_of_its_site(links: list[Links]) -> None:
    with machine() as here, prober(here, timeout_us=2_000_000) as probe:
        server = here.world.call(lambda: Server(lambda _: kill(links[0]), host=SERVER4))
        with server:
            outcome = probe(server.url(host=SERVER4), parse_profile("-/-/10"))
    assert isinstance(outcome, Failed)
    assert outcome.failure.kind is FailureKind.PROFILE_UNAVAILABLE
    assert outcome.failure.detail.endswith("-/-/10/-: the process of its link has ended meanwhile")


def test_this_machine_itself_is_not_blamed_for_a_network_that_leads_away_from_it() -> None:
    with machine() as here, prober(here) as probe:
        outcome = probe("http://127.0.0.1:8080/", PROFILES["3g"])
    assert isinstance(outcome, Failed)
    assert outcome.failure.kind is FailureKind.PROFILE_UNAVAILABLE
    assert "3g: 127.0.0.1 is this machine itself" in outcome.failure.detail


def test_without_the_rights_for_it_the_run_fails_by_our_lack_and_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(profile: Profile, resolvers: tuple[str, ...]) -> None:
        raise NotPermittedError("Run it as root.")

    monkeypatch.setattr(shaped, "ShapedPlace", refuse)
    with ShapedProber(SETTINGS) as instrument:
        outcome = instrument.probe(build_request(url=f"http://{SERVER4}/", profile=PROFILES["3g"]))
    assert isinstance(outcome, Failed)
    assert outcome.failure.kind is FailureKind.PROFILE_UNAVAILABLE
    assert "3g: Run it as root." in outcome.failure.detail
