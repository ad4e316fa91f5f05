"""Two legs as they might be, with what both share and how restless the day is; and a verdict in short."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from workers.diagnosis.pair.samples import LegSample, PairSample
from workers.diagnosis.pair.verdict import PairVerdict
from workers.measurement.timing import Phases

# The wait of one exchange in microseconds, by the number of the pair in its series and whether it came second in it.
Noise = Callable[[Random, int, bool], float]


def leg(wait_us: float = 30_000, **changes: Any) -> LegSample:
    """An answer over TLS from 10 ms away."""
    phases = {"dns_us": 2_000, "connect_us": 10_000, "tls_us": 11_000, "send_us": 100, "download_us": 1_000}
    phases |= {name: changes.pop(name) for name in list(changes) if name.endswith("_us") and name in phases}
    values: dict[str, Any] = {
        "status": 200,
        "body_bytes": 5_000,
        "rtt_us": 10_000,
        "tls_round_trips": 1,
        "tls_version": "TLSv1.3",
    }
    return LegSample(phases=Phases(**phases, wait_us=max(0, round(wait_us))), **(values | changes))


def series(random: Random, count: int, noise: Noise, *, apart_us: float = 0) -> list[PairSample]:
    """Pairs in the order that a coin decides; leg a waits `apart_us` longer than b."""
    pairs = []
    for number in range(count):
        a_second = random.random() < 0.5
        a = leg(noise(random, number, a_second) + apart_us)
        b = leg(noise(random, number, not a_second))
        pairs.append(PairSample(a=a, b=b))
    return pairs


def fixed(count: int, a: LegSample, b: LegSample) -> list[PairSample]:
    """Pairs that differ from one another by a few microseconds, so that nothing is a tie."""
    random = Random(count)
    return [PairSample(a=_jittered(a, random), b=_jittered(b, random)) for _ in range(count)]


def _jittered(one: LegSample, random: Random) -> LegSample:
    wait_us = (one.phases.wait_us or 0) + random.randrange(200)
    return replace(one, phases=replace(one.phases, wait_us=wait_us))


def reasons(verdict: PairVerdict) -> dict[str, float]:
    return {reason.id: reason.difference_us / 1000 for reason in verdict.reasons}


def warnings(verdict: PairVerdict) -> set[str]:
    return {warning.id for warning in verdict.warnings}


def calm(random: Random, number: int, second: bool) -> float:
    return random.gauss(30_000, 300)


def wide(random: Random, number: int, second: bool) -> float:
    return random.gauss(60_000, 15_000)


def spikes(random: Random, number: int, second: bool) -> float:
    return random.gauss(30_000, 2_000) + (random.random() < 0.1) * random.uniform(100_000, 900_000)


def heavy_tails(random: Random, number: int, second: bool) -> float:
    return 20_000 + 5_000 * random.paretovariate(1.2)


def drift(random: Random, number: int, second: bool) -> float:
    return 30_000 + 2_500 * number + random.gauss(0, 3_000)


def steps(random: Random, number: int, second: bool) -> float:
    """A cache that has the asset every other time: two clouds of values."""
    return random.gauss(8_000 if random.random() < 0.5 else 80_000, 1_000)


def warmed_up(random: Random, number: int, second: bool) -> float:
    """Whoever comes second in a pair finds the way warm."""
    return random.gauss(20_000 if second else 32_000, 1_000)


def bursts(random: Random, number: int, second: bool) -> float:
    """Some stretches of the series are much slower than others."""
    return random.gauss(30_000, 1_000) + (number // 7 % 3 == 0) * random.expovariate(1 / 40_000)


NOISES: dict[str, Noise] = {
    noise.__name__: noise for noise in (calm, wide, spikes, heavy_tails, drift, steps, warmed_up, bursts)
}
