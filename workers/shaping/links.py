"""The process of links, as its starter sees it, and the sockets at both ends of a link."""

import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import workers
from workers.closing import Closing
from workers.shaping import netlink, offloads
from workers.shaping.faults import ShapingError
from workers.shaping.link_process import MAX_ORDER_BYTES
from workers.shaping.settings import LinkSettings

_SO_TIMESTAMPNS = 35
_SO_RCVBUFFORCE = 33
# Not in Python's socket module: <linux/socket.h> and <linux/if_packet.h>.
_SOL_PACKET = 263
_PACKET_IGNORE_OUTGOING = 23
_ALL_PROTOCOLS = 0x0003
# Some thousand packets: what may come while the process has not its turn.
_RECEIVE_BYTES = 8 * 1024 * 1024
_ANSWER_S = 10.0


def wire(name: str) -> socket.socket:
    """Brings up an interface of the calling thread's network as the end of a link: a socket of whole frames."""
    offloads.switch_off(name)
    netlink.set_up(name)
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC, 0)
    sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    with suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BYTES)
    sock.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
    sock.bind((name, _ALL_PROTOCOLS))
    return sock


class Links(Closing):
    """A process that carries any number of links until `close()`. Any thread may ask it for more."""

    def __init__(self) -> None:
        self._control, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.settimeout(_ANSWER_S)
        self._lock = threading.Lock()
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "workers.shaping.link_process", str(other.fileno())],
                pass_fds=(other.fileno(),),
                stdin=subprocess.DEVNULL,
                env=os.environ | {"PYTHONPATH": str(Path(workers.__path__[0]).parent)},
            )

    def add(self, key: str, near: socket.socket, far: socket.socket, settings: LinkSettings) -> None:
        """Joins two ends by `wire`; they are closed here, the process holds them from now on."""
        with near, far:
            self._ask({"do": "add", "key": key, "settings": settings.to_json()}, [near.fileno(), far.fileno()])

    def change(self, key: str, settings: LinkSettings) -> None:
        self._ask({"do": "change", "key": key, "settings": settings.to_json()})

    def report(self, key: str) -> dict[str, int]:
        """See `Link.report`."""
        return self._ask({"do": "report", "key": key})

    def remove(self, key: str) -> None:
        self._ask({"do": "remove", "key": key})

    @property
    def stands(self) -> bool:
        """Whether the process lives: a machine without memory may have ended it, and no packet comes through then."""
        return self._process.poll() is None

    def close(self) -> None:
        """Ends the process. Closing again does nothing."""
        self._control.close()
        self._process.wait()

    def _ask(self, order: dict[str, Any], fds: list[int] | None = None) -> dict[str, int]:
        with self._lock:
            try:
                socket.send_fds(self._control, [json.dumps(order).encode()], fds or [])
                answer = self._control.recv(MAX_ORDER_BYTES)
            except OSError as error:
                raise ShapingError(f"the process of links does not answer: {error}") from error
        if not answer:
            raise ShapingError("the process of links has ended")
        answered: dict[str, int] = json.loads(answer)
        return answered
