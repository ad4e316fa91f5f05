"""Certificates are held against our clock only as long as the server's does not speak against it."""

from datetime import timedelta
from email.utils import format_datetime

import pytest

from workers.diagnosis.case import Case
from workers.diagnosis.probe.clocks import ahead
from workers.measurement.connection import Header
from workers.measurement.evidence import ProbeEvidence, Trial
from workers.measurement.finding import FindingId as Id
from workers.measurement.finding import Severity
from workers.tests.diagnosis.sites import INTERMEDIATE, NOW, answered, deep_site, finding, left_open, sent
from workers.tests.diagnosis.test_trust import faults, leaf

HOUR = 1 / 24
DAY = timedelta(days=1)


def dated(site: ProbeEvidence, by: timedelta, *more: Header, kinds: tuple[Trial, ...] = tuple(Trial)) -> ProbeEvidence:
    """Whose answers say that their server's clock is so far ahead of ours."""
    date = Header(name="date", value=format_datetime(NOW + by, usegmt=True))
    return answered(site, kinds, headers=(date, *more))


def expired(by: timedelta, *more: Header) -> ProbeEvidence:
    return dated(sent(leaf(-80, -HOUR), INTERMEDIATE, faults=faults(10)), by, *more)


def test_a_server_that_says_another_time_is_believed_as_much_as_we_are() -> None:
    for site, id in (
        (expired(timedelta(hours=-2)), Id.TLS_CERT_EXPIRED),
        (
            dated(sent(leaf(HOUR, 80), INTERMEDIATE, faults=faults(9)), timedelta(hours=2)),
            Id.TLS_CERT_NOT_YET_VALID,
        ),
    ):
        assert finding(id, site) is None
        assert left_open(id, site) == "clocks_apart"


@pytest.mark.parametrize(
    "by", [timedelta(), timedelta(minutes=-4), timedelta(minutes=-50), timedelta(hours=3), -90 * DAY]
)
def test_what_is_expired_by_both_clocks_is_expired(by: timedelta) -> None:
    """So is what began too late for the server's."""
    assert finding(Id.TLS_CERT_EXPIRED, expired(by)) is not None


def test_a_copy_that_was_kept_says_nothing_of_a_clock() -> None:
    assert finding(Id.TLS_CERT_EXPIRED, expired(timedelta(hours=-2), Header(name="Age", value="7200"))) is not None
    assert finding(Id.TLS_CERT_EXPIRED, expired(timedelta(hours=-2), Header(name="Age", value="0"))) is None


def test_answers_that_contradict_each_other_tell_no_time() -> None:
    site = dated(expired(timedelta(hours=-2)), timedelta(hours=-3), kinds=(Trial.HTTP2,))
    assert ahead(Case(evidence=site)) is None
    assert finding(Id.TLS_CERT_EXPIRED, site) is not None


@pytest.mark.parametrize("text", ["", "yesterday", "Sat, 99 Nov 2026 12:00:00 GMT", "Sat, 21 Nov 99999 12:00:00 GMT"])
def test_a_date_that_is_none_tells_no_time(text: str) -> None:
    site = answered(deep_site(), tuple(Trial), headers=(Header(name="Date", value=text),))
    assert ahead(Case(evidence=site)) is None


def test_how_soon_a_certificate_ends_is_told_where_both_clocks_say_the_same() -> None:
    soon = sent(leaf(-80, 10), INTERMEDIATE)
    found = finding(Id.TLS_CERT_EXPIRING, dated(soon, timedelta(hours=2)))
    assert found is not None
    assert found.severity is Severity.HIGH
    for by in (11 * DAY, -6 * DAY, -60 * DAY):
        assert finding(Id.TLS_CERT_EXPIRING, dated(soon, by)) is None
        assert left_open(Id.TLS_CERT_EXPIRING, dated(soon, by)) == "clocks_apart"
    assert left_open(Id.TLS_CERT_EXPIRING, dated(deep_site(), timedelta(hours=2))) is None
