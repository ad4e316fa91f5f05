"""Which interfaces lead out of this machine, by what the kernel tells of its routes."""

from pathlib import Path

import pytest

from workers.shaping import uplink

_HEAD = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
_WAY_OUT = "uplink\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
_NEIGHBOURS = "uplink\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
# `ip route add unreachable default metric 4278198272`, as programs write it that let nothing out beside a tunnel.
_NO_WAY = "*\t00000000\t00000000\t0201\t0\t0\t4278198272\t00000000\t0\t0\t0\n"


def test_a_route_that_refuses_everything_leads_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    routes = tmp_path / "route"
    routes.write_text(_HEAD + _WAY_OUT + _NO_WAY + _NEIGHBOURS)
    monkeypatch.setattr(uplink, "_ROUTES4", routes)
    assert uplink.default_interfaces4() == ["uplink"]
