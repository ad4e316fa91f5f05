"""What detection costs, how often it is wrong, how soon it is right, in made-up months with one setting for all."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import repeat
from statistics import median
from time import process_time

import numpy as np

from backend.analysis.changepoints import changepoints
from backend.analysis.detector import Detector
from backend.analysis.events import AlertClass
from backend.analysis.model import fit_model
from backend.analysis.replay import Recorded, in_order
from backend.analysis.settings import DAY_S, settings_for
from backend.analysis.simulation import START, World, simulate
from backend.analysis.trials import Found, false_alerts, find_step
from backend.bench.figures import Figure

CVS = (0.05, 0.15, 0.30)
REGIONS = (1, 5)
MONTHS, STEPS, SERIES = 40, 40, 200
# What is asked of the detector: one false alert in ten months of a series, and a step told so many minutes after it.
TARGET_SAMPLE_US, TARGET_REFIT_MS = 5, 5
TARGET_FALSE_A_MONTH = 0.1
TARGET_MIN = {1.2: 120, 1.5: 40}
TARGET_PLACED, TARGET_FALSE_CHANGES = 0.95, 0.05


def measure() -> Iterator[Figure]:
    yield from _cost()
    yield from _change_points()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for regions in REGIONS:
            for cv in CVS:
                yield from _false(pool, World(cv=cv, regions=regions), "")
        for cv in CVS:
            hostile = World(cv=cv, site_slowdowns=0.1, region_slowdowns=0.3)
            yield from _false(pool, hostile, ", short slowdowns")
        for regions in REGIONS:
            for cv in CVS:
                yield from _steps(pool, World(cv=cv, regions=regions))


def _false(pool: ProcessPoolExecutor, world: World, kind: str) -> Iterator[Figure]:
    months = list(pool.map(false_alerts, repeat(world), range(MONTHS)))
    told = f"{_name(world)}{kind}"
    a_month = {alert_class: sum(month[alert_class] for month in months) / MONTHS for alert_class in AlertClass}
    regressions = a_month.pop(AlertClass.REGRESSION)
    yield Figure(
        name=f"false regressions, {told}", value=regressions, unit="/month", target=TARGET_FALSE_A_MONTH, at_least=False
    )
    yield Figure(name=f"other alerts, {told}", value=sum(a_month.values()), unit="/month")


def _steps(pool: ProcessPoolExecutor, world: World) -> Iterator[Figure]:
    for factor, target in TARGET_MIN.items():
        found = list(pool.map(partial(find_step, world, factor=factor), range(STEPS)))
        told = f"{factor - 1:+.0%}, {_name(world)}"
        delays = [_minutes(one) for one in found]
        # The issue asks for five regions at 15 per cent; elsewhere physics does not allow it.
        asked = target if world.regions == 5 and world.cv <= 0.15 else None
        yield Figure(name=f"{told}: told, median", value=median(delays), unit="min", target=asked, at_least=False)
        beside = [abs(one.beside_rounds) for one in found if one.beside_rounds is not None]
        yield Figure(name=f"{told}: placed within 5 rounds", value=_share(beside, 5), unit="of 1")
        yield Figure(name=f"{told}: alerts", value=sum(one.alerts for one in found) / STEPS, unit="each")


def _minutes(found: Found) -> float:
    return float("inf") if found.told_min is None else found.told_min


def _share(values: Sequence[float], limit: float) -> float:
    return sum(value <= limit for value in values) / max(len(values), 1)


def _name(world: World) -> str:
    return f"{world.regions} region{'s' if world.regions > 1 else ''}, CV {world.cv:.0%}"


def _cost() -> Iterator[Figure]:
    settings = settings_for("ttfb_ms", interval_s=300)
    samples = simulate(World(cv=0.15, days=10), 1)
    history, now = Recorded(samples), START + 9 * DAY_S
    detector = Detector(settings, history)
    for at, region, value in in_order(samples):
        if at < now:
            detector.observe(at, region, value)
    fresh = [sample for sample in in_order(samples) if now <= sample[0] < now + DAY_S / 2]
    yield Figure(
        name="a sample of one of five regions",
        value=1e6 * min(_time_of(detector, fresh) for _ in range(5)) / len(fresh),
        unit="us",
        target=TARGET_SAMPLE_US,
        at_least=False,
    )
    past = history.samples(now - 9 * DAY_S, now)
    began, times = process_time(), 20
    for _ in range(times):
        fit_model(past, (), settings)
    per_region = (process_time() - began) / times / len(past)
    yield Figure(
        name="a baseline of eight days, each region",
        value=1e3 * per_region,
        unit="ms",
        target=TARGET_REFIT_MS,
        at_least=False,
    )


def _time_of(detector: Detector, samples: Sequence[tuple[float, str, float | None]]) -> float:
    again = Detector.from_state(settings_for("ttfb_ms", interval_s=300), Recorded({}), detector.state())
    began = process_time()
    for at, region, value in samples:
        again.observe(at, region, value)
    return process_time() - began


def _change_points() -> Iterator[Figure]:
    """White noise with spikes, 400 samples with one step of two deviations, 1,000 without."""
    random = np.random.default_rng(1)
    placed = []
    for _ in range(SERIES):
        step = int(random.integers(50, 350))
        logs = 0.15 * random.normal(size=400) + np.where(np.arange(400) < step, 0, 0.3)
        placed.append(any(abs(found - step) <= 5 for found in changepoints(_with_spikes(logs, random))))
    share = sum(placed) / SERIES
    yield Figure(name="step of 2 sd placed within 5 samples", value=share, unit="of 1", target=TARGET_PLACED)
    for cv in CVS:
        false = sum(len(changepoints(_with_spikes(cv * random.normal(size=1000), random))) for _ in range(SERIES))
        yield Figure(
            name=f"false change points, CV {cv:.0%}",
            value=false / SERIES,
            unit="/1,000",
            target=TARGET_FALSE_CHANGES,
            at_least=False,
        )


def _with_spikes(logs: np.ndarray[tuple[int], np.dtype[np.float64]], random: np.random.Generator) -> list[float]:
    spikes = np.where(random.random(logs.size) < 0.015, random.uniform(2, 12, logs.size), 1)
    values: list[float] = (200 * np.exp(logs) * spikes).tolist()
    return values
