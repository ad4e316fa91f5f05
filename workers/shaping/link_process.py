"""The process of links: `python -m workers.shaping.link_process FD`. It holds both ends of each and needs no privilege.

It ends when its starter does. One order is one packet of the control socket: JSON, with the ends' sockets beside it.
"""

import gc
import json
import os
import select
import socket
import struct
import sys
import time
from contextlib import suppress
from typing import Any

from workers.shaping.link import Departures, Link
from workers.shaping.settings import Direction, LinkSettings

MAX_ORDER_BYTES = 65536
_SO_TIMESTAMPNS = 35
_TIMESPEC = struct.Struct("@ll")
_ANCILLARY_BYTES = socket.CMSG_SPACE(_TIMESPEC.size)
# A full packet with its Ethernet header, and room to see that one is longer.
_FRAME_BYTES = 2048
# Packets taken in from one socket before others have their turn.
_BATCH = 64
# The kernel wakes a sleeper so much late; what is due within it is waited for awake.
_AWAKE_NS = 80_000
# A packet waits to be read no longer than this: a stamp that says so comes from a clock that was set.
_MAX_AGE_NS = 1_000_000_000
_PRIORITY = 10


class LinkProcess:
    """Reads packets from the ends of its links and lets each out when it is due."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._epoll = select.epoll()
        self._epoll.register(control, select.EPOLLIN)
        self._departures = Departures()
        self._links: dict[str, tuple[Link, tuple[socket.socket, socket.socket]]] = {}
        self._inlets: dict[int, tuple[socket.socket, Link, Direction]] = {}
        self._ending = False

    def run(self) -> None:
        """Until the other end of the control socket is closed."""
        control = self._control.fileno()
        while not self._ending:
            self._wait()
            for fd, _ in self._epoll.poll(0):
                if fd == control:
                    self._obey()
                elif fd in self._inlets:
                    _read(*self._inlets[fd])
            self._departures.leave(time.monotonic_ns())

    def _wait(self) -> None:
        """Until a packet is due or something is to be read. `select` takes microseconds, where epoll takes whole ms."""
        due_ns = self._departures.next_ns
        if due_ns is None:
            select.select((self._epoll,), (), ())
            return
        asleep_ns = due_ns - time.monotonic_ns() - _AWAKE_NS
        if asleep_ns > 0 and select.select((self._epoll,), (), (), asleep_ns / 1e9)[0]:
            return
        while time.monotonic_ns() < due_ns:
            pass

    def _obey(self) -> None:
        data, fds, _, _ = socket.recv_fds(self._control, MAX_ORDER_BYTES, 2)
        if not data:
            self._ending = True
            return
        answer = self._carry_out(json.loads(data), fds)
        with suppress(OSError):
            self._control.send(json.dumps(answer).encode())

    def _carry_out(self, order: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        key = order["key"]
        match order["do"]:
            case "add":
                self._add(key, LinkSettings.from_json(order["settings"]), fds)
            case "change":
                self._links[key][0].change(LinkSettings.from_json(order["settings"]))
            case "report":
                return self._links[key][0].report()
            case "remove":
                self._remove(key)
        return {}

    def _add(self, key: str, settings: LinkSettings, fds: list[int]) -> None:
        near, far = (socket.socket(fileno=fd) for fd in fds)
        link = Link(self._departures, near, far, settings)
        self._links[key] = (link, (near, far))
        for sock, direction in ((near, Direction.UP), (far, Direction.DOWN)):
            self._inlets[sock.fileno()] = (sock, link, direction)
            self._epoll.register(sock, select.EPOLLIN)

    def _remove(self, key: str) -> None:
        link, ends = self._links.pop(key)
        link.close()
        for sock in ends:
            self._epoll.unregister(sock)
            del self._inlets[sock.fileno()]
            sock.close()


def _read(sock: socket.socket, link: Link, direction: Direction) -> None:
    """Takes in what has come, each packet as of the instant at which the kernel had it."""
    for _ in range(_BATCH):
        try:
            frame, ancillary, _, _ = sock.recvmsg(_FRAME_BYTES, _ANCILLARY_BYTES)
        except OSError:
            return
        link.take_in(direction, frame, _arrival_ns(ancillary))


def _arrival_ns(ancillary: list[tuple[int, int, bytes]]) -> int:
    now_ns = time.monotonic_ns()
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS:
            seconds, nanoseconds = _TIMESPEC.unpack(payload)
            age_ns = time.time_ns() - seconds * 1_000_000_000 - nanoseconds
            return now_ns - age_ns if 0 <= age_ns < _MAX_AGE_NS else now_ns
    return now_ns


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    # Where the process may not, it keeps time as well as the machine's other load lets it.
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(_PRIORITY))
    gc.disable()
    LinkProcess(control).run()


if __name__ == "__main__":
    main()
