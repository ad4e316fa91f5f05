"""How far Chromium's phases are from the packets, by kind of connection. Makes networks of its own."""

from workers.tests.netlab.page_accuracy import PHASES, RTT_MS, SITES, Error, measure, worst_us
from workers.tests.shapes.browsing import shape_lab

_LOADS = 20
_SHARES = (0.5, 0.9, 1.0)
LIMIT_US = 2000

Found = dict[tuple[str, str], list[Error]]


def measure_pages() -> Found:
    """Errors by site and phase."""
    found: Found = {}
    with shape_lab(RTT_MS) as lab:
        for name in SITES:
            for error in measure(lab, name, _LOADS):
                found.setdefault((name, error.phase), []).append(error)
    return found


def met(errors: list[Error]) -> bool:
    """Nine in ten keep to 2 ms or 2 %."""
    return sum(error.met for error in errors) * 10 >= len(errors) * 9


def lines(found: Found) -> list[str]:
    return [
        f"  {name:12}{phase:8}"
        + "".join(f"{worst_us(found[name, phase], share) / 1000:9.3f}" for share in _SHARES)
        + f"   of {len(found[name, phase]):3}, 2 ms or 2 %: {'met' if met(found[name, phase]) else 'MISSED'}"
        for name in SITES
        for phase in PHASES
        if (name, phase) in found
    ]


def document(found: Found) -> list[dict[str, object]]:
    return [
        {
            "site": name,
            "phase": phase,
            "p50_ms": worst_us(errors, 0.5) / 1000,
            "p90_ms": worst_us(errors, 0.9) / 1000,
            "max_ms": worst_us(errors, 1.0) / 1000,
            "limit_ms": LIMIT_US / 1000,
            "met": met(errors),
        }
        for (name, phase), errors in found.items()
    ]
