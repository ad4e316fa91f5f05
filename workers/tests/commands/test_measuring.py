"""What a script is told by the number with which a measurement ends."""

from dataclasses import replace

import pytest

from workers.commands.measuring import exit_code
from workers.measurement.failure import Blame, FailureKind, failure
from workers.measurement.messages import Failed, Measured
from workers.tests.builders import build_page, build_probe


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (FailureKind.STATUS_UNEXPECTED, 1),
        (FailureKind.TEXT_MISSING, 1),
        (FailureKind.CONNECT_REFUSED, 4),
        (FailureKind.BROWSER_FAILED, 4),
        # The page was not seen: it can neither have passed nor failed.
        (FailureKind.PAGE_CHALLENGE, 4),
    ],
)
def test_what_could_not_be_measured_is_no_failed_check(kind: FailureKind, expected: int) -> None:
    assert exit_code(Failed(failure=failure(kind))) == expected


@pytest.mark.parametrize(("status", "expected"), [(200, 1), (None, 4)])
def test_a_probe_that_was_answered_in_spite_of_its_certificate_is_measured(status: int | None, expected: int) -> None:
    probe = build_probe()
    hops = (*probe.hops[:-1], replace(probe.hops[-1], status=status))
    failed = failure(FailureKind.CERTIFICATE_EXPIRED)
    assert exit_code(Failed(failure=failed, measurement=replace(probe, hops=hops))) == expected
    # Our own clock is what is wrong.
    assert exit_code(Failed(failure=replace(failed, blame=Blame.MONITOR), measurement=probe)) == 4


def test_what_was_measured_ends_well() -> None:
    assert exit_code(Measured(measurement=build_page())) == 0
