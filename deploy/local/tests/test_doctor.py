"""What `./dev doctor` makes of what the service says of itself."""

from collections.abc import Callable

import pytest

from deploy.local.doctor import Finding, broker_finding, pace_finding


@pytest.mark.parametrize(
    ("of", "said", "words", "is_well"),
    [
        (broker_finding, {"broker_memory": "ok", "regions": "2 of 2 online"}, "the broker has room", True),
        (broker_finding, {"broker_memory": "nearly full", "regions": "2 of 2 online"}, "nearly full", False),
        (
            broker_finding,
            {"broker_memory": "ok", "regions": "2 of 2 online, 1 filled the broker"},
            "a region filled the broker",
            False,
        ),
        (broker_finding, {"broker": "unreachable"}, "is not known", False),
        (pace_finding, {"scheduler": "ok", "judge": "ok"}, "keep pace", True),
        (pace_finding, {"scheduler": "ok", "judge": "behind"}, "pace: judge: behind", False),
        (pace_finding, {"database": "unreachable"}, "pace: scheduler: unknown, judge: unknown", False),
    ],
)
def test_a_broker_without_room_and_who_falls_behind_are_told_with_what_to_do(
    of: Callable[[dict[str, str]], Finding], said: dict[str, str], words: str, is_well: bool
) -> None:
    finding = of(said)
    assert words in finding.words
    assert (finding.advice is None) is is_well
