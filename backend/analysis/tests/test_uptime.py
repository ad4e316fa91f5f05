"""For which part of a time a site could be reached."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.analysis.spans import union
from backend.analysis.uptime import Seen, Uptime, together, uptime_in

_SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=6).map(union)


def test_a_site_that_was_measured_and_never_down_was_up_all_the_time() -> None:
    seen = Seen(measured=((0, 100),), down=(), partly=())

    assert uptime_in(seen, (0, 100)) == Uptime(measured_us=100, down_us=0, partly_us=0, outages=0)
    assert uptime_in(seen, (0, 100)).share == 1


def test_the_share_is_of_the_measured_time() -> None:
    seen = Seen(measured=((0, 50), (90, 100)), down=((40, 60),), partly=())

    found = uptime_in(seen, (0, 100))

    assert (found.measured_us, found.down_us, found.outages) == (60, 10, 1)
    assert found.share == pytest.approx(5 / 6)


def test_of_a_time_in_which_nothing_was_measured_nothing_is_said() -> None:
    assert uptime_in(Seen(measured=((0, 10),), down=(), partly=()), (20, 30)).share is None


def test_what_is_planned_counts_neither_as_up_nor_as_down() -> None:
    seen = Seen(measured=((0, 100),), down=((10, 30),), partly=(), planned=((20, 40),))

    assert uptime_in(seen, (0, 100)) == Uptime(measured_us=80, down_us=10, partly_us=0, outages=1)


def test_an_outage_within_what_is_planned_is_none() -> None:
    seen = Seen(measured=((0, 100),), down=((22, 30),), partly=(), planned=((20, 40),))

    assert uptime_in(seen, (0, 100)).outages == 0


def test_from_a_part_of_the_regions_only_it_was_up_and_that_is_told_apart() -> None:
    seen = Seen(measured=((0, 100),), down=((10, 30),), partly=((5, 35),))

    found = uptime_in(seen, (0, 100))

    assert (found.down_us, found.partly_us) == (20, 10)


def test_a_site_is_down_when_one_of_its_monitors_says_so() -> None:
    probe = Seen(measured=((0, 100),), down=((10, 20),), partly=())
    page = Seen(measured=((0, 50),), down=((15, 40),), partly=((60, 70),))

    seen = together([probe, page], planned=((90, 95),))

    assert seen == Seen(measured=((0, 100),), down=((10, 40),), partly=((60, 70),), planned=((90, 95),))


@given(_SPANS, _SPANS, _SPANS, _SPANS, st.integers(1, 59))
def test_two_parts_of_a_time_have_what_the_whole_has(
    measured: tuple[tuple[int, int], ...],
    down: tuple[tuple[int, int], ...],
    partly: tuple[tuple[int, int], ...],
    planned: tuple[tuple[int, int], ...],
    cut: int,
) -> None:
    seen = Seen(measured=measured, down=down, partly=partly, planned=planned)

    whole, first, second = (uptime_in(seen, within) for within in ((0, 60), (0, cut), (cut, 60)))

    assert whole.measured_us == first.measured_us + second.measured_us
    assert whole.down_us == first.down_us + second.down_us
    assert whole.partly_us == first.partly_us + second.partly_us
    assert whole.down_us + whole.partly_us <= whole.measured_us
