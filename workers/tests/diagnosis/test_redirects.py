"""Redirects before the page, the step from http:// without HSTS, and pages without TLS."""

from dataclasses import replace

import pytest

from workers.diagnosis.probe.headers import hsts_max_age_s, offers_http3
from workers.measurement.connection import Header
from workers.measurement.evidence import ProbeEvidence, Trial
from workers.measurement.failure import FailureKind, failure
from workers.measurement.finding import FindingId, Severity
from workers.measurement.messages import Hop
from workers.tests.diagnosis.sites import (
    ALT_SVC,
    HOST,
    HSTS,
    RTT_US,
    answer,
    answered,
    changed,
    deep_site,
    fact,
    finding,
    hop,
    judge,
    left_open,
    light_site,
    trial,
    without,
)

_COST, _NO_TLS = FindingId.HTTP_REDIRECT_COST, FindingId.HTTP_NO_TLS
_PAGE = hop(f"https://{HOST}/", 200, 400, dns=20, connect=80, tls=80, send=0.1, wait=82, download=5)


def plain(**changes: object) -> ProbeEvidence:
    """What http:// answers in the deep probe."""
    return answered(deep_site(), (Trial.PLAIN,), **changes)


def without_hsts(evidence: ProbeEvidence) -> ProbeEvidence:
    return answered(evidence, set(Trial) - {Trial.PLAIN}, headers=(ALT_SVC,))


def saving_ms(*hops: Hop) -> float | None:
    found = finding(_COST, deep_site(), *hops)
    return None if found is None or found.saving_us is None else found.saving_us / 1000


def test_a_page_that_answers_at_once_is_left_alone() -> None:
    assert finding(_COST, deep_site(), _PAGE) is None
    assert finding(_NO_TLS, deep_site(), _PAGE) is None


def test_a_redirect_from_another_host_costs_all_its_phases() -> None:
    first = hop("https://example.org/", 301, 0, dns=20, connect=80, tls=80, send=0.1, wait=81, download=0.2)
    found = finding(_COST, deep_site(), first, _PAGE)
    assert found is not None
    assert found.severity is Severity.MEDIUM
    assert found.saving_us == 261_300
    assert fact(found, "urls") == ("https://example.org/", f"https://{HOST}/")


def test_the_name_is_looked_up_once_so_the_step_to_https_costs_two_round_trips() -> None:
    first = hop(f"http://{HOST}/", 301, 0, dns=20, connect=80, send=0.1, wait=81, download=0.2)
    assert saving_ms(first, _PAGE) == pytest.approx(161.3)


@pytest.mark.parametrize(
    ("first", "headers", "said"),
    [
        (f"http://{HOST}/", (), "absent"),
        (f"http://{HOST}/", (Header(name="Strict-Transport-Security", value="max-age=60"),), "short"),
        (f"http://{HOST}/", (HSTS,), "present"),
        (f"http://{HOST}:8080/", (), None),
        ("http://example.org/", (), None),
        (f"https://{HOST}/old", (), None),
    ],
)
def test_a_journey_says_of_hsts_what_the_host_says_that_it_would_spare_a_step(
    first: str, headers: tuple[Header, ...], said: str | None
) -> None:
    step = hop(first, 301, 0, dns=20, connect=80, send=0.1, wait=81, download=0.2)
    found = finding(_COST, deep_site(), step, replace(_PAGE, response_headers=headers))
    assert fact(found, "hsts") == said


@pytest.mark.parametrize("seconds", [1, 3])
def test_the_wait_for_a_lost_syn_is_no_cost_of_a_redirect(seconds: int) -> None:
    first, unlucky = (
        hop(f"http://{HOST}/", 301, 0, dns=20, connect=connect_ms, send=0.1, wait=81, download=0.2)
        for connect_ms in (80, 80 + 1000 * seconds)
    )
    assert saving_ms(unlucky, _PAGE) == saving_ms(first, _PAGE)


def test_a_redirect_within_one_origin_costs_its_exchange_alone() -> None:
    first = hop(f"https://{HOST}:443/old", 302, 0, dns=20, connect=80, tls=80, send=0.1, wait=81, download=0.2)
    assert saving_ms(first, _PAGE) == pytest.approx(81.3)


def test_several_hops_add_up() -> None:
    first = hop("http://example.org/", 301, 0, dns=20, connect=80, send=0.1, wait=81, download=0.2)
    second = hop("https://example.org/", 301, 200, dns=20, connect=80, tls=80, send=0.1, wait=81, download=0.2)
    assert saving_ms(first, second, _PAGE) == pytest.approx(161.3 + 261.3)


def test_a_journey_that_never_arrived_is_no_question_of_speed() -> None:
    loop = hop(f"https://{HOST}/a", 302, 0, dns=20, connect=80, tls=80, send=0.1, wait=81, download=0.2)
    assert finding(_COST, deep_site(), loop, loop) is None
    nowhere = replace(hop("https://nowhere.example.org/", 0, 300, dns=20), status=None)
    assert finding(_COST, deep_site(), loop, nowhere) is None


@pytest.mark.parametrize("headers", [(), (Header(name="strict-transport-security", value="max-age=86400"),)])
def test_without_hsts_the_step_from_http_is_paid_each_time(headers: tuple[Header, ...]) -> None:
    site = answered(deep_site(), set(Trial) - {Trial.PLAIN}, headers=(ALT_SVC, *headers))
    found = finding(_COST, site, replace(_PAGE, response_headers=(ALT_SVC, *headers)))
    assert found is not None
    assert found.saving_us == 2 * RTT_US + 1_500
    assert fact(found, "hsts") == ("short" if headers else "absent")


def test_what_the_step_costs_is_not_what_it_took_once_on_a_bad_day() -> None:
    site = without_hsts(plain(ended_us=RTT_US * 2))
    (usual,) = site.of(Trial.PLAIN)
    slow = replace(usual, exchanges=(replace(usual.exchanges[0], ended_us=900_000),))
    repeated = replace(site, trials=(slow, *site.trials, usual))
    found = finding(_COST, repeated)
    assert found is not None
    assert (found.saving_us, fact(found, "plain_ms")) == (RTT_US * 2, RTT_US * 2 / 1000)


def test_the_step_costs_nothing_for_our_own_being_late_to_ask() -> None:
    late_us = 42_000
    asked = {"asked_us": RTT_US + late_us, "sent_us": RTT_US + late_us + 30, "ended_us": 2 * RTT_US + late_us}
    found = finding(_COST, without_hsts(plain(**asked)))
    assert found is not None
    assert (found.saving_us, fact(found, "plain_ms")) == (RTT_US * 2, RTT_US * 2 / 1000)


def test_of_an_answer_that_ends_before_it_was_asked_for_nothing_is_claimed() -> None:
    found = finding(_COST, without_hsts(plain(asked_us=2 * RTT_US, ended_us=RTT_US - 1)))
    assert found is not None
    assert found.saving_us is None


def test_without_plain_http_there_is_no_step_to_spare() -> None:
    refused = trial(Trial.PLAIN, exchanges=(), failure=failure(FailureKind.CONNECT_REFUSED))
    site = without_hsts(changed(deep_site(), (Trial.PLAIN,), lambda _: refused))
    assert finding(_COST, site) is None
    assert finding(_NO_TLS, site) is None


def test_a_plain_answer_that_leads_elsewhere_than_to_https_is_no_such_step() -> None:
    site = without_hsts(plain(headers=(Header(name="Location", value="/login"),)))
    assert finding(_COST, site) is None


def test_what_port_80_says_is_another_site_beside_one_on_a_port_of_its_own() -> None:
    site = replace(without_hsts(deep_site()), port=8443)
    assert finding(_COST, site) is None
    assert finding(_NO_TLS, replace(plain(status=200, headers=()), port=8443)) is None
    elsewhere = Header(name="Location", value=f"https://{HOST}:8443/")
    assert finding(_COST, without_hsts(plain(headers=(elsewhere,)))) is None


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1"])
def test_an_address_has_no_hsts(host: str) -> None:
    to_tls = Header(name="Location", value="https://192.0.2.1/")
    site = without_hsts(plain(headers=(to_tls,)))
    assert finding(_COST, site) is not None
    assert finding(_COST, replace(site, host=host)) is None


def test_one_connection_cannot_show_what_port_80_says() -> None:
    assert left_open(_COST, without_hsts(light_site())) == "needs_deep_probe"
    assert left_open(_NO_TLS, light_site()) == "needs_deep_probe"


def test_a_page_without_tls_is_told() -> None:
    site = deep_site(secure=False, port=80, trials=(trial(Trial.FULL, handshake=None),), certificates=())
    found = finding(_NO_TLS, site, hop(f"http://{HOST}/", 200, 0, dns=20, connect=80, send=0.1, wait=81, download=1))
    assert found is not None
    assert (found.severity, found.saving_us) == (Severity.HIGH, None)
    assert [one.id for one in judge(site).findings] == []


def test_a_page_that_port_80_serves_as_well_is_told() -> None:
    found = finding(_NO_TLS, plain(status=200, headers=()), _PAGE)
    assert fact(found, "url") == f"http://{HOST}/"
    assert finding(_NO_TLS, plain(status=404, headers=()), _PAGE) is None


@pytest.mark.parametrize(
    ("values", "max_age_s"),
    [
        (["max-age=31536000"], 31_536_000),
        (['includeSubDomains; Max-Age="600"'], 600),
        (["max-age=0"], 0),
        (["max-age=1", "max-age=31536000"], 1),
        (["preload"], None),
        (["max-age=-5"], None),
        (["max-age=abc; max-age=7"], 7),
        ([], None),
    ],
)
def test_hsts_is_read_as_browsers_do(values: list[str], max_age_s: int | None) -> None:
    headers = [Header(name="STRICT-Transport-Security", value=value) for value in values]
    assert hsts_max_age_s(headers) == max_age_s


@pytest.mark.parametrize(
    ("value", "offered"),
    [
        ('h3=":443"; ma=86400', True),
        ('h2="alt.example.org:443", h3=":8443"', True),
        ('h3-29=":443"; ma=86400', False),
        ('h2=":443"', False),
        ("clear", False),
        ('foo="h3=\\":443\\""', False),
    ],
)
def test_alt_svc_offers_http3_by_its_own_name_only(value: str, offered: bool) -> None:
    assert offers_http3([Header(name="alt-svc", value=value)]) is offered


def test_the_faultless_answer_has_both_headers() -> None:
    assert {HSTS, ALT_SVC} == set(answer().headers)
    assert not judge(without(deep_site(), Trial.EARLY_DATA), _PAGE).findings
