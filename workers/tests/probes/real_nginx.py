"""A real server on loopback, set up in any way that the lab knows."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workers.tests.netlab.chains import Chain
from workers.tests.netlab.nginx import Nginx, NginxConduct, NginxSite, Place
from workers.tests.ports import free_port
from workers.tests.waiting import wait_for


@contextmanager
def serving(conduct: NginxConduct, chain: Chain, folder: Path, *, also: tuple[str, ...] = ()) -> Iterator[int]:
    """The port of an nginx of that conduct."""
    place = Place(address="127.0.0.1", secure_port=free_port(), plain_port=free_port(), also=also)
    home = folder / "home"
    home.mkdir()
    with Nginx(home, [NginxSite(conduct=conduct, place=place, chain=chain)]) as nginx:
        wait_for(lambda: not nginx.running or accepts(place.secure_port), "nginx to listen")
        assert nginx.running, nginx.complaints
        yield place.secure_port


def accepts(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2):
            return True
    except OSError:
        return False
