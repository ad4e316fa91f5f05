"""What the operator of a browser pool decides."""

from dataclasses import dataclass
from pathlib import Path

from workers.measurement.addresses import Network
from workers.measurement.target import Ports

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserSettings:
    """`size` pages load at once, each in a browser of its own.

    `chromium` is the binary; None finds Debian's. `sandbox` None uses Chromium's sandbox where it works; where it
    does not, only targets inside `allowed` are measured unless `allow_unsandboxed`. `allowed` and `extra_ports` widen
    what may be measured; `ca_file` (PEM) adds authorities to Chromium's own. A browser is closed after `idle_s`
    without work and replaced after `recycle_after` runs or `recycle_netlog_bytes` of log. A page is fully loaded when
    nothing happened on the network for `quiet_s` after its load event; one that never rests is left `settle_s` after
    it; one is given up whose bodies, or all that the log says of it, are larger than `max_page_bytes`, and so are steps
    by their log; what makes the browser hold `max_memory_bytes` more is ended. A browser proves with a page of ours
    that it is cold when it starts and then every `canary_every` runs.
    """

    size: int = 1
    chromium: Path | None = None
    sandbox: bool | None = None
    allow_unsandboxed: bool = False
    allowed: tuple[Network, ...] = ()
    extra_ports: Ports = frozenset()
    ca_file: Path | None = None
    idle_s: float = 60.0
    recycle_after: int = 100
    recycle_netlog_bytes: int = 128 * MIB
    canary_every: int = 25
    quiet_s: float = 2.0
    settle_s: float = 10.0
    max_page_bytes: int = 256 * MIB
    # Four hundred pictures of four megapixels each, all in sight, take 0.6 GB.
    max_memory_bytes: int = 2048 * MIB
    quic: bool = False
