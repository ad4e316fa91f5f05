"""This machine as the router of a shaped network: which interface leads out, and that it passes on what comes in.

Everything acts in the network of the calling thread.
"""

from pathlib import Path

from workers.shaping.faults import NotPermittedError, ShapingError

_ROUTES4 = Path("/proc/thread-self/net/route")
_ROUTES6 = Path("/proc/thread-self/net/ipv6_route")
_CONF = Path("/proc/sys/net")
_REJECT_FLAG = 0x200
_ANYWHERE = "0" * 32
_ACCEPT_RA_OF_HOSTS, _ACCEPT_RA_ALWAYS = "1", "2"


def default_interfaces4() -> list[str]:
    """The interfaces with an IPv4 route to everywhere."""
    rows = [line.split() for line in _ROUTES4.read_text().splitlines()[1:]]
    return [row[0] for row in rows if row[1] == row[7] == "00000000" and not int(row[3], 16) & _REJECT_FLAG]


def default_interfaces6() -> list[str]:
    """The interfaces with an IPv6 route to everywhere; none on a machine without IPv6."""
    if not _ROUTES6.exists():
        return []
    rows = [line.split() for line in _ROUTES6.read_text().splitlines()]
    anywhere = [row for row in rows if row[0] == _ANYWHERE and row[1] == "00"]
    return [row[9] for row in anywhere if row[9] != "lo" and not int(row[8], 16) & _REJECT_FLAG]


def forward4(interfaces: list[str]) -> None:
    """Passes on IPv4 packets that come in by these interfaces, and by no others. Raises ShapingError."""
    for name in interfaces:
        _write(_CONF / "ipv4" / "conf" / name / "forwarding", "1")


def forward6() -> None:
    """Passes on IPv6 packets; the kernel knows only all interfaces or none. Raises ShapingError.

    A router takes no advice from other routers unless told to: what learnt its routes from them must go on to do so.
    """
    if (_CONF / "ipv6/conf/all/forwarding").read_text().strip() == "1":
        return
    for advice in (_CONF / "ipv6/conf").glob("*/accept_ra"):
        if advice.read_text().strip() == _ACCEPT_RA_OF_HOSTS:
            _write(advice, _ACCEPT_RA_ALWAYS)
    _write(_CONF / "ipv6/conf/all/forwarding", "1")


def _write(path: Path, value: str) -> None:
    """Only what is not so already: the settings of a container may be read-only and right."""
    if path.read_text().strip() == value:
        return
    try:
        path.write_text(value)
    except PermissionError as error:
        raise NotPermittedError(f"this process may not set {path}. Set it to {value} as root.") from error
    except OSError as error:
        raise ShapingError(f"{path} cannot be set to {value}: {error.strerror}") from error
