"""What a single load tells before there are pairs."""

from dataclasses import replace

import pytest

from workers.diagnosis.without.before import leading_nowhere, own_host_sentence, reached
from workers.measurement.failure import FailureKind, failure
from workers.measurement.messages import Failed, Measured
from workers.measurement.waterfall import ResourceType
from workers.tests.diagnosis.page_sketch import MAIN, row, sketch

HOST = "tags.example"
HOSTS = frozenset({HOST})
FAILS = Failed(failure=failure(FailureKind.PAGE_TIMEOUT))
ASKED = row(2, ResourceType.SCRIPT, 310, 400, host=HOST)
# As Chromium tells of it where its resolver knows no such host.
NOT_FOUND = replace(ASKED, status=None, connection=None, failure="net::ERR_NAME_NOT_RESOLVED")


def seen(request: object) -> Measured:
    return Measured(measurement=sketch(request, fcp_ms=500))  # type: ignore[arg-type]  # rows


@pytest.mark.parametrize(("request_", "found"), [(ASKED, HOSTS), (NOT_FOUND, frozenset())])
def test_a_host_that_was_asked_over_the_network_was_not_left_out(request_: object, found: frozenset[str]) -> None:
    assert reached(seen(request_), HOSTS) == found
    assert reached(seen(request_), frozenset({"other.example"})) == frozenset()


def test_a_failed_load_tells_of_hosts_what_was_seen_before() -> None:
    assert reached(FAILS, HOSTS) == frozenset()
    assert reached(replace(FAILS, measurement=seen(ASKED).measurement), HOSTS) == HOSTS


def test_a_first_load_leads_nowhere_that_failed_or_asked_nothing_of_the_hosts() -> None:
    assert leading_nowhere(seen(ASKED), HOSTS) is None
    nothing = leading_nowhere(seen(ASKED), frozenset({"other.example"}))
    assert nothing is not None
    assert nothing.sample is not None
    failed = leading_nowhere(FAILS, HOSTS)
    assert failed is not None
    assert failed.failure == FAILS.failure


def test_a_page_that_is_led_to_a_host_is_none_without_it() -> None:
    sentence = own_host_sentence(seen(ASKED), "https://example.org/", frozenset({MAIN}))
    assert sentence == f"https://example.org/ leads to {MAIN}: without it there is no page."
    assert own_host_sentence(seen(ASKED), "https://example.org/", HOSTS) is None
    assert own_host_sentence(FAILS, "https://example.org/", HOSTS) is None
