"""How far a probe's phases are from the packets, at 1, 50 and 500 probes in flight. Makes networks of its own."""

import tempfile
from pathlib import Path

from workers.tests.netlab.accuracy import Accuracy, accuracy_lab, measure_accuracy

# By probes in flight: how many probes, so that all are in flight for a while, and a hundred at least: of fewer the 99th
# percentile is the worst.
_PLAN = {1: 100, 50: 300, 500: 1500}
LIMITS_US = {"connect": 50, "tls": 100, "wait": 1000}
_SHARES = (0.5, 0.95, 0.99, 1.0)


def measure() -> list[Accuracy]:
    """One after the other, each in a lab of its own."""
    found = []
    for in_flight, probes in _PLAN.items():
        with tempfile.TemporaryDirectory() as folder, accuracy_lab(Path(folder), addresses=probes) as lab:
            lab.configure(in_flight=in_flight)
            found.append(measure_accuracy(lab, in_flight=in_flight, probes=probes))
    return found


def met(accuracy: Accuracy, phase: str) -> bool:
    """The 99th percentile keeps its limit, and no probe in twenty was without its packets."""
    enough = accuracy.lost * 20 <= len(accuracy.connect)
    return enough and accuracy.quantile_us(phase, 0.99) <= LIMITS_US[phase]


def lines(accuracy: Accuracy) -> list[str]:
    return [
        f"  {accuracy.in_flight:4} in flight  {phase:8}"
        + "".join(f"{accuracy.quantile_us(phase, share) / 1000:9.3f}" for share in _SHARES)
        + f"   limit {LIMITS_US[phase] / 1000:g}: {'met' if met(accuracy, phase) else 'MISSED'}"
        for phase in LIMITS_US
    ]


def document(accuracy: Accuracy) -> list[dict[str, object]]:
    return [
        {
            "in_flight": accuracy.in_flight,
            "phase": phase,
            "p50_ms": accuracy.quantile_us(phase, 0.5) / 1000,
            "p99_ms": accuracy.quantile_us(phase, 0.99) / 1000,
            "limit_ms": limit_us / 1000,
            "met": met(accuracy, phase),
        }
        for phase, limit_us in LIMITS_US.items()
    ]
