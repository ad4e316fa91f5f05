"""The demo sites: one nginx on loopback that is a shop and its CDN, over TLS with a throw-away authority."""

import socket

from deploy.local import environment
from deploy.local.demo_site import DemoSite, Host, build
from deploy.local.places import Places
from deploy.local.settings import HOSTS, Settings, has_ipv6
from deploy.local.supervisor import Service


def demo(places: Places, settings: Settings) -> Service:
    """nginx with both sites; its pages and certificates are made before it starts."""
    return Service(
        name="demo",
        command=_site(places, settings).command,
        env=environment.base(places),
        cwd=places.state,
        prepare=lambda: prepare(places, settings),
        ready=lambda: all(_accepts(port) for port in (settings.shop_port, settings.cdn_port)),
    )


def prepare(places: Places, settings: Settings) -> None:
    """Writes pages, configuration and certificates into the state. Raises StepError."""
    build(_site(places, settings), env=environment.base(places))


def slow_down(places: Places, settings: Settings, by_pct: int) -> None:
    """Makes the shop work so many per cent longer before it answers, from its next request on; 0 is as it was."""
    file = _site(places, settings).slower_file
    if by_pct == 0:
        file.unlink(missing_ok=True)
    else:
        file.write_text(f"{by_pct}\n")


def _site(places: Places, settings: Settings) -> DemoSite:
    return DemoSite(
        folder=places.authority.parent,
        source=places.code / "deploy" / "demo",
        shop=Host(name="shop.localhost", port=settings.shop_port),
        cdn=Host(name="cdn.localhost", port=settings.cdn_port),
        addresses=_loopback(),
    )


def _loopback() -> tuple[str, ...]:
    """Both addresses of loopback: `localhost` is ::1 first, and a refusal there would be measured too."""
    hosts = [(family, f"[{host}]" if family is socket.AF_INET6 else host) for family, host in HOSTS]
    return tuple(host for family, host in hosts if family is socket.AF_INET or has_ipv6())


def _accepts(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2):
            return True
    except OSError:
        return False
