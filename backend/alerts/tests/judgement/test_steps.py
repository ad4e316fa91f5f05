"""Steps of single phases: seen once, up and down, and not in noise."""

import random
from collections.abc import Iterable
from uuid import UUID

import pytest

from backend.alerts.judgement.samples import Sample, Seen
from backend.alerts.judgement.steps import AFTER, BEFORE, PhaseSteps
from backend.alerts.metrics import COLUMNS


def sample(tls_ms: float | None, *, region: str = "fra", number: int = 0) -> Sample:
    values = tuple(tls_ms * 1000 if column == "tls_us" and tls_ms is not None else None for column in COLUMNS)
    return Sample(region=region, at_us=number, run_id=UUID(int=number), seen=Seen.UP, detail="", values=values)


def answered(redirects_ms: float, *, number: int) -> Sample:
    """Of which each phase took 30 ms."""
    taken = {"dns_us": 30_000, "connect_us": 30_000, "tls_us": 30_000, "wait_us": 30_000, "ttfb_us": 120_000}
    taken["ttfb_us"] += round(redirects_ms * 1000)
    values = tuple(taken.get(column) for column in COLUMNS)
    return Sample(region="fra", at_us=number, run_id=UUID(int=number), seen=Seen.UP, detail="", values=values)


def heard(series: Iterable[float | None]) -> list[int]:
    """After which samples a step was heard, with the memory written down in between."""
    steps, places = PhaseSteps({}), []
    for number, tls_ms in enumerate(series):
        if steps.observe(sample(tls_ms, number=number)):
            places.append(number)
        steps = PhaseSteps(steps.memory())
    return places


@pytest.mark.parametrize("after_ms", [60.0, 20.0])
def test_a_step_is_heard_once_when_enough_runs_show_it(after_ms: float) -> None:
    assert heard([40.0] * BEFORE + [after_ms] * 100) == [BEFORE + AFTER - 1]


def test_the_way_back_is_a_step_too() -> None:
    assert len(heard([40.0] * BEFORE + [80.0] * (BEFORE + AFTER) + [40.0] * 50)) == 2


@pytest.mark.parametrize("after_ms", [49.0, 31.0])
def test_a_few_milliseconds_are_none(after_ms: float) -> None:
    assert heard([40.0] * BEFORE + [after_ms] * 100) == []


def test_a_quarter_is_needed_of_what_takes_long() -> None:
    assert heard([400.0] * BEFORE + [480.0] * 50) == []
    assert heard([400.0] * BEFORE + [520.0] * 50) == [BEFORE + AFTER - 1]


def test_a_run_that_is_as_before_puts_it_off() -> None:
    assert heard([40.0] * BEFORE + [80.0, 80.0, 40.0, 80.0, 80.0]) == []


def test_noise_is_no_step() -> None:
    chance = random.Random(3)
    assert len(heard(chance.lognormvariate(4, 0.4) for _ in range(20_000))) <= 1


@pytest.mark.parametrize(("after_ms", "heard_of"), [(60.0, 1), (25.0, 0)])
def test_redirects_that_a_probe_meets_newly_are_a_step(after_ms: float, heard_of: int) -> None:
    """They show in the first byte alone: the phases are those of the answer."""
    steps = PhaseSteps({})
    seen = [steps.observe(answered(20.0, number=number)) for number in range(BEFORE)]
    seen += [steps.observe(answered(after_ms, number=number)) for number in range(BEFORE, BEFORE + 20)]
    assert sum(seen) == heard_of


def test_regions_are_held_apart_and_what_was_not_measured_is_left_out() -> None:
    steps = PhaseSteps({})
    for number in range(BEFORE):
        assert not steps.observe(sample(40, number=number))
        assert not steps.observe(sample(80, region="iad", number=number))
        assert not steps.observe(sample(None, number=number))
    steps.keep(["fra"])
    assert list(steps.memory()) == ["fra"]
    assert [steps.observe(sample(90)) for _ in range(AFTER)] == [False] * (AFTER - 1) + [True]
