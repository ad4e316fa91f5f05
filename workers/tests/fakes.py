"""Instruments that measure nothing: what they do is written in the URL's path, so that it works across processes.

/ok             measured at once         /sleep/2.5    measured after 2.5 s
/until/go       measured once there is a file `go` beside the diary
/raise          our own fault            /kill         the process is killed in the middle of the run
"""

import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from workers.config import AgentConfig
from workers.measurement.messages import Early, Failed, Measured, OnProgress, ProgressStage, RunRequest
from workers.measurement.routes import PictureKind
from workers.measurement.timing import phases_of
from workers.pulse import About
from workers.tests.builders import build_page, build_pair, build_probe
from workers.tests.waiting import wait_for

EARLY = Early(
    phases=phases_of(build_probe().hops[-1].timing), tls_round_trips=2, rtt_us=20_000, connections=3, planned=16
)
PICTURES = {PictureKind.SCREENSHOT: b"\xff\xd8\xff\xe0 a picture", PictureKind.FILM: b"\xff\xd8\xff\xe0 a film"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FakePageLoad:
    outcome: Measured | Failed
    pictures: Mapping[PictureKind, bytes] = field(default_factory=lambda: dict(PICTURES))


class FakeProber:
    """`diary`, when given, gets one line for each run begun."""

    def __init__(self, diary: Path | None = None) -> None:
        self._diary = diary

    def probe(self, request: RunRequest, on_progress: OnProgress | None = None) -> Measured | Failed:
        _act(request, self._diary, on_progress)
        return Measured(measurement=build_probe())

    def pair(self, request: RunRequest, on_progress: OnProgress | None = None) -> Measured | Failed:
        _act(request, self._diary, on_progress)
        return Measured(measurement=build_pair())


class FakeLoader:
    def __init__(self, diary: Path | None = None) -> None:
        self._diary = diary

    def load(self, request: RunRequest, on_progress: OnProgress | None = None) -> FakePageLoad:
        _act(request, self._diary, on_progress)
        return FakePageLoad(outcome=Measured(measurement=build_page()))


class FakeToolbox:
    """Fakes for a whole agent; the diary lies beside its spool."""

    @contextmanager
    def prober(self, config: AgentConfig) -> Iterator[FakeProber]:
        yield FakeProber(diary_of(config.spool_dir))

    @contextmanager
    def shaped(self, config: AgentConfig) -> Iterator[FakeProber]:
        yield FakeProber(diary_of(config.spool_dir))

    @contextmanager
    def loader(self, config: AgentConfig, *, browsers: int) -> Iterator[FakeLoader]:
        yield FakeLoader(diary_of(config.spool_dir))

    @contextmanager
    def shaped_loader(self, config: AgentConfig, *, browsers: int) -> Iterator[FakeLoader]:
        yield FakeLoader(diary_of(config.spool_dir))

    def about(self, config: AgentConfig) -> About:
        return About(agent=config.agent_name, browser_version="FakeChrome/1", browser_sandbox=True)


def diary_of(spool_dir: Path) -> Path:
    return spool_dir.with_name("diary")


def _act(request: RunRequest, diary: Path | None, on_progress: OnProgress | None) -> None:
    if diary is not None:
        with open(diary, "a", encoding="utf-8") as file:
            file.write(f"{request.run_id} {os.getpid()}\n")
    if on_progress is not None:
        on_progress(ProgressStage.CONNECTING, None)
    match urlsplit(request.url).path.strip("/").split("/"):
        case ["sleep", seconds]:
            time.sleep(float(seconds))
        case ["until", name] if diary is not None:
            wait_for(diary.with_name(name).exists, f"the file {name}")
        case ["deeper"] if on_progress is not None:
            on_progress(ProgressStage.LOADING, EARLY)
        case ["raise"]:
            raise RuntimeError("a fault of ours, on purpose")
        case ["kill"]:
            os.kill(os.getpid(), signal.SIGKILL)
        case _:
            return
