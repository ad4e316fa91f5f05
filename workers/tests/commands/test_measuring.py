"""What a script is told by the number with which a measurement ends."""

import pytest

from workers.commands.measuring import exit_code
from workers.measurement.failure import FailureKind, failure
from workers.measurement.messages import Failed, Measured
from workers.tests.builders import build_page


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


def test_what_was_measured_ends_well() -> None:
    assert exit_code(Measured(measurement=build_page())) == 0
