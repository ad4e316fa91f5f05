"""How the kernel's own delay link is asked for, beside what Debian's `tc` sends for the same."""

import struct

import pytest

from workers.shaping import netem
from workers.shaping.settings import LinkSettings

# What `tc qdisc add dev lo root netem delay 150ms loss 0.5% limit 120 rate 1600kbit -14` sends: struct tc_netem_qopt
# but for the delay, which an attribute gives in ns and tc in ticks; and the attribute TCA_NETEM_RATE.
_LIMIT_AND_LOSS = bytes.fromhex("78000000 14ae4701")
_RATE = bytes.fromhex("14000600 400d0300 f2ffffff 00000000 00000000")


def _asked(monkeypatch: pytest.MonkeyPatch, **numbers: int | None) -> bytes:
    bodies: list[bytes] = []
    monkeypatch.setattr(netem, "request", lambda kind, body, flags, what: bodies.append(body))
    settings = LinkSettings(loss_ppm=5000)
    netem.delay("lo", delay_us=150_000, kbit_s=numbers.get("kbit_s"), settings=settings)
    return bodies[0]


def test_loss_and_the_rate_of_ip_packets_are_written_as_tc_writes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    body = _asked(monkeypatch, kbit_s=1600)
    assert _LIMIT_AND_LOSS in body
    assert body.endswith(_RATE)
    assert b"netem\0" in body


def test_the_delay_is_in_nanoseconds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert struct.pack("=HHq", 12, 10, 150_000_000) in _asked(monkeypatch)
