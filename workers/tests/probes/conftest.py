"""An engine that may measure loopback, with names of its own and an authority that it trusts."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

from workers.measurement.addresses import parse_networks
from workers.measurement.messages import Failed, Measured, OnProgress, ProbeMeasurement
from workers.probes import trial as trials
from workers.probes.engine import Engine
from workers.probes.settings import NameServer, NameSettings, ProbeSettings
from workers.tests.builders import build_request
from workers.tests.probes.resolver import Resolver
from workers.tests.servers import Authority, DnsServer, Zone

# What a probe of a site behind a name asks for.
NAME = "www.example.test"
EXTRA_PORTS = frozenset(range(1024, 65536))


class Lab:
    """What the tests of a probe share. `zone` is what its name server knows; fill it before probing."""

    def __init__(self, directory: Path, stack: ExitStack) -> None:
        self.zone = Zone()
        self.directory = directory
        self.authority = Authority.make(directory)
        self.dns = stack.enter_context(DnsServer(self.zone.answer))
        self.settings = ProbeSettings(
            allowed=parse_networks("127.0.0.0/8"),
            extra_ports=EXTRA_PORTS,
            ca_file=self.authority.ca_file,
            names=NameSettings(
                servers=(NameServer(address="127.0.0.1", port=self.dns.port),),
                hosts=directory / "hosts",
                # What is asked twice is counted twice.
                patience_s=20.0,
                rounds=2,
            ),
        )
        self._lock = Lock()
        self._stack = stack
        self._engine: Engine | None = None

    def configure(self, **changes: Any) -> None:
        """Other settings, before the first probe."""
        self.settings = replace(self.settings, **changes)

    @property
    def engine(self) -> Engine:
        with self._lock:
            if self._engine is None:
                self._engine = self._stack.enter_context(Engine(self.settings))
        return self._engine

    def probe(self, url: str, on_progress: OnProgress | None = None, **changes: Any) -> Measured | Failed:
        """One probe of the URL, with at most a minute unless told otherwise."""
        return self.engine.probe(build_request(**({"url": url, "timeout_us": 60_000_000} | changes)), on_progress)

    def measure(self, url: str, **changes: Any) -> ProbeMeasurement:
        """A probe that must succeed."""
        outcome = self.probe(url, **changes)
        assert isinstance(outcome, Measured), outcome
        assert isinstance(outcome.measurement, ProbeMeasurement)
        return outcome.measurement

    def fail(self, url: str, **changes: Any) -> tuple[Failed, ProbeMeasurement]:
        """A probe that must fail, and what it had seen before."""
        outcome = self.probe(url, **changes)
        assert isinstance(outcome, Failed), outcome
        assert isinstance(outcome.measurement, ProbeMeasurement)
        return outcome, outcome.measurement


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with ExitStack() as stack:
        yield Lab(tmp_path, stack)


@pytest.fixture
def resolver(tmp_path: Path) -> Iterator[Resolver]:
    with ExitStack() as stack:
        yield Resolver(stack, tmp_path)


@pytest.fixture
def named(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """On loopback no window is lost in a pause, however long."""
    monkeypatch.setattr(trials, "PAUSE_NS", 100_000_000)
    lab.zone.a[NAME] = ["127.0.0.1"]
    return lab
