"""What of a page's options must be told to Chromium when it starts: protocols and addresses hold for a whole process.

Everything else is a matter of the context (`workers/browser/context.py`).
"""

from dataclasses import dataclass

from workers.browser.settings import BrowserSettings
from workers.measurement.messages import RunRequest
from workers.measurement.page_options import HostMapping, Protocol
from workers.measurement.page_rules import parse_host
from workers.measurement.target import parse_target

# What Chromium looks up nowhere, and fails at once. The older `~NOTFOUND` is a name to it by now, and is looked up.
_NOWHERE = "^NOTFOUND"


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """Browsers that were told the same serve the same runs. `forced` are the host:port pairs that speak QUIC only."""

    protocol: Protocol | None = None
    forced: tuple[str, ...] = ()
    host_map: tuple[HostMapping, ...] = ()
    black_holes: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


ORDINARY = Launch()


def launch_of(request: RunRequest, settings: BrowserSettings) -> Launch:
    """How the browser of a run must have been started. Raises TargetError for a URL that is none."""
    page = request.page
    forced: tuple[str, ...] = ()
    if page.protocol is Protocol.H3:
        target = parse_target(request.url, extra_ports=settings.extra_ports)
        # Chrome knows no "HTTP/3 where it can be had": other hosts may speak it when they offer it, this one must.
        host = f"[{target.host}]" if ":" in target.host else target.host
        forced = (f"{host}:{target.port}",)
    return Launch(
        protocol=page.protocol,
        forced=forced,
        host_map=tuple(sorted(page.host_map, key=lambda mapping: mapping.host)),
        black_holes=tuple(sorted(page.black_holes)),
        without=tuple(sorted(page.without)),
    )


def switches(launch: Launch, *, quic: bool, hole: str | None) -> list[str]:
    """Chromium's switches for a launch. `quic` is the operator's word; `hole` the address that answers nobody."""
    # UDP 443 is closed in many data centres, and what a first visit does differs by DNS records that come and go.
    spoken = [] if launch.protocol is Protocol.H3 or (quic and launch.protocol is None) else ["--disable-quic"]
    if launch.protocol is Protocol.H1:
        spoken.append("--disable-http2")
    if launch.forced:
        spoken += ["--enable-quic", f"--origin-to-force-quic-on={','.join(launch.forced)}"]
    rules = [f"MAP {parse_host(mapping.host)} {_place(mapping)}" for mapping in launch.host_map]
    rules += [f"MAP {parse_host(host)} {hole}" for host in launch.black_holes if hole is not None]
    rules += [f"MAP {parse_host(host)} {_NOWHERE}" for host in launch.without]
    return [*spoken, f"--host-resolver-rules={','.join(rules)}"] if rules else spoken


def _place(mapping: HostMapping) -> str:
    address = f"[{mapping.address}]" if ":" in mapping.address else mapping.address
    return address if mapping.port is None else f"{address}:{mapping.port}"
