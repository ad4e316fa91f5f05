"""What `./dev doctor` makes of what the service says of itself."""

import pytest

from deploy.local.doctor import broker_finding, pace_finding


@pytest.mark.parametrize(
    ("said", "words", "is_well"),
    [
        ({"broker_memory": "ok", "regions": "2 of 2 online"}, "the broker has room", True),
        ({"broker_memory": "nearly full", "regions": "2 of 2 online"}, "nearly full", False),
        ({"broker_memory": "ok", "regions": "2 of 2 online, 1 filled the broker"}, "a region filled the broker", False),
        ({"broker": "unreachable"}, "is not known", False),
    ],
)
def test_a_broker_without_room_is_told_with_what_to_do(said: dict[str, str], words: str, is_well: bool) -> None:
    finding = broker_finding(said)
    assert words in finding.words
    assert (finding.advice is None) is is_well


@pytest.mark.parametrize(
    ("said", "words", "is_well"),
    [
        ({"scheduler": "ok", "judge": "ok"}, "keep pace", True),
        ({"scheduler": "ok", "judge": "behind"}, "pace: judge: behind", False),
        ({"database": "unreachable"}, "pace: scheduler: unknown, judge: unknown", False),
    ],
)
def test_who_works_in_the_service_and_falls_behind_is_told(said: dict[str, str], words: str, is_well: bool) -> None:
    finding = pace_finding(said)
    assert words in finding.words
    assert (finding.advice is None) is is_well
