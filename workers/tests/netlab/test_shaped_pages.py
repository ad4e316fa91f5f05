"""Pages through profiles: Chromium itself lives in the shaped network."""

from dataclasses import replace

import pytest

from workers.browser.settings import BrowserSettings
from workers.measurement.addresses import parse_networks
from workers.measurement.failure import FailureKind, failure
from workers.measurement.messages import Failed, Measured, PageMeasurement
from workers.measurement.profile import Profile, parse_profile
from workers.shaped_pages import ShapedLoader, marked_page
from workers.tests.builders import build_connection, build_page, build_request, span
from workers.tests.netlab.test_place import SERVER4, Machine, machine
from workers.tests.netlab.test_shaped import serving
from workers.tests.waiting import undisturbed

# Root's Chromium has no sandbox, here as in every test; the only target is our own server.
SETTINGS = BrowserSettings(
    allowed=parse_networks("192.0.2.0/24,127.0.0.0/8"),
    extra_ports=frozenset(range(1024, 65536)),
    sandbox=False,
    allow_unsandboxed=True,
)


def loaded(here: Machine, profile: Profile) -> PageMeasurement:
    loader = ShapedLoader(SETTINGS)
    with serving(here) as server:
        request = build_request(
            kind="page", url=server.url(host=SERVER4), profile=profile, timeout_us=30_000_000, headers=()
        )
        run = here.network.call(lambda: loader.load(request))
        here.network.call(loader.close)
    assert isinstance(run.outcome, Measured), run.outcome
    assert isinstance(run.outcome.measurement, PageMeasurement)
    return run.outcome.measurement


@undisturbed
def test_a_page_is_loaded_through_its_profile_and_verified() -> None:
    with machine() as here:
        page = loaded(here, parse_profile("-/-/200"))
    connect = page.waterfall.connections[0].connect
    assert connect is not None
    assert 200_000 <= connect.duration_us < 300_000
    assert page.profile_verified is True
    assert page.warnings == ()


def test_this_machine_itself_is_not_blamed_for_a_network_that_leads_away_from_it() -> None:
    loader = ShapedLoader(SETTINGS)
    with machine() as here:
        request = build_request(
            kind="page", url="http://127.0.0.1:8080/", profile=parse_profile("3g"), timeout_us=30_000_000, headers=()
        )
        outcome = here.network.call(lambda: loader.load(request)).outcome
        here.network.call(loader.close)
    assert isinstance(outcome, Failed)
    assert outcome.failure.kind is FailureKind.PROFILE_UNAVAILABLE
    assert "3g: 127.0.0.1 is this machine itself" in outcome.failure.detail


def test_a_page_that_was_quicker_than_its_link_says_so() -> None:
    page = build_page()
    outcome = marked_page(Measured(measurement=page), parse_profile("-/-/500"))
    assert isinstance(outcome.measurement, PageMeasurement)
    assert outcome.measurement.profile_verified is False
    assert "do not compare" in outcome.measurement.warnings[-1]


@pytest.mark.parametrize(("handshake_ms", "keeps"), [(117, True), (60, False)])
def test_handshakes_of_quic_tell_whether_a_page_kept_its_profile(handshake_ms: int, keeps: bool) -> None:
    """They have no TCP before them."""
    quic = build_connection(protocol="h3", resumed=False, connect=None, tls=span(0, handshake_ms))
    page = build_page()
    page = replace(page, waterfall=replace(page.waterfall, connections=(quic,)))
    outcome = marked_page(Measured(measurement=page), parse_profile("-/-/100"))
    assert isinstance(outcome.measurement, PageMeasurement)
    assert outcome.measurement.profile_verified is keeps


@pytest.mark.parametrize("connects", [True, False])
def test_of_a_page_that_failed_only_connections_cast_doubt_on_its_network(connects: bool) -> None:
    page = build_page()
    connections = page.waterfall.connections if connects else ()
    page = replace(page, waterfall=replace(page.waterfall, connections=connections))
    outcome = marked_page(
        Failed(failure=failure(FailureKind.DNS_TIMEOUT, "x"), measurement=page), parse_profile("-/-/500")
    )
    assert isinstance(outcome.measurement, PageMeasurement)
    assert (outcome.measurement.profile_verified, bool(outcome.measurement.warnings)) == (False, connects)
