"""Whether a pair kept its profile, by the handshakes of both its legs."""

import pytest

from workers.measurement.connection import Connection
from workers.measurement.messages import Measured, PairMeasurement
from workers.measurement.profile import NATIVE, Profile, parse_profile
from workers.shaped import marked
from workers.tests.diagnosis.test_pages import opened

# Two handshakes of 80 ms.
BOTH = (opened(1, "cdn.example", 0), opened(2, "origin.example", 400))


@pytest.mark.parametrize(
    ("profile", "connections", "kept"),
    [
        (parse_profile("-/-/60"), BOTH, True),
        (parse_profile("-/-/120"), BOTH, False),
        (parse_profile("-/-/60"), (BOTH[0], opened(2, "origin.example", 0, connect=None)), True),
        (parse_profile("-/-/60"), (), False),
        (NATIVE, BOTH, None),
    ],
)
def test_a_pair_is_marked_by_its_handshakes(
    profile: Profile, connections: tuple[Connection, ...], kept: object
) -> None:
    outcome = marked(Measured(measurement=PairMeasurement(connections=connections)), profile)
    assert isinstance(outcome.measurement, PairMeasurement)
    assert outcome.measurement.profile_verified is kept
