"""The pipe between the processes of an agent."""

import os
import time
from uuid import UUID

from workers.bell import Bell
from workers.measurement.messages import Progress, ProgressStage


def progress(number: int) -> Progress:
    return Progress(run_id=UUID(int=number), stage=ProgressStage.LOADING, requests=number)


def test_nobody_rang() -> None:
    assert Bell().listen(0.01) == (False, [])


def test_a_ring_wakes_at_once() -> None:
    bell = Bell()
    bell.ring()
    begun = time.monotonic()
    assert bell.listen(600) == (True, [])
    assert time.monotonic() - begun < 300


def test_what_is_told_arrives_in_order_between_rings() -> None:
    bell = Bell()
    bell.tell(progress(1))
    bell.ring()
    bell.tell(progress(2))
    assert bell.listen(1) == (True, [progress(1), progress(2)])


def test_a_bell_that_nobody_hears_does_not_hold_up_a_run() -> None:
    bell = Bell()
    for number in range(5_000):
        bell.tell(progress(number))
        bell.ring()
    rung, told = bell.listen(1)
    assert rung
    assert told[0] == progress(0)


def test_half_a_line_left_by_a_killed_reader_is_skipped() -> None:
    bell = Bell()
    bell.tell(progress(1))
    os.read(bell._reader, 20)
    bell.tell(progress(2))
    assert bell.listen(1) == (False, [progress(2)])


def test_a_line_that_would_not_go_in_one_piece_is_not_sent() -> None:
    bell = Bell()
    bell.tell(Progress(run_id=UUID(int=1), stage=ProgressStage.LOADING, requests=10**4200))
    assert bell.listen(0.01) == (False, [])
